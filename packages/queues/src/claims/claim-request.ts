import type { ClaimedTask } from './claimed-task.js';

/** A call of `claim` that waits for tasks: over when it has some, or gets none any more. */
export class ClaimRequest {
  readonly outcome: Promise<ClaimedTask[]>;
  /** Called once, when the request is over. */
  onOver: (() => void) | undefined;
  #isOver = false;
  #resolve!: (tasks: ClaimedTask[]) => void;
  #reject!: (error: unknown) => void;

  constructor(
    readonly max: number,
    readonly leaseMs: number,
    /** It waits when there is nothing at first. */
    readonly isWaiting: boolean,
  ) {
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Has no effect when it is over. */
  give(tasks: ClaimedTask[]): void {
    this.#resolve(tasks);
    this.#end();
  }

  /** Has no effect when it is over. */
  fail(error: unknown): void {
    this.#reject(error);
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.onOver?.();
  }
}

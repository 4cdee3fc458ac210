import type { ClaimedTask } from './claimed-task.js';

/** A call of `claim` that waits for tasks. */
export class ClaimRequest {
  readonly outcome: Promise<ClaimedTask[]>;
  /** Called once, at the end of the request. */
  onOver: (() => void) | undefined;
  #isOver = false;
  #resolve!: (tasks: ClaimedTask[]) => void;
  #reject!: (error: unknown) => void;

  constructor(
    readonly limit: number,
    readonly leaseMs: number,
    /** Whether it waits when no task is there at first. */
    readonly isWaiting: boolean,
    /** The names of the tasks that it takes; undefined: all. */
    readonly names?: ReadonlySet<string>,
  ) {
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  takes({ name }: ClaimedTask): boolean {
    return this.names?.has(name) ?? true;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** No effect after the end. */
  give(tasks: ClaimedTask[]): void {
    this.#resolve(tasks);
    this.#end();
  }

  /** No effect after the end. */
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

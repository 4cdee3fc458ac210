import type { ClaimedTask } from './claimed-task.js';

/** Where an ask stands. */
interface Stand {
  leave(ask: Ask): void;
}

/** A claim on its way: over when it has got tasks, or gets none any more. */
export class Ask {
  readonly outcome: Promise<ClaimedTask[]>;
  readonly #stands = new Set<Stand>();
  #isOver = false;
  #resolve!: (tasks: ClaimedTask[]) => void;
  #reject!: (error: unknown) => void;

  constructor(
    readonly max: number,
    readonly leaseMs: number,
    /** It stays when there is nothing at first. */
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

  /** Where it has to be taken away when it is over. */
  standAt(stand: Stand): void {
    this.#stands.add(stand);
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
    for (const stand of this.#stands) stand.leave(this);
  }
}

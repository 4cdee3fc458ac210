import type { Operation, Plan } from '../plan.js';

/** The operations that no process has begun yet. A crash loses the one that was under way. */
export class Operations {
  readonly #waiting: Map<number, Operation[]>;
  #left: number;

  constructor({ processes, operations }: Plan) {
    this.#waiting = new Map(processes.map((number) => [number, []]));
    for (const operation of operations) this.#waiting.get(operation.process)?.push(operation);
    this.#left = [...this.#waiting.values()].flat().length;
  }

  /** Whether all have begun. */
  get isEmpty(): boolean {
    return this.#left === 0;
  }

  /** The next one of a process. */
  next(process: number): Operation | undefined {
    const operation = this.#waiting.get(process)?.shift();
    if (operation) this.#left -= 1;
    return operation;
  }
}

/** The jobs of a worker that run, whose acks have no answer yet, or whose events are not emitted yet. */
import { setImmediate } from 'node:timers/promises';

export class InFlight {
  running = 0;
  #unanswered = 0;
  readonly #settling = new Set<Promise<void>>();
  readonly #waits: (() => void)[] = [];

  began(): void {
    this.running += 1;
  }

  ended(): void {
    this.running -= 1;
    this.#look();
  }

  acked(): void {
    this.#unanswered += 1;
  }

  answered(): void {
    this.#unanswered -= 1;
    this.#look();
  }

  /** Work after an ack, before its event. */
  async settle(work: Promise<void>): Promise<void> {
    this.#settling.add(work);
    await work;
    this.#settling.delete(work);
  }

  /** Resolves when there is none. */
  async idle(): Promise<void> {
    // The ack of a job that has just ended comes in the same turn.
    for (await setImmediate(); this.running > 0 || this.#unanswered > 0; await setImmediate()) {
      await new Promise<void>((resolve) => void this.#waits.push(resolve));
    }
    await this.settled();
  }

  async settled(): Promise<void> {
    await Promise.all(this.#settling);
  }

  #look(): void {
    if (this.#waits.length === 0 || this.running > 0 || this.#unanswered > 0) return;
    for (const resolve of this.#waits.splice(0)) resolve();
  }
}

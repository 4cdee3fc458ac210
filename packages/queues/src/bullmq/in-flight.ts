/** The jobs of a worker that run, whose acks have no answer yet, or whose events are not emitted yet. */
export class InFlight {
  readonly #running = new Set<Promise<void>>();
  readonly #settling = new Set<Promise<void>>();
  #unanswered = 0;
  readonly #waits: (() => void)[] = [];

  get running(): number {
    return this.#running.size;
  }

  /** `onEnd` is called when it runs no longer. */
  async run(job: Promise<unknown>, onEnd: () => void): Promise<void> {
    const ended = job.then(
      () => undefined,
      () => undefined,
    );
    this.#running.add(ended);
    await ended;
    this.#running.delete(ended);
    onEnd();
  }

  async settle(work: Promise<void>): Promise<void> {
    this.#settling.add(work);
    await work;
    this.#settling.delete(work);
  }

  acked(): void {
    this.#unanswered += 1;
  }

  answered(): void {
    this.#unanswered -= 1;
    if (this.#unanswered === 0) for (const resolve of this.#waits.splice(0)) resolve();
  }

  /** Resolves when there is none. */
  async idle(): Promise<void> {
    while (this.#running.size > 0 || this.#unanswered > 0) {
      await Promise.all(this.#running);
      if (this.#unanswered > 0) await new Promise<void>((resolve) => void this.#waits.push(resolve));
    }
    await this.settled();
  }

  async settled(): Promise<void> {
    await Promise.all(this.#settling);
  }
}

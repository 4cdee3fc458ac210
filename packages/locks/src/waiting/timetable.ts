/**
 * One timer of the process for many things that are due at different times.
 *
 * A `Loop` does one step after the other, so a server that hangs would hold up what is due on all others. Here every
 * entry runs by itself. The timer never keeps the process alive, and an entry that is taken out costs no timer call:
 * a lock that is taken and released within a millisecond touches a Map twice.
 */
export class Timetable {
  readonly #slackMs: number;
  readonly #dueAt = new Map<() => void, number>();
  #timer: NodeJS.Timeout | undefined;
  #armedFor = Infinity;

  /** @param slackMs What is due so much later runs along, so that many entries share few wake-ups of the process. */
  constructor(slackMs: number) {
    this.#slackMs = slackMs;
  }

  /** Runs `entry` once, at `dueAt` on the clock of `performance.now()` or up to the slack earlier. It must not throw. */
  set(entry: () => void, dueAt: number): void {
    this.#dueAt.set(entry, dueAt);
    if (dueAt < this.#armedFor) this.#arm(dueAt);
  }

  delete(entry: () => void): void {
    this.#dueAt.delete(entry);
  }

  #arm(dueAt: number): void {
    clearTimeout(this.#timer);
    this.#armedFor = dueAt;
    const left = Math.max(1, Math.ceil(dueAt - performance.now()));
    this.#timer = setTimeout(() => this.#run(), left).unref();
  }

  #run(): void {
    this.#armedFor = Infinity;
    const limit = performance.now() + this.#slackMs;
    const due: (() => void)[] = [];
    let next = Infinity;
    for (const [entry, dueAt] of this.#dueAt) {
      if (dueAt <= limit) due.push(entry);
      else next = Math.min(next, dueAt);
    }
    for (const entry of due) {
      this.#dueAt.delete(entry);
      entry();
    }
    if (next < this.#armedFor) this.#arm(next);
  }
}

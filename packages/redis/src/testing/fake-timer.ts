/** The timers of a test clock, in the order in which they fall due. */

type Callback = (...args: unknown[]) => void;

export class FakeTimer {
  at = 0;
  #isReferenced = true;

  constructor(
    readonly order: number,
    readonly timers: Timers,
    readonly delayMs: number,
    readonly repeats: boolean,
    readonly run: () => void,
  ) {}

  ref(): this {
    this.#isReferenced = true;
    return this;
  }

  unref(): this {
    this.#isReferenced = false;
    return this;
  }

  hasRef(): boolean {
    return this.#isReferenced;
  }

  refresh(): this {
    this.timers.restart(this);
    return this;
  }

  close(): this {
    this.timers.delete(this);
    return this;
  }

  [Symbol.toPrimitive](): number {
    return this.order;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** The longest delay of Node; a longer one is 1 ms, as there. */
const MAX_DELAY_MS = 2 ** 31 - 1;

export class Timers {
  #waiting = new Set<FakeTimer>();
  #orders = 0;
  now: () => number = () => 0;

  get size(): number {
    return this.#waiting.size;
  }

  add(callback: Callback, delay: unknown, repeats: boolean, args: unknown[]): FakeTimer {
    this.#orders += 1;
    const given = Number(delay) || 0;
    const delayMs = given >= 1 && given <= MAX_DELAY_MS ? given : Number(repeats || given > 0);
    const timer = new FakeTimer(this.#orders, this, delayMs, repeats, () => callback(...args));
    this.restart(timer);
    return timer;
  }

  restart(timer: FakeTimer): void {
    timer.at = this.now() + timer.delayMs;
    // Again among the last of its instant.
    this.#waiting.delete(timer);
    this.#waiting.add(timer);
  }

  delete(timer: FakeTimer): void {
    this.#waiting.delete(timer);
  }

  clear(): void {
    this.#waiting.clear();
  }

  /** Accepts a timer or its number. */
  find(given: unknown): FakeTimer | undefined {
    if (given instanceof FakeTimer) return given;
    return [...this.#waiting].find(({ order }) => order === Number(given));
  }

  /** When the next one is due; Infinity without one. */
  nextAt(): number {
    return this.#next()?.at ?? Infinity;
  }

  /** The next timer, if it is due; an interval starts again. */
  takeDue(now: number): FakeTimer | undefined {
    const timer = this.#next();
    if (!timer || timer.at > now) return undefined;
    this.#waiting.delete(timer);
    if (timer.repeats) this.restart(timer);
    return timer;
  }

  #next(): FakeTimer | undefined {
    let next: FakeTimer | undefined;
    for (const timer of this.#waiting) if (!next || timer.at < next.at) next = timer;
    return next;
  }
}

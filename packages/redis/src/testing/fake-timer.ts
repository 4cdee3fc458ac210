/** Timers that fire only when a clock says so, in the order in which they fall due: those of a test, or of the simulation. */

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
  now: () => number;
  readonly #waiting = new Set<FakeTimer>();
  #orders = 0;
  /** Known until a timer is set or ends. */
  #next: FakeTimer | undefined;

  constructor(now: () => number = () => 0) {
    this.now = now;
  }

  get size(): number {
    return this.#waiting.size;
  }

  add(callback: Callback, delay: unknown, repeats: boolean, args: readonly unknown[]): FakeTimer {
    this.#orders += 1;
    const given = Number(delay) || 0;
    const isPossible = given >= 1 && given <= MAX_DELAY_MS;
    const delayMs = isPossible ? Math.trunc(given) : Number(repeats || given > 0);
    const timer = new FakeTimer(this.#orders, this, delayMs, repeats, () => callback(...args));
    this.restart(timer);
    return timer;
  }

  restart(timer: FakeTimer): void {
    timer.at = this.now() + timer.delayMs;
    // Again among the last of its instant.
    this.#waiting.delete(timer);
    this.#waiting.add(timer);
    this.#next = undefined;
  }

  delete(timer: FakeTimer): void {
    this.#waiting.delete(timer);
    this.#next = undefined;
  }

  clear(): void {
    this.#waiting.clear();
    this.#next = undefined;
  }

  /** Accepts a timer or its number. */
  find(given: unknown): FakeTimer | undefined {
    if (given instanceof FakeTimer) return given;
    return [...this.#waiting].find(({ order }) => order === Number(given));
  }

  /** When the next one is due; Infinity without one. */
  nextAt(): number {
    return this.#first()?.at ?? Infinity;
  }

  /** The next timer, if it is due; an interval starts again. */
  takeDue(now: number): FakeTimer | undefined {
    const timer = this.#first();
    if (!timer || timer.at > now) return undefined;
    this.delete(timer);
    if (timer.repeats) this.restart(timer);
    return timer;
  }

  #first(): FakeTimer | undefined {
    if (this.#next) return this.#next;
    for (const timer of this.#waiting) if (!this.#next || timer.at < this.#next.at) this.#next = timer;
    return this.#next;
  }
}

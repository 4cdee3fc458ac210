/** The timers of a virtual process, with the interface of Node's. They fire only when the world says so. */

type Callback = (...args: unknown[]) => void;

const MAX_DELAY_MS = 2 ** 31 - 1;

export class VirtualTimer {
  at = 0;
  #isReferenced = true;

  constructor(
    readonly order: number,
    readonly delayMs: number,
    readonly repeats: boolean,
    readonly run: () => void,
    readonly owner: Timers,
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
    this.owner.restart(this);
    return this;
  }

  close(): this {
    this.owner.clear(this);
    return this;
  }

  [Symbol.toPrimitive](): number {
    return this.order;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

export class Timers {
  readonly #waiting = new Set<VirtualTimer>();
  readonly #now: () => number;
  #orders = 0;
  /** Known until a timer is set or ends. */
  #next: VirtualTimer | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  add(callback: Callback, delay: unknown, repeats: boolean, args: readonly unknown[]): VirtualTimer {
    this.#orders += 1;
    const given = Number(delay) || 0;
    const delayMs = given >= 1 && given <= MAX_DELAY_MS ? Math.trunc(given) : 1;
    const timer = new VirtualTimer(this.#orders, delayMs, repeats, () => callback(...args), this);
    this.restart(timer);
    return timer;
  }

  restart(timer: VirtualTimer): void {
    timer.at = this.#now() + timer.delayMs;
    // Again among the last of its instant.
    this.#waiting.delete(timer);
    this.#waiting.add(timer);
    this.#next = undefined;
  }

  /** Accepts a timer, its number, and anything that no timer is. */
  clear(given: unknown): void {
    const timer =
      given instanceof VirtualTimer ? given : [...this.#waiting].find(({ order }) => order === Number(given));
    if (timer) this.#waiting.delete(timer);
    this.#next = undefined;
  }

  clearAll(): void {
    this.#waiting.clear();
    this.#next = undefined;
  }

  /** When the next one is due; Infinity without one. */
  nextAt(): number {
    return this.#first()?.at ?? Infinity;
  }

  /** Takes the next timer; an interval starts again. */
  take(): VirtualTimer {
    const timer = this.#first()!;
    this.#waiting.delete(timer);
    this.#next = undefined;
    if (timer.repeats) this.restart(timer);
    return timer;
  }

  #first(): VirtualTimer | undefined {
    if (this.#next) return this.#next;
    for (const timer of this.#waiting) if (!this.#next || timer.at < this.#next.at) this.#next = timer;
    return this.#next;
  }
}

/**
 * What was loaded and could not be stored, for a short while. What came first goes first, when its time is over, whether or not
 * anybody asks for it again, and when there is no room.
 */

interface Entry<Kept> {
  readonly kept: Kept;
  readonly bytes: number;
  /** Instant of `performance.now()`. */
  readonly until: number;
}

/** What an entry takes beside its value, about. */
const ENTRY_BYTES = 200;

export class Outage<Kept> {
  readonly #entries = new Map<string, Entry<Kept>>();
  readonly #maxEntries: number;
  readonly #maxBytes: number;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor({ entries, bytes }: { readonly entries: number; readonly bytes: number }) {
    this.#maxEntries = entries;
    this.#maxBytes = bytes;
  }

  get entries(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): Kept | undefined {
    const entry = this.#entries.get(key);
    return entry && performance.now() < entry.until ? entry.kept : undefined;
  }

  /** One that is larger than all room is not kept. @param of Its value as encoded, and for how long. */
  set(key: string, kept: Kept, of: { readonly bytes: number; readonly ms: number }): void {
    this.delete(key);
    const bytes = ENTRY_BYTES + 2 * key.length + of.bytes;
    if (of.ms <= 0 || bytes > this.#maxBytes) return;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size < this.#maxEntries && this.#bytes + bytes <= this.#maxBytes) break;
      this.delete(oldest);
    }
    this.#entries.set(key, { kept, bytes, until: performance.now() + of.ms });
    this.#bytes += bytes;
    this.#watch(of.ms);
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** The process need not live for it. */
  #watch(ms: number): void {
    this.#timer ??= setTimeout(() => this.#sweep(), ms).unref();
  }

  /** One with a shorter life behind one with a longer one waits for that: none is longer than `outageTtlMs`. */
  #sweep(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const [key, { until }] of this.#entries) {
      if (until > now) {
        this.#watch(until - now);
        return;
      }
      this.delete(key);
    }
  }
}

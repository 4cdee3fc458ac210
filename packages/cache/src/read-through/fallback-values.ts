/**
 * Loaded values that Redis could not store, kept for a short time. The oldest is dropped first: when its time is over,
 * whether or not it is read again, and when there is no room.
 */

interface Entry<FallbackValue> {
  readonly kept: FallbackValue;
  readonly bytes: number;
  /** An instant of `performance.now()`. */
  readonly until: number;
}

/** Estimated overhead of an entry. */
const ENTRY_BYTES = 200;

export class FallbackValues<FallbackValue> {
  readonly #entries = new Map<string, Entry<FallbackValue>>();
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

  get(key: string): FallbackValue | undefined {
    const entry = this.#entries.get(key);
    return entry && performance.now() < entry.until ? entry.kept : undefined;
  }

  /** Ignores a value that is larger than the maximum. @param of Its size as encoded, and how long to keep it. */
  set(key: string, kept: FallbackValue, of: { readonly bytes: number; readonly ms: number }): void {
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

  /** The timer does not keep the process alive. */
  #watch(ms: number): void {
    this.#timer ??= setTimeout(() => this.#sweep(), ms).unref();
  }

  /** A shorter-lived entry waits for a longer-lived one before it; the difference is below `fallbackTtlMs`. */
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

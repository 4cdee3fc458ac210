/**
 * Clients that read, load, delete and invalidate entries all the time, and the rule: no read after a change has resolved returns an
 * older value, and no read fails.
 */
import { setImmediate as immediate } from 'node:timers/promises';
import type { Cache } from '@mortise/cache';
import { until } from '../until.js';
import { nowUs } from '../locks/clock.js';

export interface StormOptions {
  /** Whether the caches keep entries in memory, which are older than a change for a moment. */
  readonly near?: boolean;
  /** Waits before each read. Default: for nothing. */
  readonly pause?: () => Promise<unknown>;
}

const READERS = 5;
const KEYS = Array.from({ length: 8 }, (_, index) => `page ${index}`);
const TAG = 'shop';
const OPTIONS = { tags: [TAG] };

export class Storm {
  readonly counts = { reads: 0, changes: 0 };
  /** Reads of a value that was older than a change, and when they began and ended, µs. */
  readonly old: { readonly what: string; readonly calledAt: number; readonly answeredAt: number }[] = [];
  readonly #caches: readonly Cache<number>[];
  readonly #options: StormOptions;
  /** The versions of the source, and those that every reader has to see. */
  readonly #versions = new Map(KEYS.map((key) => [key, 0]));
  readonly #acked = new Map(KEYS.map((key) => [key, 0]));
  readonly #end = new AbortController();
  #work: Promise<unknown> = Promise.resolve();

  constructor(caches: readonly Cache<number>[], options: StormOptions = {}) {
    this.#caches = caches;
    this.#options = options;
  }

  start(): void {
    this.#work = Promise.all(
      this.#caches.flatMap((cache) => [
        this.#change(cache),
        ...Array.from({ length: READERS }, () => this.#read(cache)),
      ]),
    );
    // The end reports it.
    this.#work.catch(() => undefined);
  }

  /** After a loss of Redis, deleted entries may be back. Deletes all, until that is answered. */
  async deleteAll(): Promise<void> {
    await until('all entries to be deleted', async () => {
      const deleted = await Promise.allSettled(KEYS.map((key) => this.#caches[0]!.delete(key)));
      return deleted.every(({ status }) => status === 'fulfilled');
    });
  }

  /** Ends all readers and writers, and waits until all see the last versions, the near tiers as well. */
  async end(): Promise<void> {
    this.#end.abort();
    await this.#work;
    await until('the last versions', async () => {
      const found = await Promise.all(
        this.#caches.flatMap((cache) =>
          KEYS.map(async (key) => {
            const version = await cache.getOrLoad(key, async () => this.#versions.get(key)!, OPTIONS);
            return version! >= this.#acked.get(key)!;
          }),
        ),
      );
      return found.every(Boolean);
    });
  }

  async #load(key: string): Promise<number> {
    const version = this.#versions.get(key)!;
    // Long enough for others to change it meanwhile.
    await until('a change or two', () => Math.random() < 0.3);
    return version;
  }

  async #read(cache: Cache<number>): Promise<void> {
    const { near = false, pause } = this.#options;
    while (!this.#end.signal.aborted) {
      await pause?.();
      const key = oneOf(KEYS);
      const atLeast = this.#acked.get(key)!;
      const calledAt = nowUs();
      const version = await cache.getOrLoad(key, () => this.#load(key), OPTIONS);
      this.counts.reads += 1;
      // Hits of the near tier leave nobody else a turn.
      if (near) await immediate();
      if (version! < atLeast && !near)
        this.old.push({ what: `${key}: ${version} after ${atLeast}`, calledAt, answeredAt: nowUs() });
    }
  }

  async #change(cache: Cache<number>): Promise<void> {
    while (!this.#end.signal.aborted) {
      await this.#options.pause?.();
      const keys = Math.random() < 0.2 ? KEYS : [oneOf(KEYS)];
      const wanted = keys.map((key) => [key, this.#versions.get(key)! + 1] as const);
      for (const [key, version] of wanted) this.#versions.set(key, version);
      const changed = keys.length === 1 ? cache.delete(keys[0]!) : cache.invalidateTag(TAG);
      const isAcked = await changed.then(
        () => true,
        () => false,
      );
      if (isAcked)
        for (const [key, version] of wanted) this.#acked.set(key, Math.max(this.#acked.get(key)!, version));
      this.counts.changes += isAcked ? 1 : 0;
      await until('the next change', () => Math.random() < 0.2);
    }
  }
}

function oneOf<Value>(values: readonly Value[]): Value {
  return values[Math.floor(Math.random() * values.length)]!;
}

/**
 * The names of tasks for which the live workers of a queue have handlers, in one sorted set of its first shard. Each worker
 * adds its names every minute, and the reply lists those of all. A name stays for 150 s after the last worker with its handler.
 *
 *   stopped ──start──► listed ──stop──► stopped
 */
import type { ErrorReporter } from '@mortise/redis';
import { Loop, waitFor } from '@mortise/redis';
import { handlerNamesList } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import type { Service } from './service.js';

const REFRESH_MS = 60_000;
/** A name outlasts a lost call. */
const LIVE_MS = 150_000;
/** A worker with a missing name may have come after the last refresh, unless that is as recent as this. */
const FRESH_MS = 15_000;
/** Of one worker; further names are not listed. */
const MOST_NAMES = 1_000;

export class HandlerNames implements Service {
  readonly #shard: Shard;
  readonly #own: readonly string[];
  readonly #loop: Loop;
  #listed: ReadonlySet<string> = new Set();
  #listedAt = -Infinity;

  /** @param own The names that this worker handles. */
  constructor(shard: Shard, own: Iterable<string>, reporter: ErrorReporter) {
    this.#shard = shard;
    this.#own = [...own].slice(0, MOST_NAMES);
    this.#loop = new Loop(`mortise handlers of queue ${shard.queue}`, (signal) => this.#refresh(signal), {
      onError: (error) => reporter.reportRepeated(error),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Whether a live worker may handle the name. Without one, the answer is right 15 s after the last worker came. */
  has(name: string): boolean {
    if (this.#listed.has(name)) return true;
    if (performance.now() - this.#listedAt < FRESH_MS) return false;
    this.#loop.wake();
    return true;
  }

  async #refresh(signal: AbortSignal): Promise<number> {
    // A call without a reply may fail after the worker has stopped, which nobody has to know then.
    const askedAt = performance.now();
    this.#listed = new Set(await waitFor(list(this.#shard, LIVE_MS, this.#own), { signal }));
    this.#listedAt = askedAt;
    return REFRESH_MS * (0.9 + 0.1 * Math.random());
  }
}

/** The names, sorted. One round trip. */
export async function handledNames(shard: Shard): Promise<string[]> {
  return (await list(shard, 0, [])).toSorted();
}

async function list({ redis, keys }: Shard, liveMs: number, names: readonly string[]): Promise<string[]> {
  return (await handlerNamesList.run(redis, { handlers: keys.of.handlers }, { liveMs, names })) as string[];
}

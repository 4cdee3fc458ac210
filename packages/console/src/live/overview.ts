/** All queues in numbers, read once for all followers. */
import { Overviews } from '@mortise/queues';
import type { Counts } from '@mortise/queues';
import { Sampled } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';

import type { OpenQueues } from '../queues/open-queues.js';

/** Queues that are shown, in the order of their names; further ones are counted. */
const MAX_QUEUES = 100;
const EVERY_MS = 2_000;

export interface OverviewOfQueues {
  readonly at: number;
  /** How many queues there are. */
  readonly total: number;
  readonly queues: readonly {
    readonly name: string;
    readonly counts: Counts;
    readonly headAgeMs: number | null;
  }[];
}

export class OverviewReader {
  readonly #queues: OpenQueues;
  readonly #overviews: Overviews;
  readonly #sampled: Sampled<OverviewOfQueues>;

  constructor(redis: RedisClient, prefix: string, queues: OpenQueues) {
    this.#queues = queues;
    this.#overviews = new Overviews(redis, { prefix });
    this.#sampled = new Sampled(() => this.read(), EVERY_MS, isSame);
  }

  /** Three round trips at most, for each thousand queues. */
  async read(): Promise<OverviewOfQueues> {
    const names = await this.#queues.names();
    const shown = names.slice(0, MAX_QUEUES);
    const found = await this.#overviews.read(shown);
    const at = Date.now();
    return {
      at,
      total: names.length,
      queues: found.map(({ counts, nextEnqueuedAt }, index) => ({
        name: shown[index]!,
        counts,
        headAgeMs: nextEnqueuedAt === null ? null : Math.max(0, at - nextEnqueuedAt),
      })),
    };
  }

  /** The overview of now, and each change until the signal: read every two seconds, once for all followers. */
  follow(signal: AbortSignal): AsyncIterable<OverviewOfQueues> {
    return this.#sampled.follow(signal);
  }
}

/** While a task waits, its age grows, and the page is notified. */
function isSame(a: OverviewOfQueues, b: OverviewOfQueues): boolean {
  const shown = ({ total, queues }: OverviewOfQueues): string => JSON.stringify([total, queues]);
  return shown(a) === shown(b);
}

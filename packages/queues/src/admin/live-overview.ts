import { requireFunction, requireInteger, requireOptions, Sampled } from '@mortise/redis';

import type { Overviews } from '../inspect/overview.js';
import type { Counts } from '../task/task.js';

export interface OverviewOfQueues {
  /** By the clock of this process, ms since the epoch. */
  readonly at: number;
  /** How many queues there are; `queues` has the first of them. */
  readonly total: number;
  readonly queues: readonly {
    readonly name: string;
    readonly counts: Counts;
    /** How long ago the next task was enqueued, ms; null when none is ready. */
    readonly headAgeMs: number | null;
    readonly isPaused: boolean;
  }[];
}

export interface LiveOverviewOptions {
  /** Maximum of queues; further ones are counted. 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
  /** The pause between two reads while somebody follows, ms. 100 to 60,000. Default 2,000. */
  readonly everyMs?: number | undefined;
}

const OPTIONS = new Set(['limit', 'everyMs']);

/** All queues in numbers, read once for all followers. */
export class LiveOverview {
  readonly #overviews: Overviews;
  readonly #names: () => Promise<readonly string[]>;
  readonly #limit: number;
  readonly #sampled: Sampled<OverviewOfQueues>;

  /**
   * Throws ERR_INVALID_ARG.
   *
   * @param names The queues, in the order in which they are shown: such as `() => Queue.names(redis)`.
   */
  constructor(
    overviews: Overviews,
    names: () => Promise<readonly string[]>,
    options: LiveOverviewOptions = {},
  ) {
    const { limit = 100, everyMs = 2_000 } = requireOptions('LiveOverview', options, OPTIONS);
    this.#overviews = overviews;
    this.#names = requireFunction('names', names);
    this.#limit = requireInteger('limit', limit, { min: 1, max: 1_000 });
    const interval = requireInteger('everyMs', everyMs, { min: 100, max: 60_000 });
    this.#sampled = new Sampled(() => this.read(), interval, isSame);
  }

  get isFollowed(): boolean {
    return this.#sampled.isFollowed;
  }

  /** Resolves to the overview of now. The call costs the round trips of `names`, and then those of `Overviews.read`. */
  async read(): Promise<OverviewOfQueues> {
    const names = await this.#names();
    const shown = names.slice(0, this.#limit);
    const found = await this.#overviews.read(shown);
    const at = Date.now();
    return {
      at,
      total: names.length,
      queues: found.map(({ counts, nextEnqueuedAt, isPaused }, index) => ({
        name: shown[index]!,
        counts,
        headAgeMs: nextEnqueuedAt === null ? null : Math.max(0, at - nextEnqueuedAt),
        isPaused,
      })),
    };
  }

  /**
   * Yields the overview of now, and each change until the signal is aborted. While somebody follows, the overview is read once
   * for all followers. A read that fails is repeated. A slow follower gets the last overview, not those between.
   */
  follow(signal: AbortSignal): AsyncIterable<OverviewOfQueues> {
    return this.#sampled.follow(signal);
  }
}

/** With the ages: while a task waits, each read is a change. */
function isSame(a: OverviewOfQueues, b: OverviewOfQueues): boolean {
  const shown = ({ total, queues }: OverviewOfQueues): string => JSON.stringify([total, queues]);
  return shown(a) === shown(b);
}

import { requireFunction, requireInteger, requireOptions, Sampled } from '@mortise/redis';

import type { EndsPerSecond, Overviews, QueueOverview } from '../inspect/overview.js';
import type { Counts, TaskState } from '../task/task.js';
import { TASK_STATES } from '../task/task.js';
import type { QueueFigures } from './queue-page.js';
import { figuresOf, firstOf } from './queue-page.js';

/** Sums over the counted queues. */
export interface OverviewSums {
  readonly counts: Counts;
  /** Tasks that ended, for each second of the last 10. */
  readonly perSecond: EndsPerSecond;
  /** How many of the queues are paused. */
  readonly paused: number;
  /** The queue whose next task has waited for the longest time; null if no task is ready. */
  readonly oldest: { readonly name: string; readonly headAgeMs: number } | null;
  /** The queue with the most dead tasks; null without dead tasks. */
  readonly deadliest: { readonly name: string; readonly dead: number } | null;
}

export interface OverviewOfQueues {
  /** When the overview was read, by the clock of this process, ms since the epoch. */
  readonly at: number;
  /** How many queues there are. */
  readonly total: number;
  /** How many queues `sums` covers: the first ones by name. */
  readonly counted: number;
  readonly sums: OverviewSums;
  /** The number of running workers; null without the option `workers`. */
  readonly workers: number | null;
  /** The first queues, up to `limit`. */
  readonly queues: readonly QueueFigures[];
}

export interface LiveOverviewOptions {
  /**
   * Maximum of queues in the list. 1 to 1,000. Default 100. A list of long names has fewer, since it has at most 64 kB as JSON.
   */
  readonly limit?: number | undefined;
  /** Maximum of queues in the sums, each of which is read. `limit` to 10,000. Default 1,000. */
  readonly countLimit?: number | undefined;
  /** The number of workers, such as `() => runningWorkers(redis)`. Default: it is not read. */
  readonly workers?: (() => Promise<number>) | undefined;
  /** The pause between two reads while somebody follows, ms. 100 to 60,000. Default 2,000. */
  readonly everyMs?: number | undefined;
}

const OPTIONS = new Set(['limit', 'countLimit', 'workers', 'everyMs']);
const DEFAULT_COUNTED = 1_000;
const MOST_COUNTED = 10_000;
/** As `perSecond` says. */
const WINDOW_MS = 10_000;

/** All queues in numbers, read once for all followers. */
export class LiveOverview {
  readonly #overviews: Overviews;
  readonly #names: () => Promise<readonly string[]>;
  readonly #limit: number;
  readonly #countLimit: number;
  readonly #workers: (() => Promise<number>) | undefined;
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
    const { limit = 100, everyMs = 2_000, workers } = requireOptions('LiveOverview', options, OPTIONS);
    this.#overviews = overviews;
    this.#names = requireFunction('names', names);
    this.#limit = requireInteger('limit', limit, { min: 1, max: 1_000 });
    const { countLimit = Math.max(limit, DEFAULT_COUNTED) } = options;
    this.#countLimit = requireInteger('countLimit', countLimit, { min: limit, max: MOST_COUNTED });
    this.#workers = workers === undefined ? undefined : requireFunction('workers', workers);
    const interval = requireInteger('everyMs', everyMs, { min: 100, max: 60_000 });
    this.#sampled = new Sampled(() => this.read(), interval, isSame);
  }

  get isFollowed(): boolean {
    return this.#sampled.isFollowed;
  }

  /**
   * Resolves to the overview of now. The call costs the round trips of `names`, and then those of `Overviews.read` for up to `countLimit`
   * queues.
   */
  async read(): Promise<OverviewOfQueues> {
    const [names, workers] = await Promise.all([this.#names(), this.#workers?.() ?? null]);
    const counted = names.slice(0, this.#countLimit);
    const found = await this.#overviews.read(counted, { windowMs: WINDOW_MS });
    const at = Date.now();
    const figures = figuresOf(counted, found, at);
    const { length: shown } = firstOf(counted, this.#limit);
    return {
      at,
      total: names.length,
      counted: counted.length,
      sums: sumsOf(figures, found),
      workers,
      queues: figures.slice(0, shown),
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

function sumsOf(figures: readonly QueueFigures[], found: readonly QueueOverview[]): OverviewSums {
  const countOf = (state: TaskState): number => figures.reduce((sum, { counts }) => sum + counts[state], 0);
  const most = (of: (queue: QueueFigures) => number): QueueFigures | undefined =>
    figures.reduce<QueueFigures | undefined>(
      (best, each) => (best && of(best) >= of(each) ? best : each),
      undefined,
    );
  const oldest = most(({ headAgeMs }) => headAgeMs ?? -1);
  const deadliest = most(({ counts }) => counts.dead);
  return {
    counts: Object.fromEntries(TASK_STATES.map((state) => [state, countOf(state)])) as Counts,
    perSecond: perSecondOf(found),
    paused: figures.filter(({ isPaused }) => isPaused).length,
    oldest: oldest && oldest.headAgeMs !== null ? { name: oldest.name, headAgeMs: oldest.headAgeMs } : null,
    deadliest:
      deadliest && deadliest.counts.dead > 0 ? { name: deadliest.name, dead: deadliest.counts.dead } : null,
  };
}

/** The sum is unknown where the ends of one queue are. */
function perSecondOf(found: readonly QueueOverview[]): EndsPerSecond {
  let [succeeded, dead] = [0 as number | null, 0];
  for (const { perSecond } of found) {
    if (!perSecond) continue;
    dead += perSecond.dead;
    succeeded = succeeded === null || perSecond.succeeded === null ? null : succeeded + perSecond.succeeded;
  }
  return { succeeded, dead };
}

/** With the ages: while a task waits, each read is a change. */
function isSame(a: OverviewOfQueues, b: OverviewOfQueues): boolean {
  const shown = ({ at: _at, ...others }: OverviewOfQueues): string => JSON.stringify(others);
  return shown(a) === shown(b);
}

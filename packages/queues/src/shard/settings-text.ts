/**
 * The settings of a queue as Redis stores them: one short string. Scripts compare it with the text that their caller expects,
 * so a call costs one GET at most, whatever the settings are. A caller with other settings gets the stored ones, adopts them and
 * calls again.
 *
 *   high,medium,low;shards=4;to=2;was=1.4;turn=2;ranked=1;paused=1;conc=5;rate=100/60000/1;gconc=1;grate=10/1000/1;ordered=1;max=1000;events=10000;optional=1
 *
 * Scripts of a queue with limits read the numbers from it; no other code parses it.
 */

/** At most `limit` starts in any `periodMs`, plus `burst - 1`; spread evenly (GCRA). */
export interface RateLimit {
  readonly limit: number;
  readonly periodMs: number;
  readonly burst: number;
}

export interface SettingsValues {
  readonly priorities: readonly string[];
  /** Shards that get new tasks: the first ones. */
  readonly shards: number;
  /** Shards that may have tasks: the largest number that `shards` ever was. Each has an equal part of the limits of the queue. */
  readonly servedShards: number;
  /** Earlier values of `shards`, the latest last. They decide where older tasks with an id or a group lie. */
  readonly earlierShards: readonly number[];
  /** How often `reshard` has changed `shards`. */
  readonly reshardings: number;
  /** Due tasks wait by their ranks, see task.rank.part.lua. Never changes. */
  readonly isRanked: boolean;
  readonly isPaused: boolean;
  /** Tasks that run at the same time, in all workers. */
  readonly concurrency: number | undefined;
  readonly rate: RateLimit | undefined;
  /** Tasks of one group that run at the same time. */
  readonly groupConcurrency: number | undefined;
  readonly groupRate: RateLimit | undefined;
  /** The next task of a group starts after the final end of the one before it. */
  readonly isOrdered: boolean;
  /** Tasks in the queue, retained ones included. */
  readonly maxTasks: number | undefined;
  /** Maximum of stored events; 0 writes none. */
  readonly keepEvents: number;
  /** Whether an optional feature was used: cancellation, groups, progress, waiting for results, flows, schedules. */
  readonly hasOptional: boolean;
}

/** The part of the settings that decides the shards of tasks. Each call of `reshard` changes it, and adds 1 to `reshardings`. */
export type Layout = Pick<SettingsValues, 'shards' | 'servedShards' | 'earlierShards' | 'reshardings'>;

export const PLAIN = {
  shards: 1,
  servedShards: 1,
  earlierShards: [],
  reshardings: 0,
  isRanked: false,
  isPaused: false,
  concurrency: undefined,
  rate: undefined,
  groupConcurrency: undefined,
  groupRate: undefined,
  isOrdered: false,
  maxTasks: undefined,
  keepEvents: 0,
  hasOptional: false,
} as const satisfies Omit<SettingsValues, 'priorities'>;

export function formatSettings(values: SettingsValues): string {
  const {
    shards,
    servedShards,
    earlierShards,
    reshardings,
    concurrency,
    rate,
    groupConcurrency,
    groupRate,
    maxTasks,
    keepEvents,
  } = values;
  const fields = [
    servedShards > 1 && `shards=${servedShards}`,
    shards !== servedShards && `to=${shards}`,
    earlierShards.length > 0 && `was=${earlierShards.join('.')}`,
    reshardings > 0 && `turn=${reshardings}`,
    values.isRanked && 'ranked=1',
    values.isPaused && 'paused=1',
    concurrency !== undefined && `conc=${concurrency}`,
    rate && `rate=${formatRate(rate)}`,
    groupConcurrency !== undefined && `gconc=${groupConcurrency}`,
    groupRate && `grate=${formatRate(groupRate)}`,
    values.isOrdered && 'ordered=1',
    maxTasks !== undefined && `max=${maxTasks}`,
    keepEvents > 0 && `events=${keepEvents}`,
    values.hasOptional && 'optional=1',
  ].filter((field) => typeof field === 'string');
  return [values.priorities.join(','), ...fields].join(';');
}

export function parseSettings(text: string): SettingsValues {
  const [priorities, ...fields] = text.split(';') as [string, ...string[]];
  const values = new Map(fields.map((field) => field.split('=', 2) as [string, string]));
  const count = (name: string): number | undefined =>
    values.has(name) ? Number(values.get(name)) : undefined;
  return {
    priorities: priorities.split(','),
    shards: count('to') ?? count('shards') ?? 1,
    servedShards: count('shards') ?? 1,
    earlierShards: values.get('was')?.split('.').map(Number) ?? [],
    reshardings: count('turn') ?? 0,
    isRanked: values.has('ranked'),
    isPaused: values.has('paused'),
    concurrency: count('conc'),
    rate: parseRate(values.get('rate')),
    groupConcurrency: count('gconc'),
    groupRate: parseRate(values.get('grate')),
    isOrdered: values.has('ordered'),
    maxTasks: count('max'),
    keepEvents: count('events') ?? 0,
    hasOptional: values.has('optional'),
  };
}

export function layoutOf({ shards, servedShards, earlierShards, reshardings }: SettingsValues): Layout {
  return { shards, servedShards, earlierShards, reshardings };
}

/** Whether tasks with an id or group lie in the same shards. */
export function isSameLayout(a: Layout, b: Layout): boolean {
  return a.reshardings === b.reshardings && a.shards === b.shards;
}

function formatRate({ limit, periodMs, burst }: RateLimit): string {
  return `${limit}/${periodMs}/${burst}`;
}

function parseRate(text: string | undefined): RateLimit | undefined {
  if (text === undefined) return undefined;
  const [limit, periodMs, burst] = text.split('/').map(Number) as [number, number, number];
  return { limit, periodMs, burst };
}

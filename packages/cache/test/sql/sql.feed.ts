import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach } from '@jest/globals';
import { ChangeFeed, RowCache } from '@mortise/cache/rows';
import type {
  ChangeFeedOptions,
  ChangeSource,
  ChangeFeedStats,
  LoadRows,
  Refresher,
} from '@mortise/cache/rows';
import { freshPrefix, until } from '@mortise/test-kit';
import type { Cluster, Redis } from 'ioredis';
import { refresh } from '../fixture/tables.js';
import type { Item } from '../fixture/tables.js';
import { MANY_ITEMS, stopped } from './sql.databases.js';

/** Options of a feed that only a notification or its substitute can wake. */
export const DEAF = { recheckMs: 60_000, leaseMs: 600_000 };

/** Rows that only changes refresh. */
export interface Watched {
  readonly rows: RowCache<Item>;
  readonly refresher: Refresher;
  readonly feed: ChangeFeed;
  readonly errors: unknown[];
  readonly prefix: string;
  /** Resolves when the row is in the cache as it is to be. */
  readonly has: (id: string, name: string | null) => Promise<unknown>;
}

export function rowsOf(
  redis: Redis | Cluster,
  source: Pick<ChangeSource, 'load'>,
  prefix = freshPrefix(),
): RowCache<Item> {
  return new RowCache<Item>(redis, 'items', { prefix, jitter: 0, load: source.load as LoadRows<Item> });
}

/** Rows 1 to 20 of a source, refreshed once an hour and by a feed. */
export async function watch(
  redis: Redis | Cluster,
  source: ChangeSource,
  { load = source.load, ...options }: ChangeFeedOptions & Partial<Pick<ChangeSource, 'load'>> = {},
): Promise<Watched> {
  const prefix = freshPrefix();
  const rows = rowsOf(redis, { load }, prefix);
  const { refresher, errors } = await refresh(redis, rows);
  await rows.scheduleAll(
    Array.from({ length: MANY_ITEMS }, (_, index) => String(index + 1)),
    { everyMs: 3_600_000 },
  );
  await until('all rows', async () => (await rows.stats()).loaded === MANY_ITEMS);
  const feed = feedOf(redis, source, rows, errors, options);
  await feed.start();
  await until('the feed to read', () => feed.stats().isReading);
  const has = (id: string, name: string | null): Promise<unknown> =>
    until(`row ${id} to be ${name}`, async () => ((await rows.get(id))?.name ?? null) === name);
  return { rows, refresher, feed, errors, prefix, has };
}

export function feedOf(
  redis: Redis | Cluster,
  source: ChangeSource,
  rows: RowCache<Item>,
  errors: unknown[],
  options: ChangeFeedOptions = {},
): ChangeFeed {
  const feed = new ChangeFeed(redis, source, rows, {
    onError: (error) => errors.push(error),
    ...options,
  });
  return stopped(feed);
}

const children = new Set<ChildProcess>();

afterEach(async () => {
  await Promise.all([...children].map(kill));
  children.clear();
});

/** Starts a program of this directory; it ends with the test. */
export function start(file: string, task: object): ChildProcess {
  const child = fork(join(import.meta.dirname, file), [JSON.stringify(task)], { execArgv: [] });
  children.add(child);
  return child;
}

export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

/** Resolves when the feed of the process is the one that reads. */
export async function untilReading(child: ChildProcess): Promise<void> {
  await until('the feed of the process to read', async () => {
    const answer = once(child, 'message');
    child.send('stats');
    const [stats] = (await answer) as [ChangeFeedStats];
    return stats.isReading;
  });
}

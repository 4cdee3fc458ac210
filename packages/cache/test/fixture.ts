import { afterEach } from '@jest/globals';
import { Refresher, RowCache } from '@mortise/cache/rows';
import type { LoadRows, RefresherOptions, RowCacheOptions } from '@mortise/cache/rows';
import { freshPrefix } from '@mortise/test-kit';
import type { Cluster, Redis } from 'ioredis';
import type { ShardKeys } from '../src/rows/keys.js';

export interface Item {
  readonly name: string;
}

const running = new Set<Refresher>();

afterEach(async () => {
  await Promise.all([...running].map((refresher) => refresher.stop()));
  running.clear();
});

/** A table in memory that counts the queries made to it. */
export class Database {
  readonly items = new Map<string, Item>();
  readonly queries: string[][] = [];
  /** Thrown by each query while it is set. */
  failure: Error | undefined;

  put(...ids: string[]): this {
    for (const id of ids) this.items.set(id, { name: `item ${id}` });
    return this;
  }

  readonly load: LoadRows<Item> = async (ids) => {
    this.queries.push([...ids]);
    if (this.failure) throw this.failure;
    return new Map(ids.map((id) => [id, this.items.get(id)]));
  };

  get loads(): string[] {
    return this.queries.flat();
  }
}

/** A cache of the table under a prefix of its own. */
export function cacheOf(
  redis: Redis,
  database: Pick<Database, 'load'>,
  options: Partial<RowCacheOptions<Item>> = {},
): RowCache<Item> {
  return new RowCache<Item>(redis, 'items', {
    prefix: freshPrefix(),
    jitter: 0,
    load: database.load,
    ...options,
  });
}

/** A refresher that runs until the test is over. Its failures are kept in `errors`. */
export async function refresh(
  redis: Redis | Cluster,
  rows: RowCache<Item>,
  options: RefresherOptions = {},
): Promise<{ refresher: Refresher; errors: unknown[] }> {
  const errors: unknown[] = [];
  const refresher = new Refresher(redis, [rows], { onError: (error) => errors.push(error), ...options });
  running.add(refresher);
  await refresher.start();
  return { refresher, errors };
}

/** As after a failover to a master whose clock is so much behind. The scores of rows are the caller's. */
export async function shiftLease(redis: Redis, { latest }: ShardKeys, aheadMs: number): Promise<void> {
  const [end, begin] = (await redis.get(latest))!.split(' ').map(Number) as [number, number];
  await redis.set(latest, `${(end + aheadMs).toFixed(1)} ${begin + aheadMs}`);
}

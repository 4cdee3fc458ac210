/** Daemons that refresh rows on schedule. */
import { Refresher, RowCache } from '@mortise/cache/rows';
import type { RefresherOptions } from '@mortise/cache/rows';
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Pool } from 'pg';
import { versionOf } from '../../version-of.js';
import type { Inventory, InventoryRow } from './inventory.js';

/** One daemon in a process of its own; it lives as long as that. */
interface DaemonPlan {
  readonly url: string;
  readonly databaseUrl: string;
  /** Called with the rows of a query before it is sent; the query waits for it. */
  readonly onLoad: (ids: readonly string[]) => Promise<void> | undefined;
}

export interface DaemonKind {
  readonly name: string;
  readonly version: string;
  /** Makes all rows due now and then once a second. */
  schedule(redis: Redis, ids: readonly string[]): Promise<unknown>;
  run(plan: DaemonPlan): Promise<unknown>;
  /** How many of these rows the cache has, with the right id. */
  cached(redis: Redis, ids: readonly string[]): Promise<number>;
}

export const EVERY_MS = 1_000;

const NAME = '@mortise/cache';
const TABLE = 'inventory';
const ROWS_AT_ONCE = 1_000;

function mortise(
  what: string,
  inventory: Inventory | 'nothing asked',
  options: RefresherOptions = {},
): DaemonKind {
  return {
    name: what === '' ? NAME : `${NAME}, ${what}`,
    version: versionOf(NAME),
    schedule: (redis, ids) => tableAt(redis).scheduleAll(ids, { everyMs: EVERY_MS }),
    run: ({ url, databaseUrl, onLoad }) => {
      const load = inventory === 'nothing asked' ? made : selectMany(databaseUrl, inventory);
      const redis = new Redis(url);
      const rows = tableAt(redis, async (ids) => {
        await onLoad(ids);
        return load(ids);
      });
      return new Refresher(redis, [rows], options).start();
    },
    cached: async (redis, ids) => {
      const rows = await tableAt(redis).getMany(ids);
      return ids.filter((id) => rows.get(id)?.id === id).length;
    },
  };
}

function tableAt(redis: Redis, load: Load = noLoad): RowCache<InventoryRow> {
  return new RowCache(redis, TABLE, { load });
}

type Load = (ids: readonly string[]) => Promise<Map<string, InventoryRow>>;

function noLoad(): Promise<Map<string, InventoryRow>> {
  return Promise.reject(new Error('nothing is loaded in this process'));
}

function selectMany(databaseUrl: string, inventory: Inventory): Load {
  const pool = new Pool({ connectionString: databaseUrl });
  return async (ids) => {
    const text = `SELECT id, name, description, price, stock FROM ${inventory} WHERE id = ANY($1)`;
    const { rows } = await pool.query<InventoryRow>({ name: 'rows', text, values: [ids] });
    return new Map(rows.map((row) => [row.id, row]));
  };
}

let answers = 0;

/** Without a database: what the refresher itself can do. */
function made(ids: readonly string[]): Promise<Map<string, InventoryRow>> {
  const description = 'What is to be said of item '.padEnd(150, '.');
  answers += 1;
  return Promise.resolve(
    new Map(ids.map((id) => [id, { id, name: `item number ${id}`, description, price: 1, stock: answers }])),
  );
}

export const MORTISE = mortise('', 'selling');
/** Each load finds what the cache has. */
export const MORTISE_UNCHANGED = mortise('rows unchanged', 'inventory');
/** For more rows than the machine can refresh. */
const LARGE: RefresherOptions = { batch: 500, concurrency: 4 };
export const MORTISE_LARGE = mortise('batches of 500', 'selling', LARGE);
export const MORTISE_ALONE = mortise('batches of 500, no database', 'nothing asked', LARGE);

/** Chapter 2.4, line by line: `schedule_row_cache` and `cache_rows`. */
export const BOOK: DaemonKind = {
  name: 'Redis in Action, 2.4',
  version: 'ported',
  schedule: async (redis, ids) => {
    for (let first = 0; first < ids.length; first += ROWS_AT_ONCE) {
      const part = ids.slice(first, first + ROWS_AT_ONCE);
      await Promise.all(part.map((id) => scheduleRowCache(redis, id, EVERY_MS / 1000)));
    }
  },
  run: async ({ url, databaseUrl, onLoad }) => {
    const client = new Client(databaseUrl);
    await client.connect();
    const get = async (id: string): Promise<InventoryRow> => {
      await onLoad([id]);
      const text = 'SELECT id, name, description, price, stock FROM selling WHERE id = $1';
      const { rows } = await client.query<InventoryRow>({ name: 'row', text, values: [id] });
      return rows[0]!;
    };
    cacheRows(new Redis(url), get).catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
  },
  cached: async (redis, ids) => {
    let cached = 0;
    for (let first = 0; first < ids.length; first += ROWS_AT_ONCE) {
      const part = ids.slice(first, first + ROWS_AT_ONCE);
      const values = await redis.mget(part.map((id) => `inv:${id}`));
      cached += values.filter(
        (value, index) => value && (JSON.parse(value) as InventoryRow).id === part[index],
      ).length;
    }
    return cached;
  },
};

async function scheduleRowCache(conn: Redis, rowId: string, delay: number): Promise<void> {
  await conn.zadd('delay:', delay, rowId);
  await conn.zadd('schedule:', Date.now() / 1000, rowId);
}

async function cacheRows(conn: Redis, get: (id: string) => Promise<InventoryRow>): Promise<never> {
  for (;;) {
    const next = await conn.zrange('schedule:', '0', '0', 'WITHSCORES');
    const now = Date.now() / 1000;
    if (next.length === 0 || Number(next[1]) > now) {
      await sleep(50);
      continue;
    }
    const rowId = next[0]!;
    const delay = Number(await conn.zscore('delay:', rowId));
    if (delay <= 0) {
      await conn.zrem('delay:', rowId);
      await conn.zrem('schedule:', rowId);
      await conn.del(`inv:${rowId}`);
      continue;
    }
    const row = await get(rowId);
    await conn.zadd('schedule:', now + delay, rowId);
    await conn.set(`inv:${rowId}`, JSON.stringify(row));
  }
}

const ALL: readonly DaemonKind[] = [MORTISE, MORTISE_UNCHANGED, MORTISE_LARGE, MORTISE_ALONE, BOOK];

export function daemonKind(name: string): DaemonKind {
  return ALL.find((kind) => kind.name === name)!;
}

/** One run: traders as processes on one market, and the account of its coins, items and sales at the end. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Market } from '@mortise/api/market';
import type { Cluster, Redis } from 'ioredis';
import { Child } from '../child.js';
import { connectTo } from '../connect.js';
import { deferred } from '../deferred.js';
import { nowUs } from '../locks/clock.js';
import type { RedisAddress } from '../locks/config.js';
import type { Books, KnownSale } from './books.js';
import { itemsOf, moneyOf } from './books.js';
import type { TraderConfig, TraderRecord } from './config.js';
import { FUNDS, PLAYERS } from './config.js';

export interface MarketRunOptions {
  readonly prefix: string;
  /** Of the records. */
  readonly directory: string;
  /** Between two trades of a trader. */
  readonly pauseMs: number;
}

interface Times {
  readonly calledAt: number;
  readonly answeredAt: number;
}

export interface MarketAccount {
  readonly violations: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
}

const AFTER_ERROR_MS = 50;

export class MarketRun {
  readonly redis: Redis | Cluster;
  readonly market: Market;
  readonly #address: RedisAddress;
  readonly #options: MarketRunOptions;
  readonly #traders: { readonly child: Child; readonly file: string }[] = [];
  /** Calls before this instant, µs, belong to a market that is gone. */
  #beganAt = 0;

  constructor(address: RedisAddress, options: MarketRunOptions) {
    this.redis = connectTo(address);
    this.market = new Market(this.redis, { prefix: options.prefix });
    this.#address = address;
    this.#options = options;
  }

  get running(): Child[] {
    return this.#traders.map(({ child }) => child).filter(({ isRunning }) => isRunning);
  }

  /** How much all traders have written down. */
  get recordBytes(): number {
    return this.#traders.reduce((sum, { file }) => sum + statSync(file).size, 0);
  }

  async putPlayers(): Promise<void> {
    for (const id of PLAYERS) {
      const profile = { name: id, email: `${id}@fake-game.example`, funds: FUNDS };
      await repeated(() => this.market.putPlayer(id, profile));
    }
  }

  /** After FLUSHALL: trades begin anew. */
  async restart(): Promise<void> {
    await this.putPlayers();
    this.#beganAt = nowUs();
  }

  async add(): Promise<Child> {
    const { prefix, directory, pauseMs } = this.#options;
    const name = `t${this.#traders.length}`;
    const file = join(directory, name);
    writeFileSync(file, '');
    const ready = deferred<void>();
    const config: TraderConfig = { name, file, redis: this.#address, prefix, pauseMs };
    const child = new Child('market/program.js', config, file, () => ready.resolve());
    this.#traders.push({ child, file });
    await Promise.race([ready.promise, child.hasEnded.then(() => Promise.reject(new Error(child.output)))]);
    return child;
  }

  /** Ends all traders, once their present trade is over. */
  async stop(): Promise<void> {
    for (const child of this.running) child.send('stop');
    await Promise.all(this.running.map(({ hasEnded }) => hasEnded));
  }

  /** @param mayBeGone Whether what was called and answered then may be lost. */
  async account(mayBeGone: (times: Times) => boolean): Promise<MarketAccount> {
    const violations: string[] = [];
    let lost = 0;
    const missing = (what: string, times: Times): boolean => {
      const isGone = mayBeGone(times);
      if (isGone) lost += 1;
      else violations.push(`${what} is missing`);
      return isGone;
    };
    const written = this.#records();
    // Of the markets before, nothing else is left.
    for (const record of written) if (record.type === 'refused') missing(record.what, record);
    const records = written.filter(({ calledAt }) => calledAt >= this.#beganAt);
    const known = await this.#sales();
    for (const record of records) {
      if (record.type === 'sold' && !known.has(record.id)) missing(`sale ${record.id}`, record);
    }
    const sales = [...known.values()];
    const bought = new Set(sales.map(({ itemId }) => itemId));
    if (bought.size < sales.length) violations.push('an item was sold twice');
    const items = new Map(
      records.flatMap((record) => (record.type === 'given' ? [[record.itemId, record] as const] : [])),
    );
    violations.push(
      ...(await moneyOf(this.#books(), sales)),
      ...(await itemsOf(this.#books(), sales, items, missing)),
    );
    const sold = records.filter(({ type }) => type === 'sold').length;
    return { violations, figures: { sales: sold, items: items.size, 'lost with a master': lost } };
  }

  async withdrawAll(): Promise<void> {
    for (;;) {
      const { items } = await this.market.listings({ limit: 200 });
      if (items.length === 0) return;
      for (const { id, sellerId } of items) await this.market.withdraw(id, sellerId);
    }
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#traders.map(({ child }) => child.kill()));
    this.redis.disconnect();
  }

  #records(): TraderRecord[] {
    const lines = this.#traders.flatMap(({ file }) => readFileSync(file, 'utf8').split('\n').slice(0, -1));
    return lines.map((line) => JSON.parse(line) as TraderRecord);
  }

  /** All that the market has, by id; see the table of its keys. */
  async #sales(): Promise<Map<string, KnownSale>> {
    const stored = await this.redis.hgetall(`${this.#options.prefix}:market:{main}:sales`);
    return new Map(
      Object.entries(stored).map(([id, record]) => {
        const [, itemId, sellerId, buyerId, price] = record.split(' ');
        return [id, { itemId: itemId!, sellerId: sellerId!, buyerId: buyerId!, price: Number(price) }];
      }),
    );
  }

  #books(): Books {
    const { market } = this;
    return {
      players: PLAYERS,
      funds: FUNDS,
      fundsOf: async (id) => (await market.player(id))?.funds ?? 0,
      itemsOf: async (id) => all((cursor) => market.itemsOf(id, { cursor, limit: 200 })),
      listed: async () => {
        const listings = await all((cursor) => market.listings({ cursor, limit: 200 }));
        return listings.map(({ itemId }) => itemId);
      },
    };
  }
}

async function all<Item>(
  read: (
    cursor: string | undefined,
  ) => Promise<{ readonly items: readonly Item[]; readonly nextCursor: string | null }>,
): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | undefined;
  for (;;) {
    const page = await read(cursor);
    items.push(...page.items);
    if (page.nextCursor === null) return items;
    cursor = page.nextCursor;
  }
}

async function repeated<Result>(call: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if ((error as { code?: string }).code?.startsWith('ERR_MARKET')) throw error;
      await pause(AFTER_ERROR_MS);
    }
  }
}

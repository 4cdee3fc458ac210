/**
 * The quotas of keys and bytes. A request that adds data looks at the counts of the last walk. When these are older than `QUOTA_COUNT_MS`,
 * it also starts the next walk, in one process of all: whoever gets a lock. Its lease ends with its process, and another one counts.
 *
 * So nothing runs unless a tenant with such a quota adds data or an operator looks at it, and the counts are as old as the last walk.
 */
import { Mutex } from '@mortise/locks';
import { callRedis } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import type { OnModuleDestroy } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';

import type { QuotaValues } from '../callers/tenant-store.js';
import { TenantStore } from '../callers/tenant-store.js';
import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { CONFIG, LOG, REDIS } from '../tokens.js';
import { addsData } from './adding-routes.js';
import type { UsageByTenant } from './count-usage.js';
import { countUsage, isCounted } from './count-usage.js';
import type { UsageKeys } from './keys.js';
import { limitsPrefix, usageKeys } from './keys.js';

/** How long a process uses the counts that it has read. */
const KEPT_MS = 1_000;

const COUNTED = ['keys', 'bytes'] as const;

/** The result of a walk. */
export interface Counts {
  /** Its beginning, ms since the epoch, by the clock of the process that counted. */
  readonly countedAt: number;
  readonly tenants: UsageByTenant;
}

export interface ShownUsage {
  readonly keys: number;
  readonly bytes?: number;
  readonly countedAt: number;
}

@Injectable()
export class Usage implements OnModuleDestroy {
  readonly #redis: RedisClient;
  readonly #config: Config;
  readonly #keys: UsageKeys;
  readonly #mutex: Mutex;
  readonly #ending = new AbortController();
  #kept: { readonly readAt: number; readonly counts: Promise<Counts | undefined> } | undefined;
  #counting: Promise<void> | undefined;
  /** Not before: the last attempt failed. */
  #nextAt = 0;

  constructor(
    @Inject(REDIS) redis: RedisClient,
    @Inject(CONFIG) config: Config,
    @Inject(LOG) private readonly log: Logger,
    private readonly tenants: TenantStore,
  ) {
    this.#redis = redis;
    this.#config = config;
    this.#keys = usageKeys(config.MORTISE_PREFIX);
    this.#mutex = new Mutex(redis, 'usage', { prefix: limitsPrefix(config.MORTISE_PREFIX) });
  }

  /** Refuses requests that add data, of the routes that the server gets from now on, to tenants over a quota. */
  watch(server: FastifyInstance): void {
    server.addHook('onRequest', async ({ principal, method, routeOptions: { url } }) => {
      if (principal && url !== undefined && addsData(method, url)) await this.require(principal.tenant);
    });
  }

  /** Throws the problem `quota-exceeded` for a tenant that has as many keys or bytes as it may, and errors of Redis. */
  async require(tenant: string): Promise<void> {
    const quotas = (await this.tenants.kept(tenant))?.quotas;
    if (!isCounted(quotas)) return;
    const counts = await this.#current();
    const usage = counts?.tenants[tenant];
    const over = COUNTED.find((name) => (usage?.[name] ?? -1) >= (quotas[name] ?? Infinity));
    if (over === undefined) return;
    const fields = { quota: over, limit: quotas[over], used: usage?.[over], countedAt: counts?.countedAt };
    throw new Problem('quota-exceeded', undefined, fields);
  }

  /** The result of the last walk. Null without a quota of keys or bytes, and for a tenant without keys. */
  async of(tenant: string, quotas: QuotaValues): Promise<ShownUsage | null> {
    if (!isCounted(quotas)) return null;
    const counts = await this.#current();
    const usage = counts?.tenants[tenant];
    return counts && usage ? { ...usage, countedAt: counts.countedAt } : null;
  }

  /** Starts no walk. */
  async last(): Promise<Counts | undefined> {
    const [counts] = await this.#read();
    return counts;
  }

  async onModuleDestroy(): Promise<void> {
    this.#ending.abort(new Error('the API is stopping'));
    await this.#counting;
  }

  #current(): Promise<Counts | undefined> {
    const readAt = performance.now();
    if (this.#kept && readAt - this.#kept.readAt < KEPT_MS) return this.#kept.counts;
    const kept = { readAt, counts: this.#readOrCount() };
    this.#kept = kept;
    kept.counts.catch(() => {
      if (this.#kept === kept) this.#kept = undefined;
    });
    return kept.counts;
  }

  async #readOrCount(): Promise<Counts | undefined> {
    const [counts, isFresh] = await this.#read();
    if (!isFresh && !this.#ending.signal.aborted && performance.now() >= this.#nextAt)
      this.#counting ??= this.#count();
    return counts;
  }

  async #read(): Promise<[counts: Counts | undefined, isFresh: boolean]> {
    const { counts, fresh } = this.#keys;
    const reply = await callRedis(this.#redis, 'mget', [counts, fresh]);
    const [text, isFresh] = reply as [string | null, string | null];
    return [text === null ? undefined : (JSON.parse(text) as Counts), isFresh !== null];
  }

  /** Never rejects. */
  async #count(): Promise<void> {
    const ending = this.#ending.signal;
    try {
      await using lease = await this.#mutex.tryAcquire();
      // Another process has counted since the read.
      if (!lease || (await this.#read())[1]) return;
      await this.#walk(AbortSignal.any([lease.signal, ending]));
    } catch (err) {
      if (ending.aborted) return;
      this.#nextAt = performance.now() + this.#config.QUOTA_COUNT_MS;
      this.log.warn({ err }, 'the keys of the tenants could not be counted');
    } finally {
      this.#counting = undefined;
    }
  }

  async #walk(signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    const countedAt = Date.now();
    const { MORTISE_PREFIX, QUOTA_COUNT_MS } = this.#config;
    const quotasOf = async (tenant: string): Promise<QuotaValues | undefined> =>
      (await this.tenants.read(tenant))?.quotas;
    const tenants = await countUsage(this.#redis, MORTISE_PREFIX, quotasOf, signal);
    await callRedis(this.#redis, 'set', [this.#keys.counts, JSON.stringify({ countedAt, tenants })]);
    await callRedis(this.#redis, 'set', [this.#keys.fresh, '1', 'PX', QUOTA_COUNT_MS]);
    this.#kept = undefined;
    const ms = Math.round(performance.now() - startedAt);
    this.log.debug({ tenants: Object.keys(tenants).length, ms }, 'the keys of the tenants are counted');
  }
}

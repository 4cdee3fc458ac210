/** The tenants besides that of the deployment, in Redis. */
import { Inject, Injectable } from '@nestjs/common';
import { callRedis } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { callersPutTenant, callersRemoveTenant } from '../scripts.gen.js';
import { formatRate, parseRate } from '../rate.js';
import type { Rate } from '../rate.js';
import { MAX_TENANTS } from '../tenants/per-tenant.js';
import { DEFAULT_TENANT } from '../tenants/tenancy.js';
import { CONFIG, REDIS } from '../tokens.js';
import type { CallerKeys } from './keys.js';
import { callerKeys } from './keys.js';

/** As long as API keys are kept. */
const KEPT_MS = 500;

/** The quotas of a tenant. Streams and waits count for each process; keys and bytes are as old as the last count. */
export const QUOTAS = ['queues', 'tasks', 'streams', 'waits', 'keys', 'bytes'] as const;
export type QuotaName = (typeof QUOTAS)[number];
export type QuotaValues = Readonly<Partial<Record<QuotaName, number>>>;

/** The terms of a tenant that an operator chooses. */
export interface TenantTerms {
  readonly name: string;
  /** Of all its requests; null: TENANT_LIMIT. */
  readonly limit: Rate | null;
  /** Without a quota: as much as it likes. */
  readonly quotas: QuotaValues;
}

export interface TenantRecord extends TenantTerms {
  readonly id: string;
  readonly createdAt: number;
  /** How many API keys it has. */
  readonly keys: number;
}

@Injectable()
export class TenantStore {
  readonly #redis: RedisClient;
  readonly #keys: CallerKeys;
  /** Those that exist, by their last reads. */
  readonly #kept = new Map<string, { readonly record: TenantRecord; readonly readAt: number }>();

  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config) {
    this.#redis = redis;
    this.#keys = callerKeys(prefix);
  }

  /** Creates a tenant, or changes the terms of one that exists. Throws `too-many-tenants`. */
  async put(id: string, { name, limit, quotas }: TenantTerms): Promise<'created' | 'changed'> {
    const keys = { tenant: this.#keys.tenantOf(id), tenants: this.#keys.tenants };
    const terms = { name, limit: limit ? formatRate(limit) : '', quotas: JSON.stringify(quotas) };
    const args = { id, ...terms, maxTenants: MAX_TENANTS };
    this.#kept.delete(id);
    const status = (await callersPutTenant.run(this.#redis, keys, args)) as
      | 'created'
      | 'changed'
      | 'too-many-tenants';
    if (status === 'too-many-tenants') throw new Problem(status, undefined, { limit: MAX_TENANTS });
    return status;
  }

  /** Leaves the data of the tenant. Throws `tenant-in-use` while it has API keys. */
  async remove(id: string): Promise<void> {
    const keys = { tenant: this.#keys.tenantOf(id), tenants: this.#keys.tenants };
    const status = (await callersRemoveTenant.run(this.#redis, keys, { id })) as 'removed' | 'tenant-in-use';
    this.#kept.delete(id);
    if (status === 'tenant-in-use') throw new Problem(status, undefined, { id });
  }

  /** The record as it was half a second ago at most. Undefined for an unknown tenant, and for that of the deployment. */
  async kept(id: string): Promise<TenantRecord | undefined> {
    if (id === DEFAULT_TENANT) return undefined;
    const readAt = performance.now();
    const kept = this.#kept.get(id);
    if (kept && readAt - kept.readAt < KEPT_MS) return kept.record;
    const record = await this.read(id);
    this.#kept.delete(id);
    if (this.#kept.size >= MAX_TENANTS) this.#kept.clear();
    if (record) this.#kept.set(id, { record, readAt });
    return record;
  }

  async read(id: string): Promise<TenantRecord | undefined> {
    const fields = ['name', 'limit', 'quotas', 'createdAt', 'keys'];
    const values = await callRedis(this.#redis, 'hmget', [this.#keys.tenantOf(id), ...fields]);
    const [name, limit, quotas, createdAt, keys] = values as (string | null)[];
    if (name == null) return undefined;
    return {
      id,
      name,
      limit: parseRate(limit ?? '') ?? null,
      quotas: JSON.parse(quotas || '{}') as QuotaValues,
      createdAt: Number(createdAt),
      keys: Number(keys),
    };
  }

  /** The ids after `after` in their order, up to one more than `limit`, and the records of the first `limit`. */
  async list(
    limit: number,
    after: string | undefined,
  ): Promise<{ ids: string[]; records: (TenantRecord | undefined)[] }> {
    const from = after === undefined ? '-' : `(${after}`;
    const range = [this.#keys.tenants, from, '+', 'BYLEX', 'LIMIT', 0, limit + 1];
    const ids = (await callRedis(this.#redis, 'zrange', range)) as string[];
    return { ids, records: await Promise.all(ids.slice(0, limit).map((id) => this.read(id))) };
  }
}

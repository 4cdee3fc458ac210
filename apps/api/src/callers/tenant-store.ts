/** The tenants besides that of the deployment, in Redis. */
import { Inject, Injectable } from '@nestjs/common';
import { callRedis } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { callersPutTenant, callersRemoveTenant } from '../scripts.gen.js';
import { MAX_TENANTS } from '../tenants/per-tenant.js';
import { DEFAULT_TENANT } from '../tenants/tenancy.js';
import { CONFIG, REDIS } from '../tokens.js';
import type { CallerKeys } from './keys.js';
import { callerKeys } from './keys.js';

/** As long as API keys are kept. */
const KNOWN_MS = 500;

export interface TenantRecord {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  /** How many API keys it has. */
  readonly keys: number;
}

@Injectable()
export class TenantStore {
  readonly #redis: RedisClient;
  readonly #keys: CallerKeys;
  /** When those that exist were last looked for. */
  readonly #knownAt = new Map<string, number>();

  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config) {
    this.#redis = redis;
    this.#keys = callerKeys(prefix);
  }

  /** Creates a tenant, or changes the name of one that exists. Throws `too-many-tenants`. */
  async put(id: string, name: string): Promise<'created' | 'changed'> {
    const keys = { tenant: this.#keys.tenantOf(id), tenants: this.#keys.tenants };
    const args = { id, name, maxTenants: MAX_TENANTS };
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
    this.#knownAt.delete(id);
    if (status === 'tenant-in-use') throw new Problem(status, undefined, { id });
  }

  /** Whether it exists, or did so half a second ago. */
  async isKnown(id: string): Promise<boolean> {
    if (id === DEFAULT_TENANT) return true;
    const now = performance.now();
    if (now - (this.#knownAt.get(id) ?? -Infinity) < KNOWN_MS) return true;
    const isKnown = (await callRedis(this.#redis, 'exists', [this.#keys.tenantOf(id)])) === 1;
    this.#knownAt.delete(id);
    if (this.#knownAt.size >= MAX_TENANTS) this.#knownAt.clear();
    if (isKnown) this.#knownAt.set(id, now);
    return isKnown;
  }

  async read(id: string): Promise<TenantRecord | undefined> {
    const fields = ['name', 'createdAt', 'keys'];
    const values = await callRedis(this.#redis, 'hmget', [this.#keys.tenantOf(id), ...fields]);
    const [name, createdAt, keys] = values as (string | null)[];
    return name == null ? undefined : { id, name, createdAt: Number(createdAt), keys: Number(keys) };
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

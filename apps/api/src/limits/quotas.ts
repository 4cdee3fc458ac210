/** The quotas of a tenant: how much it may have, not how fast. The tenant of the deployment has none. */
import { Queue } from '@mortise/queues';
import type { RedisClient } from '@mortise/redis';
import { Inject, Injectable } from '@nestjs/common';

import type { QuotaName } from '../callers/tenant-store.js';
import { TenantStore } from '../callers/tenant-store.js';
import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { MAX_TENANTS } from '../tenants/per-tenant.js';
import { currentTenant, prefixOf } from '../tenants/tenancy.js';
import { CONFIG, REDIS } from '../tokens.js';

/** How long a count of tasks is used. */
const COUNT_MS = 1_000;

@Injectable()
export class Quotas {
  readonly #redis: RedisClient;
  readonly #prefix: string;
  readonly #tasks = new Map<string, { readonly countedAt: number; tasks: number }>();

  constructor(
    @Inject(REDIS) redis: RedisClient,
    @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config,
    private readonly tenants: TenantStore,
  ) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  /** Throws `quota-exceeded` when the tenant has this many already, or would have more. `used` is called if there is a quota. */
  async require(name: QuotaName, used: () => number | Promise<number>, more = 1): Promise<void> {
    const quota = (await this.tenants.kept(currentTenant()))?.quotas[name];
    if (quota === undefined) return;
    const has = await used();
    if (has + more > quota)
      throw new Problem('quota-exceeded', undefined, { quota: name, limit: quota, used: has });
  }

  /** Before a queue is created, unless it is there. Requests at the same time may exceed the quota by one each. */
  requireQueue(isThere: () => Promise<boolean>): Promise<void> {
    return this.require('queues', async () => ((await isThere()) ? -1 : (await this.#queueNames()).length));
  }

  /**
   * Before tasks are enqueued. The tasks of all queues are counted at most once a second, so other processes may exceed the quota by what
   * they enqueue in that time.
   */
  async requireTasks(more: number): Promise<void> {
    const tenant = currentTenant();
    await this.require('tasks', () => this.#tasksOf(tenant), more);
    const counted = this.#tasks.get(tenant);
    if (counted) counted.tasks += more;
  }

  async #tasksOf(tenant: string): Promise<number> {
    const known = this.#tasks.get(tenant);
    if (known && performance.now() - known.countedAt < COUNT_MS) return known.tasks;
    const countedAt = performance.now();
    const prefix = prefixOf(this.#prefix, tenant);
    const counts = await Promise.all(
      (await this.#queueNames()).map((name) => new Queue(this.#redis, name, { prefix }).counts()),
    );
    const tasks = counts.flatMap((each) => Object.values(each)).reduce((sum, each) => sum + each, 0);
    if (this.#tasks.size >= MAX_TENANTS) this.#tasks.clear();
    this.#tasks.set(tenant, { countedAt, tasks });
    return tasks;
  }

  #queueNames(): Promise<string[]> {
    return Queue.names(this.#redis, { prefix: prefixOf(this.#prefix, currentTenant()) });
  }
}

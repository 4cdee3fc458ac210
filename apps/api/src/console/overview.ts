/** All queues of a tenant in numbers, read once for all pages that watch them. */
import { Overviews, Queue, runningWorkers } from '@mortise/queues';
import type { OverviewOfQueues } from '@mortise/queues/admin';
import { LiveOverview } from '@mortise/queues/admin';
import type { RedisClient } from '@mortise/redis';
import { Inject, Injectable } from '@nestjs/common';

import type { Config } from '../config.js';
import { currentTenant, prefixOf } from '../tenants/tenancy.js';
import { CONFIG, REDIS } from '../tokens.js';

@Injectable()
export class OverviewReader {
  readonly #redis: RedisClient;
  readonly #prefix: string;
  /** Of the tenants that are watched. */
  readonly #tenants = new Map<string, LiveOverview>();

  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  /** Of the tenant of the request: three round trips at most. */
  read(): Promise<OverviewOfQueues> {
    return this.#ofTenant(currentTenant()).read();
  }

  /** Of the tenant of the request, and each change until the signal. */
  follow(signal: AbortSignal): AsyncIterable<OverviewOfQueues> {
    const tenant = currentTenant();
    for (const [name, { isFollowed }] of this.#tenants) if (!isFollowed) this.#tenants.delete(name);
    const its = this.#tenants.get(tenant) ?? this.#ofTenant(tenant);
    this.#tenants.set(tenant, its);
    return its.follow(signal);
  }

  #ofTenant(tenant: string): LiveOverview {
    const options = { prefix: prefixOf(this.#prefix, tenant) };
    const workers = (): Promise<number> => runningWorkers(this.#redis, options);
    const names = (): Promise<string[]> => Queue.names(this.#redis, options);
    return new LiveOverview(new Overviews(this.#redis, options), names, { workers });
  }
}

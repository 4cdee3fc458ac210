/**
 * The loads of caches by HTTP clients. An object of a cache has a subscription while clients wait for a load; it lives as long as
 * requests use it, and has no state of a lease.
 */
import { LoadLeases } from '@mortise/cache/loads';
import type { RedisClient } from '@mortise/redis';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';

import type { Config } from '../config.js';
import { currentTenant, prefixOf } from '../tenants/tenancy.js';
import { CONFIG, LOG, REDIS } from '../tokens.js';

interface Shared {
  readonly leases: LoadLeases;
  users: number;
}

@Injectable()
export class CacheLoads {
  readonly #prefix: string;
  /** By prefix and name. */
  readonly #shared = new Map<string, Shared>();

  constructor(
    @Inject(REDIS) private readonly redis: RedisClient,
    @Inject(LOG) private readonly log: Logger,
    @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config,
  ) {
    this.#prefix = prefix;
  }

  /** Runs `work` with the leases of a cache of the tenant. */
  async with<T>(name: string, work: (leases: LoadLeases) => Promise<T>): Promise<T> {
    const tenant = currentTenant();
    const prefix = prefixOf(this.#prefix, tenant);
    const id = JSON.stringify([prefix, name]);
    const shared = this.#shared.get(id) ?? { leases: this.#open(name, prefix, tenant), users: 0 };
    this.#shared.set(id, shared);
    shared.users += 1;
    try {
      return await work(shared.leases);
    } finally {
      shared.users -= 1;
      if (shared.users === 0) {
        this.#shared.delete(id);
        await shared.leases.stop();
      }
    }
  }

  #open(name: string, prefix: string, tenant: string): LoadLeases {
    return new LoadLeases(this.redis, name, {
      prefix,
      jitter: 0,
      commandTimeoutMs: 60_000,
      onError: (err) => this.log.warn({ err, tenant, cache: name }, 'a cache'),
    });
  }
}

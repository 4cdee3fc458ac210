/** All queues in numbers, read once for all pages that watch them. */
import { Overviews, Queue } from '@mortise/queues';
import type { Counts } from '@mortise/queues';
import { Sampled } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { Inject, Injectable } from '@nestjs/common';

import type { Config } from '../config.js';
import { currentTenant, prefixOf } from '../tenants/tenancy.js';
import { CONFIG, REDIS } from '../tokens.js';

/** Queues that are shown, in the order of their names; further ones are counted. */
const MAX_QUEUES = 100;
const EVERY_MS = 2_000;

export interface OverviewOfQueues {
  readonly at: number;
  /** How many queues there are. */
  readonly total: number;
  readonly queues: readonly {
    readonly name: string;
    readonly counts: Counts;
    readonly headAgeMs: number | null;
  }[];
}

interface OfTenant {
  readonly overviews: Overviews;
  readonly sampled: Sampled<OverviewOfQueues>;
}

@Injectable()
export class OverviewReader {
  readonly #redis: RedisClient;
  readonly #prefix: string;
  /** Of the tenants that are watched. */
  readonly #tenants = new Map<string, OfTenant>();

  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  /** Of the tenant of the request: three round trips at most. */
  read(): Promise<OverviewOfQueues> {
    const prefix = prefixOf(this.#prefix, currentTenant());
    return this.#read(prefix, new Overviews(this.#redis, { prefix }));
  }

  /** Of the tenant of the request, and each change until the signal: read every two seconds, once for all followers of a tenant. */
  follow(signal: AbortSignal): AsyncIterable<OverviewOfQueues> {
    const tenant = currentTenant();
    for (const [name, { sampled }] of this.#tenants) {
      if (name !== tenant && !sampled.isFollowed) this.#tenants.delete(name);
    }
    const its = this.#tenants.get(tenant) ?? this.#ofTenant(tenant);
    this.#tenants.set(tenant, its);
    return its.sampled.follow(signal);
  }

  #ofTenant(tenant: string): OfTenant {
    const prefix = prefixOf(this.#prefix, tenant);
    const overviews = new Overviews(this.#redis, { prefix });
    return { overviews, sampled: new Sampled(() => this.#read(prefix, overviews), EVERY_MS, isSame) };
  }

  async #read(prefix: string, overviews: Overviews): Promise<OverviewOfQueues> {
    const names = await Queue.names(this.#redis, { prefix });
    const shown = names.toSorted().slice(0, MAX_QUEUES);
    const found = await overviews.read(shown);
    const at = Date.now();
    return {
      at,
      total: names.length,
      queues: found.map(({ counts, nextEnqueuedAt }, index) => ({
        name: shown[index]!,
        counts,
        headAgeMs: nextEnqueuedAt === null ? null : Math.max(0, at - nextEnqueuedAt),
      })),
    };
  }
}

/** With the ages: while a task waits, each read is a change. */
function isSame(a: OverviewOfQueues, b: OverviewOfQueues): boolean {
  const shown = ({ total, queues }: OverviewOfQueues): string =>
    JSON.stringify([total, queues.map(({ name, counts, headAgeMs }) => [name, counts, headAgeMs])]);
  return shown(a) === shown(b);
}

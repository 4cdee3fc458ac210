/** The lists of locks and semaphores that are held or waited for, and of rate limits in use, from their keys; see `key-scan.ts`. */
import { Inject, Injectable } from '@nestjs/common';
import { decodeName, encodeName, KeySpace, MAX_NAME_BYTES } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import type { z } from 'zod';

import type { Config } from '../config.js';
import { PerTenant } from '../tenants/per-tenant.js';
import { CONFIG, REDIS } from '../tokens.js';
import { literally } from '../redis/literally.js';
import { scanKeys } from '../lists/key-scan.js';
import { RemoteLocks } from './remote-locks.js';
import { RemoteRateLimiters } from './remote-rate-limiters.js';
import { RemoteSemaphores } from './remote-semaphores.js';
import type { locksPage, rateLimitersPage, semaphoresPage } from './schemas.js';

/** The position of the name in a key, however the package encodes it. */
const NAME = 'name';

/**
 * Matches `lease` and `queue`. Patterns of SCAN have no "or", only a choice per character; no key has the other matches,
 * such as `luase`.
 */
const LEASE_OR_QUEUE = '[lq][eu][ae][su]e';

@Injectable()
export class OperatorLists {
  readonly #redis: RedisClient;
  readonly #stem: PerTenant<string>;

  constructor(
    @Inject(REDIS) redis: RedisClient,
    @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config,
    private readonly remoteLocks: RemoteLocks,
    private readonly remoteSemaphores: RemoteSemaphores,
    private readonly remoteRateLimiters: RemoteRateLimiters,
  ) {
    this.#redis = redis;
    this.#stem = new PerTenant(prefix, stemOf);
  }

  /** A page from the keys `lease` and `queue`, not `token`: those stay for a week, and are many. */
  locks(limit: number, cursor: string | undefined): Promise<z.infer<typeof locksPage>> {
    return this.#page({ part: LEASE_OR_QUEUE, limit, cursor }, async (name, isQueue) => {
      const state = await this.remoteLocks.inspect(name);
      if (!state) return undefined;
      const { holder, queueLength } = state;
      const isListed = isQueue ? holder === null && queueLength > 0 : holder !== null;
      return isListed ? { name, ...state } : undefined;
    });
  }

  /** A page from the keys `permits` and `permits-queue`, not `permits-state`, which is no sorted set. */
  semaphores(limit: number, cursor: string | undefined): Promise<z.infer<typeof semaphoresPage>> {
    return this.#page({ part: 'permits*', type: 'zset', limit, cursor }, async (name, isQueue) => {
      const state = await this.remoteSemaphores.inspect(name);
      if (!state) return undefined;
      const { holders: _, ...rest } = state;
      const isListed = isQueue ? rest.used === 0 && rest.queueLength > 0 : rest.used > 0;
      return isListed ? { name, ...rest } : undefined;
    });
  }

  /** A page from the keys `rate`, which end when the whole burst is available. */
  rateLimiters(limit: number, cursor: string | undefined): Promise<z.infer<typeof rateLimitersPage>> {
    return this.#page({ part: 'rate', limit, cursor }, async (name) => {
      const state = await this.remoteRateLimiters.inspect(name);
      return state && state.resetAfterMs > 0 ? { name, ...state } : undefined;
    });
  }

  /**
   * Lists each lock once, whether it has a holder or only waiters. Skips keys of other programs: keys without a name, and
   * keys whose state cannot be read.
   */
  async #page<Entry>(
    scan: {
      readonly part: string;
      readonly type?: string;
      readonly limit: number;
      readonly cursor: string | undefined;
    },
    look: (name: string, isQueue: boolean) => Promise<Entry | undefined>,
  ): Promise<{ items: Entry[]; nextCursor: string | null }> {
    const stem = this.#stem.current;
    const { keys, nextCursor } = await scanKeys(this.#redis, {
      ...scan,
      pattern: `${literally(stem)}*}:${scan.part}`,
    });
    const found = await Promise.all(
      keys.map(async (key) => {
        const encoded = key.slice(stem.length, key.lastIndexOf('}:'));
        const name = decodeName(encoded);
        const isOurs =
          name !== '' && Buffer.byteLength(name) <= MAX_NAME_BYTES && encodeName(name) === encoded;
        return isOurs ? await look(name, key.endsWith('queue')) : undefined;
      }),
    );
    return { items: found.filter((entry) => entry !== undefined), nextCursor };
  }
}

/** The part of a lock's keys before its name. */
function stemOf(prefix: string): string {
  return new KeySpace('locks', prefix).entity(NAME).key('').slice(0, -`${NAME}}:`.length);
}

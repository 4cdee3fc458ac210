/** The keys of the entries of a cache, for operators: found by a bounded scan, as locks are (docs/decisions/0023). */
import { decodeName, encodeName, KeySpace } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { Inject, Injectable } from '@nestjs/common';

import type { Config } from '../config.js';
import { scanKeys } from '../lists/key-scan.js';
import { literally } from '../redis/literally.js';
import { currentTenant, prefixOf } from '../tenants/tenancy.js';
import { CONFIG, REDIS } from '../tokens.js';

export interface KeysPage {
  readonly items: readonly { readonly key: string }[];
  readonly nextCursor: string | null;
}

/** The end of the tag of a shard, and the key of an entry. */
const VALUE = /^(?:%%\d+)?\}:value:(.+)$/su;
/** Keys of namespaces begin with it. */
const NAMESPACE = '\0';

@Injectable()
export class CacheKeys {
  readonly #redis: RedisClient;
  readonly #prefix: string;

  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  /**
   * A page of a cache of the tenant of the request, of all its shards. It may be short, or empty before the last one. Throws
   * ERR_INVALID_CURSOR.
   */
  async page(cache: string, limit: number, cursor: string | undefined): Promise<KeysPage> {
    const space = new KeySpace('cache', prefixOf(this.#prefix, currentTenant()));
    // Up to the end of the name.
    const stem = space.entity(cache).key('').slice(0, -'}:'.length);
    const pattern = `${literally(stem)}*}:value:*`;
    const { keys, nextCursor } = await scanKeys(this.#redis, { pattern, type: 'string', limit, cursor });
    const found = keys.flatMap((each) => {
      const [, encoded] = VALUE.exec(each.slice(stem.length)) ?? [];
      const key = encoded === undefined ? '' : decodeName(encoded);
      return key !== '' && !key.startsWith(NAMESPACE) && encodeName(key) === encoded ? [key] : [];
    });
    return { items: found.map((key) => ({ key })), nextCursor };
  }
}

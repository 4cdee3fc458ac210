/**
 * The names of what the packages store, for operators: found by bounded scans of the keys, as locks are (docs/decisions/0023). A name is
 * listed as long as the key of its row below is there.
 */
import { decodeName, encodeName, KeySpace, MAX_NAME_BYTES } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { Inject, Injectable } from '@nestjs/common';

import type { Config } from '../config.js';
import { DEFAULT_PAGE } from '../http/page-limits.js';
import { scanKeys } from '../lists/key-scan.js';
import { byName, Watched } from '../lists/watched.js';
import { literally } from '../redis/literally.js';
import { currentTenant, prefixOf } from '../tenants/tenancy.js';
import { CONFIG, REDIS } from '../tokens.js';

interface Place {
  readonly package: string;
  /** The end of the key, after the name, as a pattern of SCAN. */
  readonly part: string;
}

export const PLACES = {
  chats: { package: 'messaging', part: 'chat' },
  members: { package: 'messaging', part: 'chats' },
  mailboxes: { package: 'messaging', part: 'mailbox' },
  'file-channels': { package: 'messaging', part: 'file-channel' },
  'address-books': { package: 'autocomplete', part: 'meta:*' },
  contacts: { package: 'autocomplete', part: 'recent:*' },
  caches: { package: 'cache', part: 'seq' },
  'rate-limiters': { package: 'locks', part: 'rate' },
  'read-write-locks': { package: 'locks', part: 'rw-token' },
} as const satisfies Record<string, Place>;

export type Kind = keyof typeof PLACES;

export interface NamesPage {
  readonly items: readonly { readonly name: string }[];
  readonly nextCursor: string | null;
}

interface ListedNames extends Pick<NamesPage, 'items'> {
  /** False: there are more pages. */
  readonly isWhole: boolean;
}

/** A list is a scan of keys, of at most 0.1 s. */
const EVERY_MS = 2_000;

@Injectable()
export class StoredNames {
  readonly #watched = new Watched<ListedNames>(EVERY_MS);
  readonly #redis: RedisClient;
  readonly #prefix: string;

  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  /** The first page of the tenant of the request, in the order of the names, and each change of it, until the signal. */
  follow(kind: Kind, signal: AbortSignal): AsyncIterable<ListedNames> {
    return this.#watched.follow(kind, signal, async () => {
      const { items, nextCursor } = await this.page(kind, DEFAULT_PAGE, undefined);
      return { items: items.toSorted(byName), isWhole: nextCursor === null };
    });
  }

  /** A page of the tenant of the request. It may be short, or empty before the last one. Throws ERR_INVALID_CURSOR. */
  async page(kind: Kind, limit: number, cursor: string | undefined): Promise<NamesPage> {
    const place: Place = PLACES[kind];
    const space = new KeySpace(place.package, prefixOf(this.#prefix, currentTenant()));
    const marker = 'name';
    const stem = space.entity(marker).key('').slice(0, -`${marker}}:`.length);
    const pattern = `${literally(stem)}*}:${place.part}`;
    const { keys, nextCursor } = await scanKeys(this.#redis, { pattern, limit, cursor });
    const names = keys.flatMap((key) => {
      const encoded = key.slice(stem.length, key.indexOf('}:', stem.length));
      const name = decodeName(encoded);
      const isOurs = name !== '' && Buffer.byteLength(name) <= MAX_NAME_BYTES && encodeName(name) === encoded;
      return isOurs ? [name] : [];
    });
    return { items: [...new Set(names)].map((name) => ({ name })), nextCursor };
  }
}

/**
 * The interface of Keyv's stores over a `Cache`. Keyv has no loads, so nothing is loaded once here: what its users gain is a near
 * tier that learns of changes, `clear` in one command, and reads that survive an outage.
 *
 * The store has the methods of Keyv 5. Keyv 6 puts its own adapter around a store that doesn't declare `capabilities`, which
 * turns the instant of an expiry into a time to live. One form serves both.
 */
import { requireOptions } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { Cache } from '../read-through/cache.js';
import type { CacheNamespace } from '../read-through/cache.js';
import type { CacheOptions } from '../read-through/options.js';
import { keyvCodec } from './keyv-codec.js';

/** Options of a KeyvStore; they mean the same as in `CacheOptions`. */
export interface KeyvStoreOptions extends Pick<
  CacheOptions,
  | 'near'
  | 'commandTimeoutMs'
  | 'maxPayloadBytes'
  | 'compressFromBytes'
  | 'version'
  | 'shards'
  | 'prefix'
  | 'telemetry'
  | 'onError'
> {
  /** How long a value without a time to live of Keyv is kept, in ms, 1 ms to 365 days. Default 365 days. */
  readonly ttlMs?: number | undefined;
}

type Listener = (error: unknown) => void;

interface Entry {
  readonly key: string;
  readonly value: unknown;
  readonly ttl?: number | undefined;
}

const DAY_MS = 86_400_000;
const MAX_TTL_MS = 365 * DAY_MS;
const OPTIONS: ReadonlySet<string> = new Set<keyof KeyvStoreOptions>([
  'ttlMs',
  'near',
  'commandTimeoutMs',
  'maxPayloadBytes',
  'compressFromBytes',
  'version',
  'shards',
  'prefix',
  'telemetry',
  'onError',
]);

/**
 * A store for one Keyv: `new Keyv({ store: new KeyvStore(redis, name) })`.
 *
 * A namespace of Keyv is a namespace of the cache: `clear` invalidates that namespace as a whole, and no other one. Keyv
 * assigns `namespace`, so give each Keyv its own store. Any number of stores may have the same name. There is no `iterator`.
 */
export class KeyvStore {
  /** The options that Keyv reads. */
  readonly opts: Record<string, unknown> = {};
  readonly #cache: Cache;
  readonly #listeners = new Set<Listener>();
  #namespace: string | undefined;
  #entries: CacheNamespace;

  /**
   * Sends nothing. Throws TypeError or RangeError for invalid options.
   *
   * @param redis Null: the values are in the memory of this process alone, within the bounds of `near`.
   * @param name Names the values in Redis. 1 to 1,024 bytes.
   */
  constructor(redis: RedisClient | null, name: string, options: KeyvStoreOptions = {}) {
    const { ttlMs = MAX_TTL_MS, onError, ...given } = requireOptions('KeyvStore', options, OPTIONS);
    this.#cache = new Cache(redis, name, {
      ...given,
      ttlMs,
      // Keyv's users expect the time that they give.
      jitter: 0,
      codec: keyvCodec,
      onError: onError ?? ((error: unknown) => this.#emit(error)),
    });
    this.#entries = this.#cache.namespace(partOf(undefined));
  }

  /** Assigned by Keyv. Throws RangeError for one of more than 1,023 bytes. */
  get namespace(): string | undefined {
    return this.#namespace;
  }

  set namespace(namespace: string | undefined) {
    if (namespace === this.#namespace) return;
    this.#entries = this.#cache.namespace(partOf(namespace));
    this.#namespace = namespace;
  }

  /**
   * Returns a value, or undefined if nothing is stored or Redis is unavailable. One round trip, shared with all reads of the
   * tick. O(1).
   */
  async get<Value>(key: string): Promise<Value | undefined> {
    return ((await this.#entries.get(key)) ?? undefined) as Value | undefined;
  }

  /** `get` for many keys, in their order, in one round trip. */
  async getMany<Value>(keys: readonly string[]): Promise<(Value | undefined)[]> {
    return Promise.all(keys.map((key) => this.get<Value>(key)));
  }

  /**
   * Stores a value. Rejects with CacheValueError, and with CacheUnavailableError, after which the value may or may not be
   * stored. One round trip, shared with other calls of the tick. Repeating the call is safe.
   *
   * @param ttl In ms. Default `ttlMs`; more than 365 days are 365 days, and 0 or less removes the value.
   */
  async set(key: string, value: unknown, ttl?: number): Promise<boolean> {
    if (ttl === undefined) await this.#entries.set(key, value);
    else if (ttl > 0) await this.#entries.set(key, value, { ttlMs: Math.min(ttl, MAX_TTL_MS) });
    else await this.#entries.delete(key);
    return true;
  }

  /** `set` for many entries, in one round trip; not atomic. Keyv types the result as void, but reads the booleans. */
  async setMany(entries: readonly Entry[]): Promise<void> {
    const stored = Promise.all(entries.map(({ key, value, ttl }) => this.set(key, value, ttl)));
    return stored as Promise<unknown> as Promise<void>;
  }

  /** Returns whether there was a value. Rejects with CacheUnavailableError. One round trip. Repeating the call is safe. */
  async delete(key: string): Promise<boolean> {
    return this.#entries.delete(key);
  }

  /** `delete` for many keys; returns whether there was any of them. */
  async deleteMany(keys: readonly string[]): Promise<boolean> {
    return (await this.#entries.deleteMany(keys)) > 0;
  }

  /** Costs as much as `get`. */
  async has(key: string): Promise<boolean> {
    return (await this.get(key)) !== undefined;
  }

  /** `has` for many keys, in their order, in one round trip. */
  async hasMany(keys: readonly string[]): Promise<boolean[]> {
    return Promise.all(keys.map((key) => this.has(key)));
  }

  /** Invalidates the values of the namespace, O(1) for any number of values. Rejects with CacheUnavailableError. */
  async clear(): Promise<void> {
    await this.#entries.clear();
  }

  /** Closes the connections of the near tier, not the client. Idempotent. */
  async disconnect(): Promise<void> {
    await this.#cache.stop();
  }

  /**
   * Keyv adds a listener for `error`, which gets the failures of reads unless there is an `onError`. Other events never come.
   */
  on(event: string, listener: Listener): this {
    if (event === 'error') this.#listeners.add(listener);
    return this;
  }

  #emit(error: unknown): void {
    if (this.#listeners.size === 0) console.error('mortise cache:', error);
    for (const listener of this.#listeners) listener(error);
  }
}

/** No namespace of Keyv shares a part with values that have none. */
function partOf(namespace: string | undefined): string {
  return namespace === undefined ? '-' : `=${namespace}`;
}

/**
 * The leases of loads, for clients that cannot hold a loader: those of an HTTP API, or of another language. A client that
 * finds nothing gets the lease and a token, loads, and stores its value under the token. Others wait for that value. The
 * leases are those of `Cache` (after memcached's, Nishtala et al., NSDI 2013), so programs and such clients wait for each
 * other. Nobody renews a lease: the client says how long its load may take. This object keeps no state of a lease, so any
 * process stores under any token.
 */
import { keySlot, requireClient, waitFor } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { cacheKeys } from '../keys.js';
import { decodeEntry } from '../read-through/envelope.js';
import { requireKey } from '../read-through/options.js';
import type { ResolvedCacheOptions } from '../read-through/options.js';
import { Reader } from '../read-through/reader.js';
import { RedisBackend } from '../read-through/redis-backend.js';
import { Values } from '../read-through/values.js';
import { requireToken, resolveLoadLeasesOptions, resolveRequest, resolveStore } from './options.js';
import type { LoadLeasesOptions, LoadReply, LoadRequestOptions, LoadStoreOptions } from './options.js';

const NOTHING_KNOWN: ReadonlyMap<string, null> = new Map();

export class LoadLeases<Value = unknown> {
  readonly #options: ResolvedCacheOptions<Value>;
  readonly #backend: RedisBackend;
  readonly #values: Values<Value>;
  readonly #reader: Reader<Value>;

  /**
   * Sends nothing. Throws TypeError or RangeError for invalid options.
   *
   * @param name The name of the `Cache` whose entries these are. 1 to 1,024 bytes.
   */
  constructor(redis: RedisClient, name: string, options: LoadLeasesOptions<Value> = {}) {
    requireClient(redis, { eviction: 'allowed' });
    this.#options = resolveLoadLeasesOptions(options);
    const { prefix, shards } = this.#options;
    const keys = Array.from({ length: shards }, (_, shard) => cacheKeys(name, prefix, shard));
    this.#backend = new RedisBackend(redis, name, this.#options, {
      keys,
      near: undefined,
      onReady: () => undefined,
    });
    this.#values = new Values(name, this.#options);
    this.#reader = new Reader(this.#values, this.#options, undefined);
  }

  /**
   * Returns the cached value. If there is none, one caller gets the lease to load it, and all others wait for its value up to
   * `waitMs`. When the lease ends without a value, the next caller gets it. A stale value, or one that ends soon, is returned
   * at once; one caller also gets the lease.
   *
   * Rejects with CacheUnavailableError, and with the reason of an aborted signal. A hit costs one round trip, and the lease
   * another one; both are shared with other calls of the tick. After a lost reply no caller knows the lease, which expires.
   */
  async request(key: string, options: LoadRequestOptions = {}): Promise<LoadReply<Value>> {
    requireKey(key);
    const { waitMs, leaseMs, tags, signal } = resolveRequest(options);
    const endsAt = performance.now() + waitMs;
    const { shard, wakeups } = this.#placeOf(key);
    this.#backend.start();
    let { seen, found } = await waitFor(this.#reader.read(shard, key, tags), { signal });
    if (found && !found.isDue) return { value: found.value, lease: undefined };
    for (;;) {
      const wakeUp = wakeups.expect(shard.keys.value(key));
      try {
        const expiresAt = performance.now() + leaseMs;
        const asked = { seen, isServed: found !== undefined, leaseMs };
        const reply = await shard.requestLease(key, asked, tags, found ? '' : wakeups.channel);
        if (reply.do === 'load') {
          const { token } = reply;
          if (!signal?.aborted) return { value: found?.value, lease: { token, expiresAt } };
          await shard.abandon(key, token, 0);
        }
        signal?.throwIfAborted();
        if (reply.do === 'take') {
          ({ seen, found } = await this.#reader.check(shard, key, reply.value, NOTHING_KNOWN));
          if (found) return { value: found.value, lease: undefined };
        }
        if (reply.do !== 'wait') continue;
        const leftMs = endsAt - performance.now();
        if (found || leftMs <= 0) return { value: found?.value, lease: undefined };
        const ms = Math.min(reply.ms, leftMs);
        // This process was not subscribed yet: the next lease request includes its channel.
        if (wakeups.channel === '' && (await waitFor(wakeups.listen(ms), { signal }))) continue;
        await wakeUp.wait(ms, signal);
      } finally {
        wakeups.forget(shard.keys.value(key), wakeUp);
      }
    }
  }

  /**
   * Stores the loaded value; null stores a known absence. Returns false, and stores nothing, if the lease has ended meanwhile.
   * A lease ends by its time, by `set`, `delete` or `release`, or when a tag of the value is invalidated. Rejects with
   * CacheValueError, and with CacheUnavailableError, after which the value may or may not be stored. One round trip. Repeating
   * the call is safe until the entry changes.
   *
   * @param token The token of the lease, from `request`.
   */
  async store(
    key: string,
    token: string,
    value: Value | null,
    options: LoadStoreOptions = {},
  ): Promise<boolean> {
    requireKey(key);
    requireToken(token);
    const entry = resolveStore(options, this.#options);
    const { shard } = this.#placeOf(key);
    // A token is the instant of its grant in µs; before the first read the clock is not known.
    const loadMs = shard.clock.isKnown ? Math.max(0, shard.clock.latest() - Number(token) / 1_000) : 0;
    const life = this.#options;
    const storing = { key, token, life, tags: undefined, ownTags: [], loadMs, entry };
    if (await shard.store(this.#values.toRequest(value, storing))) return true;
    const [stored] = await shard.read([shard.keys.value(key)]);
    const present = stored && decodeEntry(stored, this.#options.version);
    return present?.token === Number(token);
  }

  /**
   * Ends the lease without a value, after a failed load: a waiter gets the lease at once. Callers with a stale value get the
   * lease after `retryMs`. A token whose lease has ended does nothing. Rejects with CacheUnavailableError. One round trip.
   */
  async release(key: string, token: string): Promise<void> {
    requireKey(key);
    requireToken(token);
    await this.#placeOf(key).shard.abandon(key, token, this.#options.retryMs);
  }

  /** Closes the subscriptions; the next wait opens them again. Idempotent. */
  async stop(): Promise<void> {
    await this.#backend.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** As `Cache` places its entries. */
  #placeOf(key: string): {
    readonly shard: RedisBackend['shards'][number];
    readonly wakeups: RedisBackend['wakeups'][number];
  } {
    const { shards, wakeups } = this.#backend;
    const index = shards.length === 1 ? 0 : keySlot(key) % shards.length;
    return { shard: shards[index]!, wakeups: wakeups[index]! };
  }
}

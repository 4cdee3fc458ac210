/**
 * A cache without Redis, in the memory of one process: what the scripts of a shard do, without round trips. Entries are kept
 * as the bytes that Redis would have, so codecs, limits and lifetimes are the same. The near tier above keeps values as objects.
 */
import type { Resolved } from '@mortise/redis';
import { ServerClock, WakeUp } from '@mortise/redis';
import { NearStore } from '../near/near-store.js';
import type { NearTier } from '../near/near-tier.js';
import type { CacheKeys } from '../keys.js';
import type {
  Backend,
  EntryStore,
  ExpireRequest,
  LeaseReply,
  LoadWakeups,
  StoreRequest,
} from './entry-store.js';
import type { NearOptions } from './options.js';

interface Lease {
  readonly token: string;
  /** When a pause ends, by `performance.now()`; undefined for the lease of a load. */
  readonly pausedUntil?: number;
}

/** The place of the ttl in a value, see envelope.ts, and the bytes that the store writes. */
const TTL_AT = 20;
const STAMP_BYTES = 16;
const SEEN_BYTES = 8;
/** Longer than any load. */
const TAG_MS = 3_600_000;

export class MemoryBackend implements Backend {
  readonly shards: readonly [MemoryShard];
  readonly wakeups: readonly LoadWakeups[];
  readonly #near: NearTier<unknown>;

  /** @param bounds Of the bytes, and of the near tier. */
  constructor(keys: CacheKeys, near: NearTier<unknown>, bounds: Resolved<NearOptions>) {
    this.#near = near;
    this.shards = [new MemoryShard(keys, near, bounds)];
    this.wakeups = [this.shards[0].wakeups];
    near.open();
  }

  start(): void {
    // There is nothing to connect.
  }

  async stop(): Promise<void> {
    this.shards[0].clear();
    this.#near.clear();
  }
}

class MemoryWakeups implements LoadWakeups {
  readonly channel = 'memory';
  readonly #waiting = new Map<string, Set<WakeUp>>();

  async listen(): Promise<boolean> {
    return true;
  }

  expect(redisKey: string): WakeUp {
    const wakeUp = new WakeUp();
    const waiting = this.#waiting.get(redisKey) ?? new Set();
    this.#waiting.set(redisKey, waiting.add(wakeUp));
    return wakeUp;
  }

  forget(redisKey: string, wakeUp: WakeUp): void {
    const waiting = this.#waiting.get(redisKey);
    if (waiting?.delete(wakeUp) && waiting.size === 0) this.#waiting.delete(redisKey);
  }

  wake(redisKey: string): void {
    for (const wakeUp of this.#waiting.get(redisKey) ?? []) wakeUp.wake();
  }
}

class MemoryShard implements EntryStore {
  readonly keys: CacheKeys;
  readonly clock = new ServerClock();
  readonly wakeups = new MemoryWakeups();
  readonly isClockDue = false;
  readonly #near: NearTier<unknown>;
  /** Values and versions of tags, by their keys of Redis. */
  readonly #stored: NearStore<Buffer>;
  /** By their keys of Redis. Pauses are in the order in which they end. */
  readonly #leases = new Map<string, Lease>();
  #lastToken = 0;

  constructor(keys: CacheKeys, near: NearTier<unknown>, bounds: Resolved<NearOptions>) {
    this.keys = keys;
    this.#near = near;
    this.#stored = new NearStore(bounds);
  }

  clear(): void {
    this.#stored.clear();
  }

  async sync(): Promise<void> {
    this.clock.learn(performance.now(), now());
  }

  async read(redisKeys: readonly string[]): Promise<(Buffer | null)[]> {
    await this.sync();
    return redisKeys.map((redisKey) => {
      const lease = this.#leases.get(redisKey);
      return lease ? Buffer.from(`${lease.token} `) : this.#get(redisKey);
    });
  }

  async requestLease(
    key: string,
    { seen, isServed }: { readonly seen: Buffer | undefined; readonly isServed: boolean },
    tags: readonly string[],
  ): Promise<LeaseReply> {
    const stored = this.#get(this.keys.value(key));
    const isNew = stored !== null && !(seen && startsAs(stored, seen));
    const lease = isNew ? undefined : this.#leaseOf(this.keys.lease(key));
    const isPaused = lease?.pausedUntil !== undefined;
    if (lease && !(isPaused && !isServed) && !this.#isOutdated(tags, lease.token)) {
      const ms = isPaused ? Math.max(1, lease.pausedUntil - performance.now()) : TAG_MS;
      return { do: 'wait', ms, holder: lease.token, isPaused };
    }
    if (isNew) return { do: 'take', value: stored };
    const token = String(this.#nextToken());
    this.#leases.set(this.keys.lease(key), { token });
    return { do: 'load', token };
  }

  async store({ key, token, keepMs, pauseMs, body, tags }: StoreRequest): Promise<boolean> {
    const lease = this.#leaseOf(this.keys.lease(key));
    const isOwn = token === '' || lease?.token === token;
    const stamp = token === '' ? this.#nextToken() : Number(token);
    const isStored = isOwn && keepMs > 0 && !this.#isOutdated(tags, String(stamp));
    if (isStored) {
      const value = Buffer.allocUnsafeSlow(STAMP_BYTES + body.length);
      value.writeDoubleBE(stamp, 0);
      value.writeDoubleBE(now(), SEEN_BYTES);
      body.copy(value, STAMP_BYTES);
      this.#keepTags(tags, keepMs, stamp);
      this.#put(this.keys.value(key), value, keepMs);
    }
    if (isOwn && lease) this.#endLease(key);
    if (isOwn && lease && !isStored && pauseMs > 0) this.#pause(key, lease.token, pauseMs);
    return isStored;
  }

  abandon(key: string, token: string, pauseMs: number): Promise<boolean> {
    return this.store({ key, token, pauseMs, keepMs: 0, body: Buffer.alloc(0), tags: [] });
  }

  async delete(key: string): Promise<boolean> {
    const redisKey = this.keys.value(key);
    const isThere = this.#get(redisKey) !== null;
    this.#remove(redisKey);
    this.#endLease(key);
    return isThere;
  }

  async expire({ key, seen, ttlMs, staleMs, tags }: ExpireRequest): Promise<boolean> {
    const redisKey = this.keys.value(key);
    const stored = this.#get(redisKey);
    if (stored === null || !startsAs(stored, seen)) return false;
    const keepMs = ttlMs + staleMs;
    if (keepMs === 0) {
      this.#remove(redisKey);
      return true;
    }
    // Readers may still use the bytes.
    const value = Buffer.from(stored);
    value.writeDoubleBE(now() - value.readDoubleBE(SEEN_BYTES) + ttlMs, TTL_AT);
    this.#keepTags(tags, keepMs, value.readDoubleBE(0));
    this.#put(redisKey, value, keepMs);
    return true;
  }

  async invalidate(tags: readonly string[]): Promise<void> {
    for (const tag of tags) this.#putVersion(this.keys.tag(tag), this.#nextToken(), TAG_MS);
  }

  async renew(): Promise<void> {
    // The leases of this process end with their loads.
  }

  #leaseOf(leaseKey: string): Lease | undefined {
    const lease = this.#leases.get(leaseKey);
    if (lease?.pausedUntil === undefined || performance.now() < lease.pausedUntil) return lease;
    this.#leases.delete(leaseKey);
    return undefined;
  }

  #endLease(key: string): void {
    if (this.#leases.delete(this.keys.lease(key))) this.wakeups.wake(this.keys.value(key));
  }

  #pause(key: string, token: string, pauseMs: number): void {
    this.#leases.set(this.keys.lease(key), { token, pausedUntil: performance.now() + pauseMs });
    // Pauses that have ended, of entries that nobody reads any more.
    for (const leaseKey of this.#leases.keys()) if (this.#leaseOf(leaseKey)?.pausedUntil) break;
  }

  #remove(redisKey: string): void {
    this.#stored.delete(redisKey);
    this.#near.onChanged(redisKey);
  }

  #isOutdated(tags: readonly string[], token: string): boolean {
    return tags.some((tag) => Number(this.#get(this.keys.tag(tag)) ?? 0) > Number(token));
  }

  /** A missing version gets that of the entry: without one the entry would count as invalidated. */
  #keepTags(tags: readonly string[], keepMs: number, stamp: number): void {
    for (const tag of tags) {
      const redisKey = this.keys.tag(tag);
      const version = this.#get(redisKey);
      const leftMs = version === null ? 0 : this.#leftMs(redisKey);
      if (leftMs < keepMs) this.#putVersion(redisKey, version === null ? stamp : Number(version), 2 * keepMs);
    }
  }

  #putVersion(redisKey: string, version: number, keepMs: number): void {
    this.#put(redisKey, Buffer.from(String(version)), Math.max(keepMs, this.#leftMs(redisKey)));
  }

  #leftMs(redisKey: string): number {
    const at = performance.now();
    return (this.#stored.get(redisKey, at)?.freshUntil ?? at) - at;
  }

  #get(redisKey: string): Buffer | null {
    return this.#stored.get(redisKey, performance.now())?.value ?? null;
  }

  #put(redisKey: string, value: Buffer, keepMs: number): void {
    const freshUntil = performance.now() + keepMs;
    const cell = { value, bytes: value.length, tags: [], seen: value, freshUntil, earlyFrom: Infinity };
    this.#stored.set(redisKey, { ...cell, loadMs: 0, isRead: false });
    this.#near.onChanged(redisKey);
  }

  /** As in Redis, above the clock in µs. */
  #nextToken(): number {
    this.#lastToken = Math.max(this.#lastToken + 1, now() * 1_000);
    return this.#lastToken;
  }
}

/** In whole ms since 1970, by a clock that nobody sets. */
function now(): number {
  return Math.floor(performance.timeOrigin + performance.now());
}

function startsAs(stored: Buffer, seen: Buffer): boolean {
  return stored.subarray(0, SEEN_BYTES).equals(seen.subarray(0, SEEN_BYTES));
}

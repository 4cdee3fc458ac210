/** One slot of a cache: what is sent to Redis for its entries. Calls of a tick share a round trip. */
import { Coalescer, WaiterHub } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import {
  cacheClaim,
  cacheDelete,
  cacheInvalidate,
  cacheRenew,
  cacheStore,
  cacheTime,
} from '../scripts.gen.js';
import type { CacheKeys } from './cache-keys.js';
import type { Guard } from './guard.js';
import { Reads } from './reads.js';
import type { TrackedReads } from './reads.js';
import { ServerClock } from './server-clock.js';

/** What a reader without a usable value has to do. */
export type Claim =
  | { readonly do: 'take'; readonly value: Buffer }
  | { readonly do: 'load'; readonly token: string }
  /** `holder`: the token of the lease that somebody has. */
  | { readonly do: 'wait'; readonly ms: number; readonly holder: string };

/** An entry to be stored, or the end of a lease. */
export interface StoreRequest {
  readonly key: string;
  /** Of the lease; '' stores whatever the lease. */
  readonly token: string;
  /** 0: nothing is stored. */
  readonly keepMs: number;
  /** For how long nobody who has a value to serve gets the lease when nothing is stored. */
  readonly restMs: number;
  readonly body: Buffer;
  readonly tags: readonly string[];
}

interface ClaimRequest {
  readonly key: string;
  readonly seen: Buffer;
  readonly isServed: boolean;
  readonly tags: readonly string[];
}

export interface ShardOptions {
  readonly leaseMs: number;
  readonly guard: Guard;
  readonly tracked: { readonly reads: TrackedReads; readonly guard: Guard } | undefined;
}

/** Entries in one script call: about 1 ms of the server. */
const MAX_BATCH = 250;
const MAX_BATCH_BYTES = 4_194_304;
/** Longer than any lease, so that a load which began before an invalidation finds it. */
const TAG_MS = 3_600_000;
/** By these a value is known again. */
const SEEN_BYTES = 8;
const NOTHING = Buffer.alloc(0);

export class Shard {
  readonly keys: CacheKeys;
  readonly clock = new ServerClock();
  readonly #redis: RedisClient;
  readonly #options: ShardOptions;
  readonly #publish: 'PUBLISH' | 'SPUBLISH';
  readonly #announces: 0 | 1;
  readonly #reads: Reads;
  readonly #claims: Coalescer<string, ClaimRequest, Claim>;
  readonly #stores: Coalescer<'stores', StoreRequest, boolean>;
  readonly #deletes: Coalescer<'deletes', string, boolean>;
  readonly #invalidations: Coalescer<'invalidations', string, true>;
  #syncing: Promise<void> | undefined;

  constructor(redis: RedisClient, keys: CacheKeys, options: ShardOptions) {
    this.#redis = redis;
    this.keys = keys;
    this.#options = options;
    this.#publish = WaiterHub.of(redis).publishCommand;
    this.#announces = redis.isCluster ? 1 : 0;
    this.#reads = new Reads(redis, options.guard, options.tracked);
    this.#claims = new Coalescer((channel, requests) => this.#sendClaims(channel, requests), {
      maxBatch: MAX_BATCH,
    });
    this.#stores = new Coalescer((_, requests) => this.#sendStores(requests), {
      maxBatch: MAX_BATCH,
      maxBytes: MAX_BATCH_BYTES,
      bytesOf: ({ body }) => body.length,
    });
    this.#deletes = new Coalescer((_, names) => this.#sendDeletes(names), { maxBatch: MAX_BATCH });
    this.#invalidations = new Coalescer((_, tags) => this.#sendInvalidations(tags), { maxBatch: MAX_BATCH });
  }

  /** The bytes of keys of Redis, all in one command with what others read in this tick. */
  read(redisKeys: readonly string[]): Promise<(Buffer | null)[]> {
    return this.#reads.read(redisKeys);
  }

  /**
   * @param seen The value that was not good enough, or its first bytes. @param isServed It is served meanwhile: where a load has just
   * failed, another can wait. @param tags That the value is known to get. @param channel Where a wake-up is heard, or ''.
   */
  claim(
    key: string,
    { seen, isServed }: { readonly seen: Buffer | undefined; readonly isServed: boolean },
    tags: readonly string[],
    channel: string,
  ): Promise<Claim> {
    return this.#claims.submit(channel, {
      key,
      tags,
      isServed,
      seen: seen?.subarray(0, SEEN_BYTES) ?? NOTHING,
    });
  }

  /** Returns whether it was stored. */
  store(request: StoreRequest): Promise<boolean> {
    return this.#stores.submit('stores', request);
  }

  /** Ends a lease without a value. */
  abandon(key: string, token: string, restMs: number): Promise<boolean> {
    return this.store({ key, token, restMs, keepMs: 0, body: NOTHING, tags: [] });
  }

  /** Returns whether there was a value. */
  delete(key: string): Promise<boolean> {
    return this.#deletes.submit('deletes', key);
  }

  async invalidate(tags: readonly string[]): Promise<void> {
    await this.#invalidations.submitAll('invalidations', tags);
  }

  async renew(leases: ReadonlyMap<string, string>): Promise<void> {
    const { guard, leaseMs } = this.#options;
    await guard.run(() =>
      cacheRenew.run(
        this.#redis,
        { leases: Array.from(leases.keys(), (key) => this.keys.lease(key)) },
        { leaseMs, tokens: [...leases.values()] },
      ),
    );
  }

  /** Waits until the server's time is known. */
  sync(): Promise<void> {
    this.#syncing ??= this.#askTime().finally(() => {
      this.#syncing = undefined;
    });
    return this.#syncing;
  }

  async #askTime(): Promise<void> {
    const sentAt = performance.now();
    const { guard } = this.#options;
    const now = await guard.run(() => cacheTime.run(this.#redis, { seq: this.keys.seq }, {}));
    this.clock.heard(now as number, sentAt);
  }

  #keysOf(key: string, tags: readonly string[]): string[] {
    const { keys } = this;
    return [keys.value(key), keys.lease(key), ...tags.map((tag) => keys.tag(tag))];
  }

  async #sendClaims(channel: string, requests: readonly ClaimRequest[]): Promise<Claim[]> {
    const { keys } = this;
    const { guard, leaseMs } = this.#options;
    const sentAt = performance.now();
    const parse = (reply: unknown): Claim[] => {
      const [now, ...answers] = reply as [number, ...(number | Buffer)[]];
      this.clock.heard(now, sentAt);
      return requests.map((_, index) => claimOf(answers[2 * index] as number, answers[2 * index + 1]!));
    };
    const reply = await guard.run(
      () =>
        cacheClaim.runBuffer(
          this.#redis,
          { seq: keys.seq, entries: requests.flatMap(({ key, tags }) => this.#keysOf(key, tags)) },
          {
            leaseMs,
            channel,
            entries: requests.flatMap(({ seen, isServed, tags }) => [seen, isServed ? 1 : 0, tags.length]),
          },
        ),
      // Nobody would use the leases.
      (late) => {
        for (const [index, claim] of parse(late).entries()) {
          if (claim.do === 'load') this.abandon(requests[index]!.key, claim.token, 0).catch(() => undefined);
        }
      },
    );
    return parse(reply);
  }

  async #sendStores(requests: readonly StoreRequest[]): Promise<boolean[]> {
    const { keys } = this;
    const sentAt = performance.now();
    const reply = await this.#options.guard.run(() =>
      cacheStore.run(
        this.#redis,
        {
          seq: keys.seq,
          changes: keys.changes,
          heard: keys.changed,
          entries: requests.flatMap(({ key, tags }) => this.#keysOf(key, tags)),
        },
        {
          publish: this.#publish,
          announces: this.#announces,
          entries: requests.flatMap(({ token, keepMs, restMs, body, tags }) => [
            token,
            keepMs,
            restMs,
            body,
            tags.length,
          ]),
        },
      ),
    );
    const [now, ...stored] = reply as [number, ...number[]];
    this.clock.heard(now, sentAt);
    return stored.map((one) => one === 1);
  }

  async #sendDeletes(names: readonly string[]): Promise<boolean[]> {
    const { keys } = this;
    const reply = await this.#options.guard.run(() =>
      cacheDelete.run(
        this.#redis,
        {
          changes: keys.changes,
          heard: keys.changed,
          entries: names.flatMap((key) => [keys.value(key), keys.lease(key)]),
        },
        { publish: this.#publish, announces: this.#announces },
      ),
    );
    return (reply as number[]).map((one) => one === 1);
  }

  async #sendInvalidations(tags: readonly string[]): Promise<true[]> {
    const { keys } = this;
    await this.#options.guard.run(() =>
      cacheInvalidate.run(
        this.#redis,
        {
          seq: keys.seq,
          changes: keys.changes,
          heard: keys.changed,
          tags: tags.map((tag) => keys.tag(tag)),
        },
        { publish: this.#publish, announces: this.#announces, keepMs: TAG_MS },
      ),
    );
    return tags.map(() => true);
  }
}

function claimOf(what: number, detail: number | Buffer): Claim {
  if (what === 1) return { do: 'take', value: detail as Buffer };
  if (what === 2) return { do: 'load', token: detail.toString() };
  const [ms, holder] = detail.toString().split(' ');
  return { do: 'wait', ms: Number(ms), holder: holder! };
}

/** One slot of a cache: the commands for its entries. Calls of a tick share a round trip. */
import { Coalescer, ServerClock, WaiterHub } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import {
  cacheLease,
  cacheDelete,
  cacheExpire,
  cacheInvalidate,
  cacheRenew,
  cacheStore,
  cacheTime,
} from '../scripts.gen.js';
import type { CacheKeys } from '../keys.js';
import { requestId } from '../request-id.js';
import type { EntryStore, ExpireRequest, LeaseOptions, LeaseReply, StoreRequest } from './entry-store.js';
import type { TimedCommands } from './timed-commands.js';
import { Reads } from './reads.js';
import type { TrackedReads } from './reads.js';

interface LeaseRequest {
  readonly key: string;
  readonly seen: Buffer;
  readonly isServed: boolean;
  readonly tags: readonly string[];
}

/** The requests that one script call can serve. */
type LeaseTerms = `${number} ${string}`;

export interface ShardOptions {
  readonly leaseMs: number;
  readonly commands: TimedCommands;
  readonly tracked: { readonly reads: TrackedReads; readonly commands: TimedCommands } | undefined;
}

/** Entries in one script call: about 1 ms of the server. */
const MAX_BATCH = 250;
const MAX_BATCH_BYTES = 4_194_304;
/** An older clock is renewed in the background by a read. */
const CLOCK_MS = 10_000;
/** Longer than any lease, so that a load that began before an invalidation finds its version. */
const TAG_MS = 3_600_000;
/** The length of the token, which tells one stored value from another. */
const SEEN_BYTES = 8;
const NOTHING = Buffer.alloc(0);

export class Shard implements EntryStore {
  readonly keys: CacheKeys;
  readonly clock = new ServerClock();
  readonly #redis: RedisClient;
  readonly #options: ShardOptions;
  readonly #publish: 'PUBLISH' | 'SPUBLISH';
  readonly #announces: 0 | 1;
  readonly #reads: Reads;
  readonly #leases: Coalescer<LeaseTerms, LeaseRequest, LeaseReply>;
  readonly #stores: Coalescer<'stores', StoreRequest, boolean>;
  readonly #deletes: Coalescer<'deletes', string, boolean>;
  readonly #expiries: Coalescer<'expiries', ExpireRequest, boolean>;
  readonly #invalidations: Coalescer<'invalidations', string, true>;
  #syncing: Promise<void> | undefined;

  constructor(redis: RedisClient, keys: CacheKeys, options: ShardOptions) {
    this.#redis = redis;
    this.keys = keys;
    this.#options = options;
    this.#publish = WaiterHub.of(redis).publishCommand;
    this.#announces = redis.isCluster ? 1 : 0;
    this.#reads = new Reads(redis, options.commands, options.tracked);
    this.#leases = new Coalescer((terms, requests) => this.#sendLeases(terms, requests), {
      maxBatch: MAX_BATCH,
    });
    this.#stores = new Coalescer((_, requests) => this.#sendStores(requests), {
      maxBatch: MAX_BATCH,
      maxBytes: MAX_BATCH_BYTES,
      bytesOf: ({ body }) => body.length,
    });
    this.#deletes = new Coalescer((_, names) => this.#sendDeletes(names), { maxBatch: MAX_BATCH });
    this.#expiries = new Coalescer((_, requests) => this.#sendExpiries(requests), { maxBatch: MAX_BATCH });
    this.#invalidations = new Coalescer((_, tags) => this.#sendInvalidations(tags), { maxBatch: MAX_BATCH });
  }

  /** In one command with all reads of this tick. */
  read(redisKeys: readonly string[]): Promise<(Buffer | null)[]> {
    return this.#reads.read(redisKeys);
  }

  requestLease(
    key: string,
    { seen, isServed, leaseMs = this.#options.leaseMs }: LeaseOptions,
    tags: readonly string[],
    channel: string,
  ): Promise<LeaseReply> {
    return this.#leases.submit(`${leaseMs} ${channel}`, {
      key,
      tags,
      isServed,
      seen: seen?.subarray(0, SEEN_BYTES) ?? NOTHING,
    });
  }

  store(request: StoreRequest): Promise<boolean> {
    return this.#stores.submit('stores', request);
  }

  abandon(key: string, token: string, pauseMs: number): Promise<boolean> {
    return this.store({ key, token, pauseMs, keepMs: 0, body: NOTHING, tags: [] });
  }

  delete(key: string): Promise<boolean> {
    return this.#deletes.submit('deletes', key);
  }

  expire(request: ExpireRequest): Promise<boolean> {
    return this.#expiries.submit('expiries', request);
  }

  async invalidate(tags: readonly string[]): Promise<void> {
    await this.#invalidations.submitAll('invalidations', tags);
  }

  async renew(leases: ReadonlyMap<string, string>): Promise<void> {
    const { commands, leaseMs } = this.#options;
    await commands.run(() =>
      cacheRenew.run(
        this.#redis,
        { leases: Array.from(leases.keys(), (key) => this.keys.lease(key)) },
        { leaseMs, tokens: [...leases.values()] },
      ),
    );
  }

  get isClockDue(): boolean {
    return performance.now() - this.clock.learnedAt > CLOCK_MS;
  }

  sync(): Promise<void> {
    this.#syncing ??= this.#askTime().finally(() => {
      this.#syncing = undefined;
    });
    return this.#syncing;
  }

  async #askTime(): Promise<void> {
    const sentAt = performance.now();
    const { commands } = this.#options;
    const now = await commands.run(() => cacheTime.run(this.#redis, { seq: this.keys.seq }, {}));
    this.clock.learn(sentAt, now as number);
  }

  #keysOf(key: string, tags: readonly string[]): string[] {
    const { keys } = this;
    return [keys.value(key), keys.lease(key), ...tags.map((tag) => keys.tag(tag))];
  }

  async #sendLeases(terms: LeaseTerms, requests: readonly LeaseRequest[]): Promise<LeaseReply[]> {
    const { keys } = this;
    const { commands } = this.#options;
    const at = terms.indexOf(' ');
    const leaseMs = terms.slice(0, at);
    const channel = terms.slice(at + 1);
    const sentAt = performance.now();
    const parse = (reply: unknown): LeaseReply[] => {
      const [now, ...answers] = reply as [number, ...(number | Buffer)[]];
      this.clock.learn(sentAt, now);
      return requests.map((_, index) => leaseReplyOf(answers[2 * index] as number, answers[2 * index + 1]!));
    };
    const reply = await commands.run(
      () =>
        cacheLease.runBuffer(
          this.#redis,
          { seq: keys.seq, entries: requests.flatMap(({ key, tags }) => this.#keysOf(key, tags)) },
          {
            leaseMs,
            channel,
            request: requestId(),
            entries: requests.flatMap(({ seen, isServed, tags }) => [seen, isServed ? 1 : 0, tags.length]),
          },
        ),
      // The callers have given up; release the leases, which would block others.
      (late) => {
        for (const [index, answer] of parse(late).entries()) {
          if (answer.do === 'load')
            this.abandon(requests[index]!.key, answer.token, 0).catch(() => undefined);
        }
      },
    );
    return parse(reply);
  }

  async #sendStores(requests: readonly StoreRequest[]): Promise<boolean[]> {
    const sentAt = performance.now();
    const reply = await this.#options.commands.run(() =>
      cacheStore.run(
        this.#redis,
        { ...this.keys, entries: requests.flatMap(({ key, tags }) => this.#keysOf(key, tags)) },
        {
          publish: this.#publish,
          announces: this.#announces,
          entries: requests.flatMap(({ token, keepMs, pauseMs, body, tags }) => [
            token,
            keepMs,
            pauseMs,
            body,
            tags.length,
          ]),
        },
      ),
    );
    const [now, ...stored] = reply as [number, ...number[]];
    this.clock.learn(sentAt, now);
    return stored.map((one) => one === 1);
  }

  async #sendDeletes(names: readonly string[]): Promise<boolean[]> {
    const { keys } = this;
    const reply = await this.#options.commands.run(() =>
      cacheDelete.run(
        this.#redis,
        { ...keys, entries: names.flatMap((key) => [keys.value(key), keys.lease(key)]) },
        { publish: this.#publish, announces: this.#announces },
      ),
    );
    return (reply as number[]).map((one) => one === 1);
  }

  async #sendExpiries(requests: readonly ExpireRequest[]): Promise<boolean[]> {
    const { keys } = this;
    const reply = await this.#options.commands.run(() =>
      cacheExpire.run(
        this.#redis,
        {
          ...keys,
          entries: requests.flatMap(({ key, tags }) => [
            keys.value(key),
            ...tags.map((tag) => keys.tag(tag)),
          ]),
        },
        {
          publish: this.#publish,
          announces: this.#announces,
          entries: requests.flatMap(({ seen, ttlMs, staleMs, tags }) => [
            seen.subarray(0, SEEN_BYTES),
            ttlMs,
            staleMs,
            tags.length,
          ]),
        },
      ),
    );
    return (reply as number[]).map((one) => one === 1);
  }

  async #sendInvalidations(tags: readonly string[]): Promise<true[]> {
    const { keys } = this;
    await this.#options.commands.run(() =>
      cacheInvalidate.run(
        this.#redis,
        { ...keys, tags: tags.map((tag) => keys.tag(tag)) },
        { publish: this.#publish, announces: this.#announces, keepMs: TAG_MS },
      ),
    );
    return tags.map(() => true);
  }
}

function leaseReplyOf(what: number, detail: number | Buffer): LeaseReply {
  if (what === 1) return { do: 'take', value: detail as Buffer };
  if (what === 2) return { do: 'load', token: detail.toString() };
  const [ms, holder, pause] = detail.toString().split(' ');
  return { do: 'wait', ms: Number(ms), holder: holder!, isPaused: pause !== undefined };
}

import { randomUUID } from 'node:crypto';
import type { RedisClient } from '@mortise/redis';
import type { CacheKeys } from '../keys.js';
import type { Coherence } from '../near/coherence.js';
import { ClientTracking } from '../near/client-tracking.js';
import { InvalidationMessages } from '../near/invalidation-messages.js';
import type { NearTier } from '../near/near-tier.js';
import { CircuitBreaker } from './circuit-breaker.js';
import type { Backend } from './entry-store.js';
import type { ResolvedCacheOptions } from './options.js';
import { Shard } from './shard.js';
import { TimedCommands } from './timed-commands.js';
import { Wakeups } from './wakeups.js';

type Limits = Pick<ResolvedCacheOptions<unknown>, 'leaseMs' | 'commandTimeoutMs' | 'reporter'>;

/** A cache in Redis, for all processes. */
export class RedisBackend implements Backend {
  readonly shards: readonly Shard[];
  readonly wakeups: readonly Wakeups[];
  readonly #redis: RedisClient;
  readonly #coherence: Coherence | undefined;
  readonly #onReady: () => void;
  /** Undefined before the first read and after `stop`. */
  #stopListening: readonly (() => void)[] | undefined;

  /** @param options.onReady Called when the client is connected again, perhaps to a different server. */
  constructor(
    redis: RedisClient,
    name: string,
    { leaseMs, commandTimeoutMs, reporter }: Limits,
    options: {
      readonly keys: readonly CacheKeys[];
      readonly near: NearTier<unknown> | undefined;
      readonly onReady: () => void;
    },
  ) {
    const { keys, near } = options;
    this.#redis = redis;
    this.#onReady = options.onReady;
    this.#coherence =
      near &&
      (redis.isCluster
        ? new InvalidationMessages(redis, near, name, keys, reporter)
        : new ClientTracking(redis, near, name, reporter));
    const commands = new TimedCommands(redis, name, commandTimeoutMs);
    // If the tracked connection does not answer, the client reads within the same total time.
    const tracked = this.#coherence && {
      reads: this.#coherence,
      commands: new TimedCommands(redis, name, commandTimeoutMs / 2),
    };
    const process = randomUUID();
    this.shards = keys.map((ofShard) => new Shard(redis, ofShard, { leaseMs, commands, tracked }));
    this.wakeups = keys.map((ofShard) => new Wakeups(redis, ofShard.loaded(process)));
  }

  start(): void {
    if (this.#stopListening === undefined) this.#listen();
    this.#coherence?.start();
  }

  async stop(): Promise<void> {
    for (const stop of this.#stopListening ?? []) stop();
    this.#stopListening = undefined;
    for (const { clock } of this.shards) clock.forget();
    for (const wakeups of this.wakeups) wakeups.stop();
    await this.#coherence?.stop();
  }

  #listen(): void {
    const breaker = CircuitBreaker.of(this.#redis);
    this.#stopListening = [
      breaker.onReady(() => {
        // The server may be a different one with another clock.
        for (const { clock } of this.shards) clock.forget();
        this.#onReady();
      }),
      // Otherwise connections and timers of the near tier keep the process alive after its client was closed.
      breaker.onClosed(() => void this.#coherence?.stop()),
    ];
  }
}

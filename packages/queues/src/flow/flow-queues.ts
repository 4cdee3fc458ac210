/** The queues of all flows of one client and prefix, each opened once. */
import type { Codecs, RedisClient } from '@mortise/redis';
import { callRedis } from '@mortise/redis';
import { DEFAULTS } from '../options.js';
import { Enqueuer } from '../enqueue/enqueuer.js';
import type { Shard } from '../shard/shard.js';
import { Shards } from '../shard/shards.js';

interface Reached {
  readonly shards: Shards;
  readonly enqueuer: Enqueuer;
}

export class FlowQueues {
  readonly #redis: RedisClient;
  readonly #prefix: string | undefined;
  readonly #maxPayloadBytes: number;
  readonly #codecs: Codecs | undefined;
  readonly #reached = new Map<string, Reached>();

  constructor(
    redis: RedisClient,
    prefix: string | undefined,
    maxPayloadBytes: number = DEFAULTS.maxPayloadBytes,
    codecs?: Codecs,
  ) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#maxPayloadBytes = maxPayloadBytes;
    this.#codecs = codecs;
  }

  /** Uses the parts of an existing `Queue`, with its options. */
  adopt(queue: string, shards: Shards, enqueuer: Enqueuer): void {
    this.#reached.set(queue, { shards, enqueuer });
  }

  enqueuer(queue: string): Enqueuer {
    return this.#reach(queue).enqueuer;
  }

  shards(queue: string): Shards {
    return this.#reach(queue).shards;
  }

  /** Whether the queue has settings, or parents. A round trip or two where none were seen before. */
  async exists(queue: string): Promise<boolean> {
    const { first } = this.#reach(queue).shards;
    if (!first.settings.isStored) await first.settings.learn(this.#redis);
    return first.settings.isStored || (await callRedis(this.#redis, 'exists', [first.keys.of.flows])) === 1;
  }

  /** The shard of an id and group, with optional features enabled. */
  async shardOf(queue: string, storedId: Buffer, group: string | undefined): Promise<Shard> {
    const shard = await this.#reach(queue).shards.locate({ storedId, group });
    await shard.enableOptional();
    return shard;
  }

  /** The tasks that lie in the same shard as that id and group. */
  async near<Placed extends { readonly storedId: Buffer | undefined; readonly group: string | undefined }>(
    queue: string,
    storedId: Buffer,
    group: string | undefined,
    others: readonly Placed[],
  ): Promise<Placed[]> {
    const { shards } = this.#reach(queue);
    const home = await shards.locate({ storedId, group });
    const located = await Promise.all(
      others.map((other) => shards.locate({ storedId: other.storedId!, group: other.group })),
    );
    return others.filter((_, index) => located[index] === home);
  }

  #reach(queue: string): Reached {
    let reached = this.#reached.get(queue);
    if (!reached) {
      const shards = new Shards(this.#redis, queue, this.#prefix, {}, this.#codecs);
      const enqueuer = new Enqueuer(this.#redis, queue, shards, this.#maxPayloadBytes);
      reached = { shards, enqueuer };
      this.#reached.set(queue, reached);
    }
    return reached;
  }
}

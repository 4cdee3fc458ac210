/** The queues that the flows of one client and prefix reach, each opened once. */
import type { RedisClient } from '@mortise/redis';
import { keySlot } from '@mortise/redis';
import { DEFAULTS } from '../options.js';
import { Enqueuer } from '../queue/enqueuer.js';
import type { Shard } from '../shard/shard.js';
import { Shards } from '../shard/shards.js';

interface Reached {
  readonly shards: Shards;
  readonly enqueuer: Enqueuer;
}

export class FlowQueues {
  readonly #redis: RedisClient;
  readonly #prefix: string | undefined;
  readonly #reached = new Map<string, Reached>();

  constructor(redis: RedisClient, prefix: string | undefined) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  /** Uses what a `Queue` has already, with the options that it was given. */
  adopt(queue: string, shards: Shards, enqueuer: Enqueuer): void {
    this.#reached.set(queue, { shards, enqueuer });
  }

  enqueuer(queue: string): Enqueuer {
    return this.#reach(queue).enqueuer;
  }

  shards(queue: string): Shards {
    return this.#reach(queue).shards;
  }

  /** Where a task of that id and group lies, ready for what is beyond the core. */
  async shardOf(queue: string, storedId: Buffer, group: string | undefined): Promise<Shard> {
    const { shards } = this.#reach(queue);
    const all = await shards.open();
    const index = group === undefined ? shards.indexOf(storedId, all.length) : keySlot(group) % all.length;
    const shard = all[index]!;
    await shard.extend();
    return shard;
  }

  #reach(queue: string): Reached {
    let reached = this.#reached.get(queue);
    if (!reached) {
      const shards = new Shards(this.#redis, queue, this.#prefix);
      const enqueuer = new Enqueuer(this.#redis, queue, shards, DEFAULTS.maxPayloadBytes);
      reached = { shards, enqueuer };
      this.#reached.set(queue, reached);
    }
    return reached;
  }
}

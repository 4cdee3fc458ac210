/** The ids of jobs are numbers, as those of BullMQ. A process reserves a block of them, so most jobs cost no round trip for it. */
import type { RedisClient } from '@mortise/redis';
import { layerIds } from '../scripts.gen.js';

const SIZE = 64;

export class IdBlock {
  #next = 1;
  #last = 0;
  #reserving: Promise<void> | undefined;

  async next(redis: RedisClient, layerMeta: string): Promise<string> {
    while (this.#next > this.#last) {
      this.#reserving ??= this.#reserve(redis, layerMeta).finally(() => {
        this.#reserving = undefined;
      });
      await this.#reserving;
    }
    this.#next += 1;
    return String(this.#next - 1);
  }

  async #reserve(redis: RedisClient, layerMeta: string): Promise<void> {
    this.#last = Number(await layerIds.run(redis, { layerMeta }, { count: SIZE }));
    this.#next = this.#last - SIZE + 1;
  }
}

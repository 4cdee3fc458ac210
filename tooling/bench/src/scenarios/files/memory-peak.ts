import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { usedBytes } from '../../used-bytes.js';

const LOOK_EVERY_MS = 1;

/** The most memory that Redis uses while it is looked at: Redis itself looks ten times a second only. */
export class MemoryPeak {
  #bytes = 0;
  #isLooking = true;
  readonly #looking: Promise<void>;

  constructor(redis: Redis) {
    this.#looking = (async () => {
      while (this.#isLooking) {
        this.#bytes = Math.max(this.#bytes, await usedBytes(redis));
        await sleep(LOOK_EVERY_MS);
      }
    })();
    this.#looking.catch(() => undefined);
  }

  /** Looks no more. */
  async stop(): Promise<number> {
    this.#isLooking = false;
    await this.#looking;
    return this.#bytes;
  }
}

/** The most since the start of the server, at one of ten looks each second. */
export async function peakBytes(redis: Redis): Promise<number> {
  return Number(/^used_memory_peak:(\d+)/m.exec(await redis.info('memory'))![1]);
}

import { Inject, Injectable } from '@nestjs/common';
import type { MutexState } from '@mortise/locks';
import { Mutex } from '@mortise/locks';
import type { RedisClient } from '@mortise/redis';

import type { Config } from '../config.js';
import { CONFIG, REDIS } from '../tokens.js';
import type { Lendable } from './remote-leases.js';

/** The locks of @mortise/locks under the prefix of the API: programs that use the package share them. */
@Injectable()
export class RemoteLocks {
  readonly #redis: RedisClient;
  readonly #prefix: string;

  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  lendable(name: string, leaseMs?: number): Lendable {
    const mutex = this.#mutex(name, leaseMs);
    return {
      kind: 'lock',
      name,
      acquire: (options) => mutex.acquire(options),
      tryAcquire: () => mutex.tryAcquire(),
      renewFor: (holder, termMs, token) => mutex.renewFor(holder, termMs, token),
      releaseFor: (holder) => mutex.releaseFor(holder),
      obstacle: async () => ({ remainingMs: (await mutex.inspect()).remainingMs }),
    };
  }

  /** Takes the lock away from whoever holds it. Gives whether somebody did. One round trip. */
  forceRelease(name: string): Promise<boolean> {
    return this.#mutex(name).forceRelease();
  }

  /** The state of the lock. One round trip. */
  inspect(name: string): Promise<MutexState> {
    return this.#mutex(name).inspect();
  }

  #mutex(name: string, leaseMs?: number): Mutex {
    const lease = leaseMs === undefined ? {} : { leaseMs };
    return new Mutex(this.#redis, name, { prefix: this.#prefix, renew: false, ...lease });
  }
}

import type { RedisClient } from '@mortise/redis';
import { ArgumentTypeError, requireClient, requireName } from '@mortise/redis';
import { withDefaults } from '@mortise/redis/nestjs';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import { Claims } from '../claims/claims.js';
import type { ClaimsOptions } from '../claims/options.js';
import type { QueueOptions } from '../options.js';
import { Queue } from '../queue.js';
import type { Worker } from '../work/worker.js';
import type { QueuesModuleOptions } from './options.js';

/** Options that the module gives to all its queues, claims and workers. */
type Common = Pick<QueueOptions, 'prefix' | 'telemetry'>;

/**
 * Makes queues and claims with the client, the prefix and the telemetry of a `QueuesModule`. Claims stop at the shutdown.
 */
export class Queues implements BeforeApplicationShutdown {
  readonly redis: RedisClient;
  /** The workers that the module runs, from `onApplicationBootstrap` on; for probes. */
  workers: readonly Worker[] = [];
  readonly #common: Common;
  readonly #claims: Claims[] = [];

  /** @param module The name of the module. */
  constructor(
    redis: RedisClient,
    { prefix, telemetry }: Pick<QueuesModuleOptions, keyof Common>,
    readonly module: string,
  ) {
    this.redis = requireClient(redis);
    if (prefix !== undefined) requireName('prefix', prefix);
    this.#common = withDefaults<Common>({ prefix, telemetry }, undefined);
  }

  /** Makes a `Queue`. You need not close it. */
  queue(name: string, options: Omit<QueueOptions, keyof Common> = {}): Queue {
    return new Queue(this.redis, name, this.ownOptions('Queue', options));
  }

  /** Makes `Claims`. The application stops them at its shutdown. */
  claims(queue: string, options: Omit<ClaimsOptions, keyof Common> = {}): Claims {
    const claims = new Claims(this.redis, queue, this.ownOptions('Claims', options));
    this.#claims.push(claims);
    return claims;
  }

  /**
   * The options with those of the module. They may not name these themselves: a worker serves all queues of its module under one
   * prefix.
   */
  ownOptions<Options extends object>(label: string, options: Options): Options & Common {
    for (const option of ['prefix', 'telemetry']) {
      if (option in options) throw new ArgumentTypeError(`${label}: ${option} is an option of forRoot`);
    }
    return { ...options, ...this.#common };
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.#claims.map((claims) => claims.stop()));
  }
}

import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { Global, Inject, Module } from '@nestjs/common';
import type { RedisClient } from '@mortise/redis';
import type { Logger } from 'pino';

import type { Config } from '../config.js';
import { CONFIG, LOG, REDIS } from '../tokens.js';
import { connect } from './connect.js';

/** How long the boot waits for Redis. Without Redis the API starts too, and reports that it isn't ready. */
const BOOT_WAIT_MS = 1_000;

@Global()
@Module({
  providers: [{ provide: REDIS, inject: [CONFIG], useFactory: (config: Config) => connect(config) }],
  exports: [REDIS],
})
export class RedisModule implements OnModuleInit, OnApplicationShutdown {
  #isKnownDown = false;

  constructor(
    @Inject(REDIS) private readonly redis: RedisClient,
    @Inject(LOG) private readonly log: Logger,
  ) {
    redis.on('error', (err: Error) => {
      if (!this.#isKnownDown) log.warn({ err }, 'redis is unavailable');
      this.#isKnownDown = true;
    });
    redis.on('ready', () => {
      if (this.#isKnownDown) log.info('redis is available again');
      this.#isKnownDown = false;
    });
  }

  async onModuleInit(): Promise<void> {
    if (this.redis.status === 'ready') return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, BOOT_WAIT_MS);
      this.redis.on('ready', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Runs after the last request is answered. */
  onApplicationShutdown(): void {
    this.redis.disconnect();
    this.log.debug('redis is closed');
  }
}

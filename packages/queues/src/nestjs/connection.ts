import type { RedisClient, Telemetry } from '@mortise/redis';
import { ArgumentTypeError, requireClient } from '@mortise/redis';
import type { OnApplicationShutdown } from '@nestjs/common';
import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { QueuesModuleOptions } from './options.js';

/** What the queues and workers of the module share. A client of its own is closed after the workers have ended. */
export class Connection implements OnApplicationShutdown {
  readonly redis: RedisClient;
  readonly prefix: string | undefined;
  readonly telemetry: Telemetry | undefined;
  readonly #own: Redis | undefined;

  private constructor({ redis, prefix, telemetry }: QueuesModuleOptions, own: Redis | undefined) {
    this.redis = requireClient(own ?? redis!);
    this.prefix = prefix;
    this.telemetry = telemetry;
    this.#own = own;
  }

  static async open(options: QueuesModuleOptions): Promise<Connection> {
    const { redis, url } = options;
    if ((redis === undefined) === (url === undefined))
      throw new ArgumentTypeError('one of redis and url must be given');
    return new Connection(options, url === undefined ? undefined : await connect(url));
  }

  onApplicationShutdown(): void {
    if (this.#own && this.#own.status !== 'end') this.#own.disconnect();
  }
}

/** A client that connects when it is first used, and whose commands wait for as long as Redis is away. */
async function connect(url: string): Promise<Redis> {
  // Whoever gives a client may have another ioredis than this package finds.
  const ioredis = await import('ioredis');
  const redis = new ioredis.Redis(url, { maxRetriesPerRequest: null, lazyConnect: true });
  const log = new Logger('QueuesModule');
  let told: string | undefined;
  redis.on('ready', () => {
    told = undefined;
  });
  // One for each try to connect again; what is told is what is new.
  redis.on('error', ({ message }: Error) => {
    if (message !== told) log.warn(`redis: ${message}`);
    told = message;
  });
  return redis;
}

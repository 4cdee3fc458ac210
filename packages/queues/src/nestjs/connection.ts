import type { RedisClient, Telemetry } from '@mortise/redis';
import { ArgumentTypeError, requireClient } from '@mortise/redis';
import { withDefaults } from '@mortise/redis/nestjs';
import type { BeforeApplicationShutdown, OnApplicationShutdown } from '@nestjs/common';
import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Claims } from '../claims/claims.js';
import type { ClaimsOptions } from '../claims/options.js';
import type { QueuesModuleOptions } from './options.js';

/** The token of the connection of a module. */
export function connectionToken(module: string | undefined): string {
  return `connection of QueuesModule.forRoot${module === undefined ? '' : ` ${JSON.stringify(module)}`}`;
}

/**
 * The client of a module, and the options that queues, claims and workers share. A client of its own is closed after the
 * workers stop.
 */
export class Connection implements BeforeApplicationShutdown, OnApplicationShutdown {
  readonly redis: RedisClient;
  readonly common: { readonly prefix?: string; readonly telemetry?: Telemetry };
  readonly #own: Redis | undefined;
  readonly #claims: Claims[] = [];

  private constructor({ redis, prefix, telemetry }: QueuesModuleOptions, own: Redis | undefined) {
    this.redis = requireClient(own ?? redis!);
    this.common = withDefaults<Connection['common']>({ prefix, telemetry }, undefined);
    this.#own = own;
  }

  static async open(options: QueuesModuleOptions): Promise<Connection> {
    const { redis, url } = options;
    if ((redis === undefined) === (url === undefined))
      throw new ArgumentTypeError('one of redis and url must be given');
    return new Connection(options, url === undefined ? undefined : await connect(url));
  }

  /** Claims that the application stops at its shutdown. */
  claims(queue: string, options: Omit<ClaimsOptions, 'prefix'>): Claims {
    const { prefix } = this.common;
    const claims = new Claims(this.redis, queue, { ...options, ...(prefix !== undefined && { prefix }) });
    this.#claims.push(claims);
    return claims;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.#claims.map((claims) => claims.stop()));
  }

  onApplicationShutdown(): void {
    if (this.#own && this.#own.status !== 'end') this.#own.disconnect();
  }
}

/** A client that connects at its first command. Its commands wait while Redis is away. */
async function connect(url: string): Promise<Redis> {
  // Imported here, since an application that passes a client may use another version of ioredis.
  const ioredis = await import('ioredis');
  const redis = new ioredis.Redis(url, { maxRetriesPerRequest: null, lazyConnect: true });
  const log = new Logger('QueuesModule');
  let logged: string | undefined;
  redis.on('ready', () => {
    logged = undefined;
  });
  // Each failed reconnection emits an error; only a new message is logged.
  redis.on('error', ({ message }: Error) => {
    if (message !== logged) log.warn(`redis: ${message}`);
    logged = message;
  });
  return redis;
}

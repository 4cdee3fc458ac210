/** The client of a queue, a worker or a flow producer: that of the caller, or one of its own for options. */
import type { RedisClient } from '@mortise/redis';
import type { RedisOptions } from 'ioredis';
import { Redis } from 'ioredis';
import type { ConnectionOptions } from './types.js';

export interface Connection {
  readonly redis: RedisClient;
  readonly isOwn: boolean;
}

const CLOSE_MS = 500;
// The options of the caller may be those of another version of ioredis.
const make = (...args: unknown[]): Redis => Reflect.construct(Redis, args) as Redis;

export function connect(given: ConnectionOptions | undefined, onError: (error: Error) => void): Connection {
  if (isClient(given)) return { redis: given, isOwn: false };
  const { url, ...options } = (given ?? {}) as RedisOptions & { readonly url?: string };
  const merged = { maxRetriesPerRequest: null, ...options };
  const redis = url === undefined ? make(merged) : make(url, merged);
  redis.on('error', onError);
  return { redis, isOwn: true };
}

export async function disconnect({ redis, isOwn }: Connection): Promise<void> {
  if (!isOwn) return;
  const client = redis as Redis;
  if (client.status === 'ready') {
    await Promise.race([
      client.quit().catch(() => undefined),
      new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref()),
    ]);
  }
  client.disconnect();
}

function isClient(given: unknown): given is RedisClient {
  return typeof (given as { duplicate?: unknown } | undefined)?.duplicate === 'function';
}

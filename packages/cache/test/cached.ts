import { afterEach } from '@jest/globals';
import { Cache } from '../src/read-through/cache.js';
import type { CacheOptions } from '../src/read-through/options.js';
import { freshPrefix, gate, until } from '@mortise/test-kit';
import type { Gate } from '@mortise/test-kit';
import type { Cluster, Redis } from 'ioredis';

const open = new Set<{ stop(): Promise<void> }>();

afterEach(async () => {
  await Promise.all([...open].map((cache) => cache.stop()));
  open.clear();
});

/** A cache under a prefix of its own; stopped when the test is over. Time plays no part unless a test wants it to. */
export function pagesOf<Value = unknown>(
  redis: Redis | Cluster,
  options: CacheOptions<Value> = {},
): { cache: Cache<Value>; prefix: string; errors: unknown[] } {
  const prefix = options.prefix ?? freshPrefix();
  const errors: unknown[] = [];
  const cache = new Cache<Value>(redis, 'pages', {
    jitter: 0,
    earlyRefresh: 0,
    commandTimeoutMs: 20_000,
    onError: (error) => errors.push(error),
    ...options,
    prefix,
  });
  open.add(cache);
  return { cache, prefix, errors };
}

/** A loader that counts its calls, and waits for each until the test lets it go. */
export class GatedLoader<Value> {
  readonly calls: Gate<Value>[] = [];

  readonly load = (): Promise<Value> => {
    const call = gate<Value>();
    this.calls.push(call);
    return call.passed;
  };

  /** The call of that number, from 0, once it was made. */
  call(index: number): Promise<Gate<Value>> {
    return until(`call ${index} of the loader`, () => this.calls[index]);
  }
}

/** Until the server knows that somebody waits for a load. */
export async function waiting(redis: Redis, prefix: string, key: string): Promise<void> {
  await until('a reader that waits', async () => {
    const lease = await redis.get(`${prefix}:cache:{pages}:lease:${key}`);
    return (lease?.split('\n').length ?? 0) > 2;
  });
}

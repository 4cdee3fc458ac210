import type { Redis } from 'ioredis';

/**
 * Resolves when what the client has begun has come to rest: a connection answers in order, and no call here needs more
 * than five round trips one after the other.
 */
export async function roundTrips(redis: Redis): Promise<void> {
  for (let index = 0; index < 6; index += 1) await redis.ping();
}

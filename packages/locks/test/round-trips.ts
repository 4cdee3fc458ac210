import type { Redis } from 'ioredis';

/**
 * Resolves when the calls of the client have ended: a connection replies in order, and no call here needs more than five
 * round trips in sequence.
 */
export async function roundTrips(redis: Redis): Promise<void> {
  for (let index = 0; index < 6; index += 1) await redis.ping();
}

/** The running workers of a prefix, in one sorted set. Rejected: a set for each queue, since a worker of several would count several times. */
import type { RedisClient } from '@mortise/redis';

import { workersKey } from '../keys.js';
import { runningWorkersRegister } from '../scripts.gen.js';

/** Counts the worker for this time; 0: it has stopped. Resolves to the number of workers. One round trip. */
export async function registerWorker(
  redis: RedisClient,
  prefix: string | undefined,
  worker: string,
  liveMs: number,
): Promise<number> {
  const keys = { workers: workersKey(prefix) };
  return (await runningWorkersRegister.run(redis, keys, { worker, liveMs })) as number;
}

/** The number of running workers. One round trip. */
export function countWorkers(redis: RedisClient, prefix: string | undefined): Promise<number> {
  return registerWorker(redis, prefix, '', 0);
}

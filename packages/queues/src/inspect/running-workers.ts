import type { RedisClient } from '@mortise/redis';
import { requireClient } from '@mortise/redis';

import type { PrefixOptions } from '../shard/queue-names.js';
import { resolvePrefix } from '../shard/queue-names.js';
import { countWorkers } from '../shard/running-workers.js';

/**
 * How many `Worker`s of the prefix (default `mortise`) run, in all processes. One that stops is gone at once, one that has died after 150 s.
 * Programs that take tasks by `Claims` or over HTTP are not counted. One round trip, O(log n). Throws ERR_INVALID_ARG.
 */
export async function runningWorkers(redis: RedisClient, options: PrefixOptions = {}): Promise<number> {
  return countWorkers(requireClient(redis), resolvePrefix('runningWorkers', options));
}

/** Changes of the stored settings of a queue, in all its shards. */
import type { RedisClient } from '@mortise/redis';
import type { ConfigureOptions, QueueLimits } from './queue-limits.js';
import { resolveConfigure, resolveLimits } from './queue-limits.js';
import { queueNames, registerName } from '../shard/queue-names.js';
import { Shards } from '../shard/shards.js';

const QUEUES_AT_A_TIME = 16;

export async function configure(
  shards: Shards,
  limits: QueueLimits,
  options: ConfigureOptions,
): Promise<void> {
  const { check } = resolveConfigure(options);
  const { first } = shards;
  resolveLimits(first.settings.values, limits);
  if (check) {
    await first.settings.learn(first.redis);
    await first.configure((values) => {
      check(values);
      return resolveLimits(values, limits);
    });
  }
  await registerName(first.redis, first.prefix, first.queue);
  await shards.each(async (shard) => {
    await shard.configure((values) => resolveLimits(values, limits));
    // Even without a change: an earlier process may have died before this step.
    if (limits.groups !== undefined) await shard.regroup();
  });
}

export async function setPaused(shards: Shards, isPaused: boolean): Promise<void> {
  await shards.each((shard) => shard.configure((values) => ({ ...values, isPaused })));
}

/** Pauses or resumes every queue of a prefix, 16 at a time. Resolves to their names. */
export async function setAllPaused(
  redis: RedisClient,
  prefix: string | undefined,
  isPaused: boolean,
): Promise<string[]> {
  const names = await queueNames(redis, prefix);
  // All loops share one iterator.
  const left = names.values();
  const loops = Array.from({ length: QUEUES_AT_A_TIME }, async () => {
    for (const name of left) await setPaused(new Shards(redis, name, prefix), isPaused);
  });
  await Promise.all(loops);
  return names;
}

/**
 * Changes the number of shards of a queue while producers and workers run. No task moves: see `Shards`.
 *
 *   1. New shards get the settings of the queue, with the new number. No process uses these shards yet.
 *   2. Shard 0 gets the new number, if its settings are still those that step 1 read. From here on the change is valid.
 *   3. All other shards get the new number. If this process dies here, the next process that reads shard 0 completes the step.
 */
import { ArgumentRangeError, requireInteger } from '@mortise/redis';
import { MAX_SHARDS } from '../limits.js';
import { registerName } from '../shard/queue-names.js';
import type { SettingsValues } from '../shard/settings-text.js';
import { Shard } from '../shard/shard.js';
import type { Shards } from '../shard/shards.js';
import { requireShares } from './queue-limits.js';

/** Each of them costs one more call for a task with an id or a group. */
const MOST_EARLIER = 3;

/** Resolves to whether the number has changed. Rejects with ERR_INVALID_ARG: see `Queue.reshard`. */
export async function reshard(shards: Shards, count: number): Promise<boolean> {
  requireInteger('shards', count, { min: 1, max: MAX_SHARDS });
  await shards.open();
  const { redis, queue, prefix, codecs, settings } = shards.first;
  await registerName(redis, prefix, queue);
  for (;;) {
    await settings.learn(redis);
    const seen = settings.values;
    if (seen.shards === count) break;
    const wanted = requireShares(withShards(seen, count));
    for (let index = seen.servedShards; index < wanted.servedShards; index += 1) {
      const shard = new Shard(redis, queue, prefix, index, {}, codecs);
      await shard.configure(() => wanted);
    }
    let isDone = true;
    await shards.first.configure((values) => {
      isDone = values === seen;
      return isDone ? wanted : values;
    });
    if (!isDone) continue;
    await shards.open();
    return true;
  }
  // An earlier call may have died after step 2.
  await shards.open();
  return false;
}

function withShards(values: SettingsValues, shards: number): SettingsValues {
  if (values.isRanked) throw new ArgumentRangeError('shards must be 1 for a queue of the BullMQ layer');
  const earlierShards = [...values.earlierShards, values.shards].filter((count) => count !== shards);
  const numbers = [...new Set(earlierShards)];
  if (numbers.length > MOST_EARLIER) {
    const most = `${MOST_EARLIER} earlier numbers of shards at most, which are ${values.earlierShards.join(', ')}`;
    throw new ArgumentRangeError(`shards must be one of the numbers so far: the queue has ${most}`);
  }
  const servedShards = Math.max(values.servedShards, shards);
  return { ...values, shards, servedShards, earlierShards: numbers, reshardings: values.reshardings + 1 };
}

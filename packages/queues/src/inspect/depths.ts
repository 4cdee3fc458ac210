/** How deep a queue is for each priority, and when its delayed tasks become due. */
import type { RedisClient } from '@mortise/redis';
import { requireClient, requireName } from '@mortise/redis';

import { queueDepths } from '../scripts.gen.js';
import type { PrefixOptions } from '../shard/queue-names.js';
import { resolvePrefix } from '../shard/queue-names.js';
import type { Shard } from '../shard/shard.js';
import { Shards } from '../shard/shards.js';

export interface PriorityDepth {
  readonly priority: string;
  /** Ready tasks of this priority, without those in groups. */
  readonly ready: number;
  readonly scheduled: number;
  readonly retrying: number;
}

/** Scheduled and retrying tasks that become due in a span of time. */
export interface DueSpan {
  /**
   * The end of the span, ms from the instant of the call. A span begins where the span before it ends. Null for a span without
   * an end.
   */
  readonly withinMs: number | null;
  readonly tasks: number;
}

export interface QueueDepths {
  /** The most urgent priority first. A queue has 16 at most. */
  readonly priorities: readonly PriorityDepth[];
  /** Ready tasks in groups, of all priorities. */
  readonly inGroups: number;
  /** The spans end after a minute, 5 minutes, 15 minutes, an hour and a day; the last one has no end. */
  readonly due: readonly DueSpan[];
}

const MINUTE_MS = 60_000;
const SPANS_MS = [1, 5, 15, 60, 1_440].map((minutes) => minutes * MINUTE_MS);
const MAX_TRIES = 5;

/**
 * Counts the waiting tasks of a queue by priority, and by the time at which they become due. A queue that does not exist has
 * none. Exact for each shard at one instant. Two round trips, read-only; O(log n) for each priority and span. Throws
 * ERR_INVALID_ARG.
 */
export async function queueDepthsOf(
  redis: RedisClient,
  name: string,
  options: PrefixOptions = {},
): Promise<QueueDepths> {
  const prefix = resolvePrefix('queueDepthsOf', options);
  const shards = await new Shards(requireClient(redis), requireName('name', name), prefix).open();
  const replies = await Promise.all(shards.map((shard) => read(shard)));
  const sumAt = (place: number): number => replies.reduce((sum, reply) => sum + (reply[place] ?? 0), 0);
  const { priorities } = shards[0]!.settings.values;
  const firstSpan = 1 + 3 * priorities.length;
  return {
    priorities: priorities.map((priority, index) => ({
      priority,
      ready: sumAt(1 + 3 * index),
      scheduled: sumAt(2 + 3 * index),
      retrying: sumAt(3 + 3 * index),
    })),
    inGroups: sumAt(0),
    due: [...SPANS_MS, null].map((withinMs, index) => ({ withinMs, tasks: sumAt(firstSpan + index) })),
  };
}

/** Empty for a shard whose settings change all the time. */
async function read({ redis, keys, settings }: Shard): Promise<readonly number[]> {
  const { settings: stored, tombstones, grouped } = keys.of;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const reply = await queueDepths.run(
      redis,
      { settings: stored, tombstones, grouped, priorityKeys: settings.priorityKeys },
      { expectedSettings: settings.text, withinMs: SPANS_MS },
    );
    if (typeof reply !== 'string') return reply as number[];
    await settings.learn(redis);
  }
  return [];
}

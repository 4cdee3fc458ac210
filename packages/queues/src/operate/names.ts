/**
 * The names of all queues of a prefix. A producer writes the name of its queue before its first task, so a queue that has
 * tasks is known; names stay when a queue is empty. They stand in one set, in a slot of its own.
 */
import type { RedisClient } from '@mortise/redis';
import { decodeName, encodeName } from '@mortise/redis';
import { namesKey } from '../keys.js';
import { requireOptions } from '../require-known.js';

const OPTIONS = new Set(['prefix']);

/** Of a call that is for all queues of a prefix. */
export function prefixOf(options: { readonly prefix?: string }): string | undefined {
  requireOptions('the call', options, OPTIONS);
  return options.prefix;
}

const known = new WeakMap<RedisClient, Map<string, Promise<unknown>>>();

/** Resolves when the name is stored. One round trip the first time that a client has to do with the queue, then none. */
export async function registerName(
  redis: RedisClient,
  prefix: string | undefined,
  queue: string,
): Promise<void> {
  const key = namesKey(prefix);
  // A line break is in no key.
  const place = `${key}\n${queue}`;
  const names = known.get(redis) ?? new Map<string, Promise<unknown>>();
  known.set(redis, names);
  let stored = names.get(place);
  if (!stored) {
    stored = redis.call('sadd', [key, encodeName(queue)]);
    names.set(place, stored);
    stored.catch(() => names.delete(place));
  }
  await stored;
}

/** Whether the name is one of them. One round trip. */
export async function isQueueName(
  redis: RedisClient,
  prefix: string | undefined,
  queue: string,
): Promise<boolean> {
  return (await redis.call('sismember', [namesKey(prefix), encodeName(queue)])) === 1;
}

/** In the order of their characters. One round trip for about 1,000 names. */
export async function queueNames(redis: RedisClient, prefix: string | undefined): Promise<string[]> {
  const names = new Set<string>();
  let cursor = '0';
  do {
    const reply = await redis.call('sscan', [namesKey(prefix), cursor, 'COUNT', 1_000]);
    const [next, encoded] = reply as [string, string[]];
    for (const name of encoded) names.add(decodeName(name));
    cursor = next;
  } while (cursor !== '0');
  return [...names].toSorted();
}

/**
 * The names of all queues of a prefix, in one set. A producer adds the name of its queue before the first task, so every queue
 * that has tasks is listed. Names stay when a queue is empty; `obliterate` removes them.
 */
import type { RedisClient } from '@mortise/redis';
import { callRedis, decodeName, encodeName, perClient, requireOptions } from '@mortise/redis';
import { namesKey } from '../keys.js';

export interface PrefixOptions {
  /** Default `mortise`. */
  readonly prefix?: string | undefined;
}

const OPTIONS = new Set(['prefix']);
/** By key and name of a queue: the call of a client that adds the name. */
const addedBy = /* @__PURE__ */ perClient(() => new Map<string, Promise<unknown>>());

/** @param method The name of the call in errors. */
export function resolvePrefix(method: string, options: PrefixOptions): string | undefined {
  requireOptions(method, options, OPTIONS);
  return options.prefix;
}

/** Adds the name of a queue. One round trip for the first call of a client, then none. */
export async function registerName(
  redis: RedisClient,
  prefix: string | undefined,
  queue: string,
): Promise<void> {
  const place = placeOf(prefix, queue);
  const names = addedBy(redis);
  let stored = names.get(place);
  if (!stored) {
    stored = callRedis(redis, 'sadd', [namesKey(prefix), encodeName(queue)]);
    names.set(place, stored);
    stored.catch(() => names.delete(place));
  }
  await stored;
}

/** Forgets that this client has added the name, which another process may have removed. */
export function forgetName(redis: RedisClient, prefix: string | undefined, queue: string): void {
  addedBy(redis).delete(placeOf(prefix, queue));
}

/** Removes the name of a queue. Resolves to whether it was listed. One round trip. */
export async function removeName(
  redis: RedisClient,
  prefix: string | undefined,
  queue: string,
): Promise<boolean> {
  forgetName(redis, prefix, queue);
  return (await callRedis(redis, 'srem', [namesKey(prefix), encodeName(queue)])) === 1;
}

/** Whether a queue is listed. One round trip. */
export async function isQueueName(
  redis: RedisClient,
  prefix: string | undefined,
  queue: string,
): Promise<boolean> {
  return (await callRedis(redis, 'sismember', [namesKey(prefix), encodeName(queue)])) === 1;
}

/** All names, sorted. One round trip for about 1,000 names. */
export async function queueNames(redis: RedisClient, prefix: string | undefined): Promise<string[]> {
  const names = new Set<string>();
  let cursor = '0';
  do {
    const reply = await callRedis(redis, 'sscan', [namesKey(prefix), cursor, 'COUNT', 1_000]);
    const [next, encoded] = reply as [string, string[]];
    for (const name of encoded) names.add(decodeName(name));
    cursor = next;
  } while (cursor !== '0');
  return [...names].toSorted();
}

function placeOf(prefix: string | undefined, queue: string): string {
  // Keys contain no line break.
  return `${namesKey(prefix)}\n${queue}`;
}

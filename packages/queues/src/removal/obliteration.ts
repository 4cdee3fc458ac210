/**
 * Removes a queue with everything that it has.
 *
 *   1. Looks whether it is in use.
 *   2. With optional features: removes tasks in batches, so that parents in other queues and waiting processes learn it, and
 *      delivers the outbox. `force` first cancels active tasks, which aborts their signals.
 *   3. Removes the name, then all keys of each shard in one call. The server frees large keys in another thread.
 *
 * Each step may be repeated, so a second call continues where a process died. Shard 0, which has the number of shards, goes last.
 * Rejected: step 2 for every queue, which takes a round trip for each 500 tasks, where one for all is enough.
 */
import type { RedisClient } from '@mortise/redis';
import { callRedis, requireBoolean, requireOptions } from '@mortise/redis';
import { setTimeout as sleep } from 'node:timers/promises';
import { QueueInUseError } from '../errors.js';
import { FlowQueues } from '../flow/flow-queues.js';
import { FlowStore } from '../flow/flow-store.js';
import { Relay } from '../flow/relay.js';
import { START } from '../inspect/cursor.js';
import { listTasks } from '../inspect/list.js';
import { DEFAULTS } from '../options.js';
import { obliterateShard } from '../scripts.gen.js';
import { registerName, removeName } from '../shard/queue-names.js';
import type { Shard } from '../shard/shard.js';
import { Shards } from '../shard/shards.js';
import { drain } from '../operate/bulk.js';
import { Operator } from '../operate/operator.js';

export interface ObliterateOptions {
  /** Removes the queue even while tasks are active, workers are idle, or ends of children can't be delivered. Default false. */
  readonly force?: boolean | undefined;
}

const OPTIONS = new Set(['force']);
/** Tasks that are listed at a time. */
const PAGE = 500;
/** Another process may have the lease of an outbox: twice its duration. */
const DELIVERY_MS = 6_000;
const DELIVERY_LOOK_MS = 100;

/** Resolves to whether there was anything to remove. Rejects with ERR_QUEUE_IN_USE. */
export async function obliterate(
  redis: RedisClient,
  queue: string,
  prefix: string | undefined,
  options: ObliterateOptions,
): Promise<boolean> {
  const force = requireBoolean('force', requireOptions('obliterate', options, OPTIONS).force ?? false);
  // With the stored settings, whatever the caller's instance names.
  const shards = new Shards(redis, queue, prefix);
  const all = await shards.open();
  if (!force) for (const shard of all) await callScript(shard, 'look');
  await endTasks(shards, all, force);
  const wasListed = await removeName(redis, prefix, queue);
  let removed = 0;
  try {
    for (const shard of all.toReversed()) removed += await callScript(shard, force ? 'force' : 'refuse');
  } catch (error) {
    await registerName(redis, prefix, queue);
    throw error;
  }
  return wasListed || removed > 0;
}

/** Returns the number of removed keys. Rejects with ERR_QUEUE_IN_USE. */
async function callScript(shard: Shard, mode: 'look' | 'refuse' | 'force'): Promise<number> {
  const { redis, queue, keys, publish } = shard;
  const [active, idle, ...others] = keys.all;
  const reply = await obliterateShard.run(redis, { active: active!, idle: idle!, others }, { publish, mode });
  const [removed, tasks, workers] = reply as [number, number, number];
  if (mode !== 'force' && tasks + workers > 0) throw new QueueInUseError(queue, tasks, workers);
  return removed;
}

/** Tells whoever waits for tasks of the queue. A queue without optional features has nobody who does. */
async function endTasks(shards: Shards, all: readonly Shard[], force: boolean): Promise<void> {
  const { queue } = shards.first;
  const operator = new Operator(queue, shards, DEFAULTS.keepCancelled);
  if (force) await endAll(shards, operator, 'active');
  const optional = all.filter(({ settings }) => settings.usesOptional);
  if (optional.length === 0) return;
  await drain(shards, { scheduled: true });
  await endAll(shards, operator, 'waiting');
  for (const shard of optional) await deliver(shard, force);
}

/** Cancels the active tasks, or removes the waiting ones. */
async function endAll(shards: Shards, operator: Operator, state: 'active' | 'waiting'): Promise<void> {
  for (;;) {
    const wanted = { state, limit: PAGE, name: undefined, hasPayloads: false, from: START };
    const { listed } = await listTasks(shards, wanted);
    const moves = listed.map(({ shard, storedId }) =>
      operator.moveIn(shard, storedId, state === 'active' ? 'C' : 'X'),
    );
    // None is left, or other calls have moved them.
    if (!(await Promise.all(moves)).some(Boolean)) return;
  }
}

/** Delivers the outbox. With `force` a failed delivery is given up. */
async function deliver(shard: Shard, force: boolean): Promise<void> {
  const { redis, prefix, keys } = shard;
  const relay = new Relay(shard, new FlowStore(redis, new FlowQueues(redis, prefix)));
  const deadline = performance.now() + DELIVERY_MS;
  while ((await callRedis(redis, 'exists', [keys.of.outbox])) === 1 && performance.now() < deadline) {
    try {
      await relay.run();
    } catch (error) {
      if (!force) throw error;
      return;
    }
    await sleep(DELIVERY_LOOK_MS);
  }
}

/**
 * Waits until a queue has nothing left to do: it looks for a task that has not ended, waits for its end as `result` does, and looks
 * again. The look prefers tasks that end late, the last of the lowest priority for example, so few looks are enough. Rejected: a
 * message of each end, thousands a second in a busy queue; counting by each script that ends a task.
 */
import { requireDuration, requireOptions, requireSignal, TIMED_OUT, waitFor } from '@mortise/redis';
import { setTimeout as sleep } from 'node:timers/promises';
import { IdleTimeoutError, ResultTimeoutError } from '../errors.js';
import { idlePending } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import type { Shards } from '../shard/shards.js';
import type { Results } from './results.js';

export interface IdleOptions {
  /** How long to wait, ms. With 0 the call looks once. Default `Infinity`. */
  readonly waitMs?: number | undefined;
  /** Aborts the wait, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS = new Set(['waitMs', 'signal']);
/** Where a look found tasks, but none of those that it read was one. */
const LOOK_MS = 1_000;

interface Pending {
  readonly shard: Shard;
  readonly storedId: Buffer;
}

export async function waitUntilIdle(shards: Shards, results: Results, options: IdleOptions): Promise<void> {
  const { waitMs = Infinity, signal } = requireOptions('idle', options, OPTIONS);
  requireSignal(signal);
  const deadlineAt = performance.now() + requireDuration('waitMs', waitMs, { min: 0, max: Infinity });
  signal?.throwIfAborted();
  const { queue } = shards.first;
  let pending = await waitFor(find(shards), { signal, waitMs: waitMs === 0 ? Infinity : waitMs });
  while (pending) {
    const leftMs = deadlineAt - performance.now();
    if (pending === TIMED_OUT || leftMs <= 0) throw new IdleTimeoutError(queue, waitMs);
    try {
      const { shard, storedId } = pending;
      if (storedId.length === 0) await sleep(Math.min(LOOK_MS, leftMs), undefined, signal && { signal });
      else await results.endOf(shard, storedId, { waitMs: leftMs, deadlineAt, signal });
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof ResultTimeoutError) throw new IdleTimeoutError(queue, waitMs, error);
      throw error;
    }
    pending = await waitFor(find(shards), { signal, waitMs: Math.max(1, deadlineAt - performance.now()) });
  }
}

/** A task that has not ended. One round trip for each shard, up to the first that has one. */
async function find(shards: Shards): Promise<Pending | undefined> {
  for (const shard of await shards.open()) {
    const storedId = (await shard.call((keys, common) =>
      idlePending.runBuffer(shard.redis, keys, common),
    )) as Buffer | null;
    if (storedId) return { shard, storedId };
  }
  return undefined;
}

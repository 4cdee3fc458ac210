/** A queue that has grown: a million small tasks, and as many large ones as a page has, before them. */
import { Queue } from '@mortise/queues';
import type { Redis } from 'ioredis';

const SMALL = 1_000_000;
/** One page of a list. */
const LARGE = 50;
const LARGE_BYTES = 3_000_000;
const BATCH = 1_000;
/** One in so many tasks has the rare name. */
const RARE = 500;
const SCHEDULED_SHARE = 0.1;
const DAY_MS = 86_400_000;

export const QUEUE = 'orders';
export const RARE_NAME = 'refund';

/** The id of a task with a payload of 3 MB. */
export const LARGE_ID = 'large-0';

/** @param scale Of the number of small tasks. */
export async function fill(redis: Redis, prefix: string, scale: number): Promise<Queue> {
  const queue = new Queue(redis, QUEUE, { prefix, maxPayloadBytes: 4_000_000 });
  // The console enables events. The queue has them before, as one that somebody watched earlier.
  await queue.eventsCursor();
  const text = 'x'.repeat(LARGE_BYTES);
  for (let n = 0; n < LARGE; n += 1)
    await queue.enqueue('import', { customer: n, text }, { id: `large-${n}` });
  const count = Math.round(SMALL * scale);
  for (let first = 0; first < count; first += BATCH) {
    const isScheduled = first >= count * (1 - SCHEDULED_SHARE);
    await queue.enqueueMany(
      Array.from({ length: BATCH }, (_, index) => ({
        name: (first + index) % RARE === 0 ? RARE_NAME : 'order',
        payload: { customer: (first + index) % 10_000, items: [{ sku: `sku-${index}`, count: 1 }] },
        options: { id: `order-${first + index}`, ...(isScheduled && { delayMs: DAY_MS + index }) },
      })),
    );
  }
  return queue;
}

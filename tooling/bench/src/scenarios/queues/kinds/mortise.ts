import { Queue, Worker } from '@mortise/queues';
import { Redis } from 'ioredis';
import { versionOf } from '../../../version-of.js';
import type { QueueKind } from '../kind.js';
import { QUEUE } from '../kind.js';
import type { Payload } from '../payload.js';

const TASK = 'noop';

/** Workers of a process share a client. */
const clients = new Map<string, Redis>();

function clientOf(url: string): Redis {
  const redis = clients.get(url) ?? new Redis(url);
  clients.set(url, redis);
  return redis;
}

export const MORTISE: QueueKind = {
  name: '@mortise/queues',
  version: versionOf('@mortise/queues'),
  producer: (url) => {
    const queue = new Queue<{ [TASK]: Payload }>(new Redis(url), QUEUE);
    return Promise.resolve({
      enqueue: (payload) => queue.enqueue(TASK, payload),
      enqueueMany: (payloads) => queue.enqueueMany(payloads.map((payload) => ({ name: TASK, payload }))),
      enqueueDelayed: (payload, delayMs) => queue.enqueue(TASK, payload, { delayMs }),
    });
  },
  work: async ({ url, concurrency }, handle) => {
    const worker = new Worker<{ [TASK]: Payload }>(
      clientOf(url),
      [QUEUE],
      { [TASK]: (payload, { attempt }) => handle(payload, attempt === 1) },
      { concurrency },
    );
    await worker.start();
    return () => worker.stop();
  },
  unfinished: async (redis) => {
    const { ready, active, scheduled, retrying } = await new Queue(redis, QUEUE).counts();
    return ready + active + scheduled + retrying;
  },
  kept: async (redis) => (await new Queue(redis, QUEUE).counts()).succeeded,
};

/** A task with one attempt is never handed off: the worker is woken, and fetches it. */
export const MORTISE_FETCHED: QueueKind = {
  ...MORTISE,
  name: '@mortise/queues without hand-off',
  producer: (url) => {
    const queue = new Queue<{ [TASK]: Payload }>(new Redis(url), QUEUE);
    return Promise.resolve({
      enqueue: (payload) => queue.enqueue(TASK, payload, { attempts: 1 }),
      enqueueMany: (payloads) =>
        queue.enqueueMany(payloads.map((payload) => ({ name: TASK, payload, options: { attempts: 1 } }))),
    });
  },
};

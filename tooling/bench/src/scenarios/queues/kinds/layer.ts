/** The classes of BullMQ on our engine, as a program that has changed its import. */
import { Queue, Worker } from '@mortise/queues/bullmq';
import { Redis } from 'ioredis';
import { versionOf } from '../../../version-of.js';
import type { QueueKind } from '../kind.js';
import { QUEUE } from '../kind.js';
import type { Payload } from '../payload.js';

const TASK = 'noop';

const clients = new Map<string, Redis>();

function clientOf(url: string): Redis {
  const redis = clients.get(url) ?? new Redis(url, { maxRetriesPerRequest: null });
  clients.set(url, redis);
  return redis;
}

export const LAYER: QueueKind = {
  name: '@mortise/queues/bullmq',
  version: versionOf('@mortise/queues'),
  producer: async (url) => {
    const queue = new Queue<Payload>(QUEUE, { connection: new Redis(url) });
    await queue.waitUntilReady();
    return {
      enqueue: (payload) => queue.add(TASK, payload),
      enqueueMany: (payloads) => queue.addBulk(payloads.map((data) => ({ name: TASK, data }))),
      enqueueDelayed: (payload, delay) => queue.add(TASK, payload, { delay }),
    };
  },
  work: async ({ url, concurrency }, handle) => {
    const connection = clientOf(url);
    const worker = new Worker<Payload>(QUEUE, async ({ data }) => handle(data), { connection, concurrency });
    worker.on('error', (error) => console.error(error));
    await worker.waitUntilReady();
    return () => worker.close();
  },
  unfinished: (redis) =>
    new Queue(QUEUE, { connection: redis }).getJobCountByTypes('waiting', 'prioritized', 'delayed', 'active'),
  kept: (redis) => new Queue(QUEUE, { connection: redis }).getCompletedCount(),
};

/** As its documentation recommends: an ioredis client with `maxRetriesPerRequest: null` that the workers of a process share. */
import { Queue, Worker } from 'bullmq';
import type { WorkerOptions } from 'bullmq';
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

function bullmq(name: string, retention: Pick<WorkerOptions, 'removeOnComplete'>): QueueKind {
  return {
    name,
    version: versionOf('bullmq'),
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
      const worker = new Worker<Payload>(QUEUE, async ({ data }) => handle(data), {
        connection,
        concurrency,
        ...retention,
      });
      worker.on('error', (error) => console.error(error));
      await worker.waitUntilReady();
      return () => worker.close();
    },
    unfinished: async (redis) => {
      const [waiting, active, delayed] = await Promise.all([
        redis.llen(`bull:${QUEUE}:wait`),
        redis.llen(`bull:${QUEUE}:active`),
        redis.zcard(`bull:${QUEUE}:delayed`),
      ]);
      return waiting + active + delayed;
    },
    kept: (redis) => redis.zcard(`bull:${QUEUE}:completed`),
  };
}

export const BULLMQ = bullmq('bullmq', {});
export const BULLMQ_LEAN = bullmq('bullmq, removeOnComplete', { removeOnComplete: { count: 0 } });

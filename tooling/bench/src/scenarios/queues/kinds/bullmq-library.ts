/** BullMQ's classes, of itself or of the layer. */
import type * as bullmq from 'bullmq';
import { Redis } from 'ioredis';
import type { QueueKind } from '../kind.js';
import { QUEUE } from '../kind.js';
import type { Payload } from '../payload.js';

type Library = Pick<typeof bullmq, 'Queue' | 'Worker'>;

const TASK = 'noop';

const clients = new Map<string, Redis>();

/** As its documentation recommends: a client with `maxRetriesPerRequest: null` that the workers of a process share. */
function clientOf(url: string): Redis {
  const redis = clients.get(url) ?? new Redis(url, { maxRetriesPerRequest: null });
  clients.set(url, redis);
  return redis;
}

export function workWith(
  { Queue, Worker }: Library,
  retention: Pick<bullmq.WorkerOptions, 'removeOnComplete'> = {},
): Pick<QueueKind, 'producer' | 'work'> {
  return {
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
      const worker = new Worker<Payload>(
        QUEUE,
        async ({ data, attemptsStarted }) => handle(data, attemptsStarted === 1),
        {
          connection: clientOf(url),
          concurrency,
          ...retention,
        },
      );
      worker.on('error', (error) => console.error(error));
      await worker.waitUntilReady();
      return () => worker.close();
    },
  };
}

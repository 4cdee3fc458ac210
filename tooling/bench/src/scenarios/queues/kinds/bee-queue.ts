/**
 * With its defaults, and `checkStalledJobs` at the default interval, without which it is not at-least-once. `lean` is
 * without events and without kept tasks, and looks for delayed ones after 1 ms instead of a second.
 */
import BeeQueue from 'bee-queue';
import type { QueueSettings } from 'bee-queue';
import { createRequire } from 'node:module';
import { countCommandsOf } from '../../../sent-commands.js';
import { versionOf } from '../../../version-of.js';
import type { QueueKind } from '../kind.js';
import { QUEUE } from '../kind.js';
import type { Payload } from '../payload.js';

const STALL_INTERVAL_MS = 5_000;
const CLOSE_MS = 5_000;

interface NodeRedis {
  readonly RedisClient: { readonly prototype: Record<'internal_send_command', () => unknown> };
}

const { RedisClient } = createRequire(import.meta.resolve('bee-queue'))('redis') as NodeRedis;
countCommandsOf(RedisClient.prototype, 'internal_send_command');

function beeQueue(name: string, settings: QueueSettings): QueueKind {
  const connect = async (url: string, role: QueueSettings): Promise<BeeQueue<Payload>> => {
    const queue = new BeeQueue<Payload>(QUEUE, { redis: { url }, ...settings, ...role });
    queue.on('error', (error) => console.error(error));
    return queue.ready();
  };
  return {
    name,
    version: versionOf('bee-queue'),
    producer: async (url) => {
      const queue = await connect(url, { isWorker: false });
      return {
        enqueue: (payload) => queue.createJob(payload).save(),
        enqueueMany: (payloads) => queue.saveAll(payloads.map((payload) => queue.createJob(payload))),
        enqueueDelayed: (payload, delayMs) =>
          queue
            .createJob(payload)
            .delayUntil(Date.now() + delayMs)
            .save(),
      };
    },
    work: async ({ url, concurrency }, handle) => {
      const queue = await connect(url, { activateDelayedJobs: true });
      queue.process(concurrency, async ({ data }) => handle(data));
      await queue.checkStalledJobs(STALL_INTERVAL_MS);
      return () => queue.close(CLOSE_MS);
    },
    unfinished: async (redis) => {
      const [waiting, active, delayed] = await Promise.all([
        redis.llen(`bq:${QUEUE}:waiting`),
        redis.llen(`bq:${QUEUE}:active`),
        redis.zcard(`bq:${QUEUE}:delayed`),
      ]);
      return waiting + active + delayed;
    },
    kept: (redis) => redis.scard(`bq:${QUEUE}:succeeded`),
  };
}

export const BEE_QUEUE = beeQueue('bee-queue', {});
export const BEE_QUEUE_LEAN = beeQueue('bee-queue, lean', {
  getEvents: false,
  sendEvents: false,
  storeJobs: false,
  removeOnSuccess: true,
  delayedDebounce: 1,
});

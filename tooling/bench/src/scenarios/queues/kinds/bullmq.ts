import { Queue, Worker } from 'bullmq';
import type { WorkerOptions } from 'bullmq';
import { versionOf } from '../../../version-of.js';
import type { QueueKind } from '../kind.js';
import { QUEUE } from '../kind.js';
import { workWith } from './bullmq-library.js';

function bullmq(name: string, retention: Pick<WorkerOptions, 'removeOnComplete'>): QueueKind {
  return {
    name,
    version: versionOf('bullmq'),
    ...workWith({ Queue, Worker }, retention),
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

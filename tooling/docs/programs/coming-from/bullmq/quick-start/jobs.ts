import type { JobsOptions } from 'bullmq';
import { FlowProducer, Queue } from 'bullmq';
import { connection } from './connection.js';

export const myQueue = new Queue('foo', { connection });
export const flows = new FlowProducer({ connection });

const RETRIED: JobsOptions = { attempts: 3, backoff: { type: 'exponential', delay: 10 } };

export async function addJobs(): Promise<void> {
  await myQueue.add('paint', { color: 'red' });
  await myQueue.add('paint', { color: 'blue' }, { delay: 50, priority: 2 });
  await myQueue.add('flaky', { color: 'green' }, RETRIED);
  await myQueue.add('paint', { color: 'none' }, RETRIED);
}

export async function addHouse(): Promise<void> {
  await flows.add({
    name: 'house',
    queueName: 'foo',
    children: ['wall', 'roof'].map((part) => ({ name: 'build', queueName: 'foo', data: { part } })),
  });
}

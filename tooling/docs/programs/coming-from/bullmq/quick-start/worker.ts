import type { Job } from 'bullmq';
import { UnrecoverableError, Worker } from 'bullmq';
import { connection } from './connection.js';

export const painted: string[] = [];

async function run(job: Job): Promise<string> {
  if (job.name === 'build') return `a ${job.data.part}`;
  if (job.name === 'house') return `a house of ${Object.keys(await job.getChildrenValues()).length} parts`;
  if (job.data.color === 'none') throw new UnrecoverableError('no such color');
  if (job.name === 'flaky' && job.attemptsMade < 2) throw new Error('spilt');
  await job.updateProgress(50);
  await job.log(`painting ${job.data.color}`);
  painted.push(job.data.color);
  return `${job.data.color} at attempt ${job.attemptsMade + 1}`;
}

export const worker = new Worker('foo', run, { connection, concurrency: 2 });
worker.on('error', (error) => console.error(error));

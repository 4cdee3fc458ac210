import { Queue, Worker } from '@mortise/queues';
import type { Handlers } from '@mortise/queues';
import { Redis } from 'ioredis';

interface Reports {
  'report.region': { region: string };
  'report.send': { to: string };
}

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<Reports>(redis, 'reports', { prefix: 'example' });
const sales: Record<string, number> = { north: 120, south: 80 };
const handlers: Handlers<Reports> = {
  'report.region': ({ region }) => {
    if (!(region in sales)) throw new Error(`no figures of the ${region}`);
    return { region, sales: sales[region] };
  },
  // Runs when both regions have ended, on whichever worker is free.
  'report.send': async ({ to }, context) => {
    const regions = await context.children();
    console.log(`to ${to}:`, ...regions.map(({ result, state }) => result ?? state));
  },
};
const worker = new Worker<Reports>(redis, ['reports'], handlers, { prefix: 'example' });
await worker.start();

const report = await queue.enqueueFlow({
  name: 'report.send',
  payload: { to: 'the board' },
  onChildFailure: 'ignore',
  children: [
    { name: 'report.region', payload: { region: 'north' } },
    { name: 'report.region', payload: { region: 'south' } },
    { name: 'report.region', payload: { region: 'east' }, options: { attempts: 1 } },
  ],
});
await queue.result(report.id);

const strict = await queue.enqueueFlow({
  name: 'report.send',
  payload: { to: 'the press' },
  children: [{ name: 'report.region', payload: { region: 'west' }, options: { attempts: 1 } }],
});
await queue
  .result(strict.id)
  .catch((error: Error & { code: string }) => console.log('to the press:', error.code));

await worker.stop();
await redis.quit();

// Output:
// to the board: { region: 'north', sales: 120 } { region: 'south', sales: 80 } dead
// to the press: ERR_TASK_DEAD

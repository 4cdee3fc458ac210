import { setTimeout } from 'node:timers/promises';
import { Queue, Worker } from '@mortise/queues';
import { Redis } from 'ioredis';

type Reports = {
  'report.daily': { kind: string };
  heartbeat: { host: string };
};

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<Reports>(redis, 'reports', { prefix: 'example' });

// Every process may do this when it starts: the same definition again changes nothing.
for (const start of ['first', 'second']) {
  const { isChanged } = await queue.schedule(
    'morning',
    { cron: '0 9 * * mon-fri', timezone: 'Europe/Berlin', missed: 'once' },
    'report.daily',
    { kind: 'sales' },
    { priority: 'low', attempts: 3 },
  );
  console.log(`${start} start: ${isChanged ? 'stored' : 'as it was'}`);
}
await queue.schedule('beat', { everyMs: 1_000, maxRuns: 2 }, 'heartbeat', { host: 'web-1' });

// Three workers, and yet each instant runs once.
const beats: string[] = [];
const handlers = {
  'report.daily': async ({ kind }: Reports['report.daily']) => console.log(`report of ${kind}`),
  heartbeat: async ({ host }: Reports['heartbeat'], ctx: { headers: Readonly<Record<string, string>> }) => {
    beats.push(ctx.headers['schedule-instant']!);
    const isOnTheSecond = beats.at(-1)!.endsWith('.000Z');
    console.log(`beat ${beats.length} of ${host}${isOnTheSecond ? ', on the second' : ''}`);
  },
};
const workers = [1, 2, 3].map(() => new Worker<Reports>(redis, ['reports'], handlers, { prefix: 'example' }));
for (const worker of workers) await worker.start();
while (beats.length < 2) await setTimeout(20);
for (const worker of workers) await worker.stop();

for (const { key, rule, runs, nextAt } of await queue.schedules()) {
  const hour = nextAt && new Date(nextAt).toLocaleTimeString('de', { timeZone: rule.timezone ?? 'UTC' });
  console.log(`${key}: ${runs} runs, ${hour ? `next at ${hour}` : 'ended'}`);
}
await queue.unschedule('beat');
console.log('unscheduled:', await queue.unschedule('morning'));
await redis.quit();

// Output:
// first start: stored
// second start: as it was
// beat 1 of web-1, on the second
// beat 2 of web-1, on the second
// morning: 0 runs, next at 09:00:00
// beat: 2 runs, ended
// unscheduled: true

import { Queue, QueueEvents, UnrecoverableError, Worker } from 'bullmq';

const connection = { url: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379', maxRetriesPerRequest: null };
const queue = new Queue('mail', { connection });
const events = new QueueEvents('mail', { connection });
const worker = new Worker(
  'mail',
  async (job) => {
    if (job.name === 'digest') return console.log('digest');
    if (!job.data.to.includes('@')) throw new UnrecoverableError('no address');
    await job.updateProgress(100);
    return `sent to ${job.data.to} at attempt ${job.attemptsMade + 1}`;
  },
  { connection, concurrency: 10 },
);

await queue.upsertJobScheduler('digest', { pattern: '0 7 * * *' }, { name: 'digest' });
const job = await queue.add(
  'welcome',
  { to: 'ann@example.org' },
  {
    jobId: 'welcome-ann',
    delay: 100,
    attempts: 3,
    backoff: { type: 'exponential', delay: 1_000 },
    priority: 1,
  },
);
console.log(await job.waitUntilFinished(events, 5_000));
console.log((await queue.getJobCounts('failed'))['failed'], 'dead');

await worker.close();
await events.close();
await queue.close();

// Output:
// sent to ann@example.org at attempt 1
// 0 dead

import Queue from 'bee-queue';

const redis = { url: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379' };
const queue = new Queue<{ x: number; y: number }>('sum', { redis, activateDelayedJobs: true });
queue.process(50, async (job) => {
  job.reportProgress({ done: 50 });
  return job.data.x + job.data.y;
});
await queue.checkStalledJobs(5_000);

const job = queue.createJob({ x: 2, y: 3 });
job
  .delayUntil(Date.now() + 100)
  .retries(3)
  .timeout(3_000)
  .backoff('exponential', 1_000);
job.on('progress', (progress) => console.log('progress:', progress));
const result = new Promise((resolve) => job.on('succeeded', resolve));
await job.save();
console.log('result:', await result);
await queue.close();

// Output:
// progress: { done: 50 }
// result: 5

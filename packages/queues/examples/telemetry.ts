/** The telemetry of queues and workers. For OpenTelemetry: `otelTelemetry` of `@mortise/queues/otel`. */
import { Queue, Worker } from '@mortise/queues';
import type { Telemetry } from '@mortise/redis';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const counters: Record<string, number> = {};
const telemetry: Telemetry = {
  count({ name }, value, attributes) {
    const key = `${name} of ${attributes['messaging.destination.name']}`;
    counters[key] = (counters[key] ?? 0) + value;
  },
  record: ({ name, unit }, value) => {
    if (value > 60) console.log(`${name} ${value} ${unit}`);
  },
};

const options = { prefix: 'example:telemetry', telemetry };
const queue = new Queue(redis, 'mail', options);
const handlers = {
  sold: (_: unknown, { attempt }: { attempt: number }) => {
    if (attempt === 1) throw new Error('the server did not answer');
  },
};
const worker = new Worker(redis, ['mail'], handlers, { ...options, backoff: { delayMs: 1 } });
await worker.start();
const { id } = await queue.enqueue('sold', { itemId: '42' });
await queue.result(id, { waitMs: 5_000 });
await worker.stop();
await redis.quit();
for (const key of Object.keys(counters).toSorted()) console.log(key, counters[key]);

// Output:
// mortise.queues.enqueued of mail 1
// mortise.queues.failed of mail 1
// mortise.queues.retried of mail 1
// mortise.queues.succeeded of mail 1

/** Payloads are checked by schemas on both sides: here of zod, and any other library with Standard Schemas fits. */
import type { InvalidPayloadError } from '@mortise/queues';
import { Queue, Worker } from '@mortise/queues';
import { Redis } from 'ioredis';
import { z } from 'zod';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const schemas = {
  'order.ship': z.object({
    weight: z.number().positive(),
    carrier: z.string().default('post'),
    before: z.iso.datetime().transform((text) => new Date(text)),
  }),
};

// Types of payloads come from the schemas: their inputs where they are enqueued, their outputs where they are handled.
const queue = new Queue(redis, 'orders', { prefix: 'example:schemas', schemas });
const worker = new Worker(
  redis,
  ['orders'],
  {
    'order.ship': ({ weight, carrier, before }) =>
      `${weight} kg by ${carrier}, before ${before.getUTCFullYear()}`,
  },
  { prefix: 'example:schemas', schemas },
);
await worker.start();

const { id } = await queue.enqueue('order.ship', { weight: 7, before: '2027-01-01T00:00:00Z' });
console.log('stored', (await queue.get(id))?.payload);
console.log('handled', await queue.result(id, { waitMs: 5_000 }));
await queue
  .enqueue('order.ship', { weight: -1, before: 'soon' })
  .catch(({ code, issues }: InvalidPayloadError) =>
    console.log(code, issues.map(({ path }) => path.join('.')).join(', ')),
  );
await worker.stop();
await redis.quit();

// Output:
// stored { weight: 7, before: '2027-01-01T00:00:00Z' }
// handled 7 kg by post, before 2027
// ERR_INVALID_PAYLOAD weight, before

/** Payloads are compressed and encrypted before they leave the process. */
import { randomBytes } from 'node:crypto';
import { Queue, Worker } from '@mortise/queues';
import { compression, encryption } from '@mortise/queues/codecs';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
// In production a key of 32 bytes comes from your secrets, the same for all programs.
const keys = { 'key-1': randomBytes(32) };
const codecs = [compression({ aboveBytes: 1_024 }), encryption({ keys, current: 'key-1' })];
const prefix = 'example:codecs';

const queue = new Queue(redis, 'orders', { prefix, codecs });
const { id } = await queue.enqueue('order.pay', { card: '4111 1111 1111 1111', note: 'thanks '.repeat(500) });

// A program without the codecs sees which ones it lacks.
const without = new Queue<Record<string, { $codec: string }>>(redis, 'orders', { prefix });
console.log('stored as', (await without.get(id))?.payload.$codec);

const worker = new Worker(
  redis,
  ['orders'],
  { 'order.pay': ({ card }: { card: string }) => `paid by ${card.slice(-4)}` },
  { prefix, codecs },
);
await worker.start();
console.log('handled', await queue.result(id, { waitMs: 5_000 }));
await worker.stop();
await queue.obliterate();
await redis.quit();

// Output:
// stored as br,aes
// handled paid by 1111

/** A partner allows 20 calls a second from all processes together; a customer has one call at a time. */
import { Queue, Worker } from '@mortise/queues';
import { Redis } from 'ioredis';

type Calls = { 'partner.call': { customer: string } };

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<Calls>(redis, 'partner', { prefix: 'example' });
await queue.configure({
  rate: { limit: 20, periodMs: 1_000 },
  groups: { concurrency: 1 },
});

const running = new Map<string, number>();
let most = 0;
const call = async ({ customer }: Calls['partner.call']): Promise<void> => {
  running.set(customer, (running.get(customer) ?? 0) + 1);
  most = Math.max(most, running.get(customer)!);
  await redis.ping();
  running.set(customer, running.get(customer)! - 1);
};
const handlers = { 'partner.call': call };
const workers = [1, 2].map(() => new Worker<Calls>(redis, ['partner'], handlers, { prefix: 'example' }));

for (const customer of ['ann', 'ann', 'ann', 'bob', 'bob', 'eve']) {
  await queue.enqueue('partner.call', { customer }, { group: customer });
}
const startedAt = performance.now();
for (const worker of workers) await worker.start();
await queue.idle();
console.log('6 calls took 250 ms or more:', performance.now() - startedAt >= 245);
console.log('calls of a customer at once:', most);

for (const worker of workers) await worker.stop();
await redis.quit();

// Output:
// 6 calls took 250 ms or more: true
// calls of a customer at once: 1

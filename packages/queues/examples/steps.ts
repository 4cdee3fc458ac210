/** An order in steps: the second attempt neither charges nor mails again, and goes on where the loop stood. */
import { Queue, Worker } from '@mortise/queues';
import type { TaskContext } from '@mortise/queues';
import { Redis } from 'ioredis';

type Tasks = { order: { items: readonly string[] } };

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const queue = new Queue<Tasks>(redis, 'steps', { prefix: 'example' });

async function order({ items }: Tasks['order'], ctx: TaskContext): Promise<void> {
  const receipt = await ctx.step('charge', async () => {
    console.log('charge');
    return 'receipt 7';
  });
  const from = ((await ctx.cursor()) as number | undefined) ?? 0;
  for (const [index, item] of items.entries()) {
    if (index < from) continue;
    console.log('pack', item);
    await ctx.setCursor(index + 1);
    if (index === 0) throw new Error('the packer had a break');
  }
  await ctx.sleep(100);
  await ctx.step('mail', () => console.log('mail', receipt));
}

const onFailed = (): void => console.log('again');
const worker = new Worker<Tasks>(redis, ['steps'], { order }, { prefix: 'example', onFailed });
await worker.start();
const { id } = await queue.enqueue('order', { items: ['a', 'b'] }, { backoff: { delayMs: 10 } });
await queue.result(id);
console.log((await queue.get(id))?.steps?.map(({ name }) => name).join(', '));
await worker.stop();
await redis.quit();

// Output:
// charge
// pack a
// again
// pack b
// mail receipt 7
// charge, sleep 1, mail

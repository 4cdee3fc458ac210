import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 2;

/** The bytes that each operation adds to the append-only file; replicas are sent them too. `work` returns the number of operations. */
export async function aofBytesOf(redis: Redis, work: () => Promise<number>): Promise<number> {
  // With a sync each second, a write may wait for the one before.
  await redis.config('SET', 'appendfsync', 'no', 'auto-aof-rewrite-percentage', '0');
  await redis.config('SET', 'appendonly', 'yes');
  for (;;) {
    const field = await persistence(redis);
    if (field('aof_rewrite_in_progress') + field('aof_rewrite_scheduled') === 0) break;
    await sleep(POLL_MS);
  }
  const before = (await persistence(redis))('aof_current_size');
  const operations = await work();
  const after = (await persistence(redis))('aof_current_size');
  await redis.config('SET', 'appendonly', 'no');
  return (after - before) / operations;
}

async function persistence(redis: Redis): Promise<(name: string) => number> {
  const info = await redis.info('persistence');
  return (name) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)![1]);
}

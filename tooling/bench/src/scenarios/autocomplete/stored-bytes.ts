import type { Redis } from 'ioredis';
import { restoreSnapshot, takeSnapshot } from './snapshots.js';

/**
 * The memory of all keys and their table: memory with them less memory without them. Both are measured on the same server,
 * since its scripts, logs and buffers take as much as a small book. Restores the keys from a snapshot of the name.
 */
export async function storedBytes(redis: Redis, name: string): Promise<number> {
  // A histogram of 24 KB for each command that comes for the first time.
  await redis.config('SET', 'latency-tracking', 'no');
  const full = await usedBytes(redis);
  await takeSnapshot(redis, name);
  await redis.flushall('SYNC');
  const empty = await usedBytes(redis);
  await restoreSnapshot(redis, name);
  await redis.config('SET', 'latency-tracking', 'yes');
  return full - empty;
}

/**
 * Without this connection, whose buffers change. Ends all others; whoever is to go on connects again, and not before this is known.
 * The server's figure of clients' memory is some 100 ms old.
 */
async function usedBytes(redis: Redis): Promise<number> {
  const replies = await redis
    .multi()
    .call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    .info('memory')
    .call('CLIENT', 'INFO')
    .exec();
  const [, memory, client] = replies!.map(([, reply]) => String(reply));
  return Number(/^used_memory:(\d+)/m.exec(memory!)![1]) - Number(/ tot-mem=(\d+)/.exec(client!)![1]);
}

import type { Redis } from 'ioredis';

/** Memory of Redis without what clients and the append-only file take for a moment. */
export async function dataBytes(redis: Redis): Promise<number> {
  const field = await memory(redis);
  return field('used_memory') - field('mem_clients_normal') - field('mem_aof_buffer');
}

/** All memory of Redis. */
export async function usedBytes(redis: Redis): Promise<number> {
  const field = await memory(redis);
  return field('used_memory');
}

async function memory(redis: Redis): Promise<(name: string) => number> {
  const info = await redis.info('memory');
  return (name) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)![1]);
}

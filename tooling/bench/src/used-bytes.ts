import type { Redis } from 'ioredis';

/** Memory of Redis without what clients take, some of which goes only after a moment. */
export async function dataBytes(redis: Redis): Promise<number> {
  const field = await memory(redis);
  return field('used_memory') - field('mem_clients_normal');
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

import type { Redis } from 'ioredis';

/** CPU of the whole server since its start, ms: what is freed in the background counts too. */
export async function wholeCpuMs(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  const field = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)![1]);
  return 1000 * (field('used_cpu_user') + field('used_cpu_sys'));
}

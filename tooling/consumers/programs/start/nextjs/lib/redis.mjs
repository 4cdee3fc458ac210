import { Redis } from 'ioredis';

// `next dev` loads this module again after each change: keep one connection.
export const redis = (globalThis.redis ??= new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379'));

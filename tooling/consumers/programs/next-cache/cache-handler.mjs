import { nextCacheHandler } from '@mortise/cache/next';
import { Redis } from 'ioredis';

const connect = () => new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');

export default nextCacheHandler(connect, 'shop', { prefix: 'start-nextjs' });

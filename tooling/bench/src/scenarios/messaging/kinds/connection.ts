import { Redis } from 'ioredis';

const shared = new Map<string, Redis>();

/** The connection that all callers of this process share. */
export function sharedConnection(url: string): Redis {
  const redis = shared.get(url) ?? new Redis(url);
  shared.set(url, redis);
  return redis;
}

/** GET and SET, with JSON, as one writes it without a library. */
import { Redis } from 'ioredis';
import { versionOf } from '../../../version-of.js';
import type { Cached, CacheKind } from '../kind.js';

function bare(name: string, enableAutoPipelining: boolean, isParsed = true): CacheKind {
  return {
    name,
    version: versionOf('ioredis'),
    connect: (url, { ttlMs }) => {
      const redis = new Redis(url, { enableAutoPipelining });
      const get = async (key: string): Promise<Cached | null> => {
        const value = await redis.get(key);
        return isParsed && value !== null ? (JSON.parse(value) as Cached) : (value as Cached | null);
      };
      const set = (key: string, value: Cached): Promise<unknown> =>
        redis.set(key, JSON.stringify(value), 'PX', ttlMs);
      return Promise.resolve({
        get,
        set,
        getOrLoad: async (key, load) => {
          const found = await get(key);
          if (found) return found;
          const value = await load();
          await set(key, value);
          return value;
        },
      });
    },
  };
}

export const BARE = bare('ioredis GET', false);
export const BARE_PIPELINED = bare('ioredis GET, autopipelining', true);
/** Replies stay text. */
export const BARE_UNPARSED = bare('ioredis GET, autopipelining, no JSON.parse', true, false);

/** Waiters of one process for one lock that somebody else holds throughout, over one connection. */
import { Redis } from 'ioredis';
import type { MakeSegment } from '../../crew-member.js';
import { persistent } from './contend.js';
import { mutexKind } from './mutexes.js';

export interface IdleSettings {
  readonly url: string;
  readonly kind: string;
  readonly lock: string;
  readonly waiters: number;
}

const make: MakeSegment<IdleSettings, object> = async ({ url, kind, lock, waiters }) => {
  const redis = new Redis(url);
  const locks = await Promise.all(
    Array.from({ length: waiters }, () => mutexKind(kind).prepare(redis, lock)),
  );
  return {
    start: () => {
      for (const acquire of locks) void persistent(acquire)();
    },
    open: () => {},
    close: () => ({}),
  };
};

export default make;

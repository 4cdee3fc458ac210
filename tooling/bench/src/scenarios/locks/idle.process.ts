/** Waiters of one process for locks that somebody else holds throughout, over one connection. */
import { Redis } from 'ioredis';
import type { MakeSegment } from '../../crew-member.js';
import { persistent } from './contend.js';
import { mutexKind } from './mutexes.js';

export interface IdleSettings {
  readonly url: string;
  readonly kind: string;
  /** The lock of each waiter. */
  readonly locks: readonly string[];
}

const make: MakeSegment<IdleSettings, object> = async ({ url, kind, locks }) => {
  const redis = new Redis(url);
  const waiters = await Promise.all(locks.map((lock) => mutexKind(kind).prepare(redis, lock)));
  return {
    start: () => {
      for (const acquire of waiters) void persistent(acquire)();
    },
    open: () => {},
    close: () => ({}),
  };
};

export default make;

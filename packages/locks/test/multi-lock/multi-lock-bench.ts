import { MultiLock, Mutex } from '@mortise/locks';
import type { MutexOptions } from '@mortise/locks';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';

interface Bench {
  readonly prefix: string;
  /** Through `redis` unless a client is given. */
  readonly multi: (names: readonly string[], options?: MutexOptions, client?: Redis) => MultiLock;
  /** Through `other` unless a client is given. */
  readonly mutex: (name: string, options?: MutexOptions, client?: Redis) => Mutex;
}

/** Two clients of one server, and locks on them. */
export class MultiLockBench {
  readonly redis: Redis;
  readonly other: Redis;

  constructor(url: string) {
    this.redis = connect(url);
    this.other = connect(url);
  }

  /** Locks that no other test sees. */
  fresh(): Bench {
    const prefix = freshPrefix();
    return {
      prefix,
      multi: (names, options, client = this.redis) => new MultiLock(client, names, { prefix, ...options }),
      mutex: (name, options, client = this.other) => new Mutex(client, name, { prefix, ...options }),
    };
  }

  async keysOf(prefix: string, part: string): Promise<string[]> {
    return (await this.redis.keys(`${prefix}:*:${part}`)).toSorted();
  }

  /** Nothing is held and nobody waits. */
  async allFree(prefix: string): Promise<boolean> {
    return until('all locks to be free', async () => {
      const left = [...(await this.keysOf(prefix, 'lease')), ...(await this.keysOf(prefix, 'queue'))];
      return left.length === 0;
    });
  }
}

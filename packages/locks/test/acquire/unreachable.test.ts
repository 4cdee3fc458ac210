import { expect, test } from '@jest/globals';
import { MultiLock, Mutex, ReadWriteLock, Semaphore } from '@mortise/locks';
import { disconnectLater, freshPrefix } from '@mortise/test-kit';
import { Redis } from 'ioredis';

const prefix = freshPrefix();
/** Nothing listens at port 1. */
const away = disconnectLater(new Redis({ host: '127.0.0.1', port: 1, disconnectTimeout: 100 }));

test.each([
  ['Mutex', new Mutex(away, 'a', { prefix })],
  ['Semaphore', new Semaphore(away, 'b', { prefix, permits: 2 })],
  ['ReadWriteLock', new ReadWriteLock(away, 'c', { prefix }).read],
  ['MultiLock', new MultiLock(away, ['d', 'e'], { prefix })],
])('a wait for a %s without a connection ends with its cause', async (_, lock) => {
  await expect(lock.acquire({ waitMs: 20 })).rejects.toMatchObject({
    code: 'ERR_LOCK_TIMEOUT',
    cause: { code: 'ERR_REDIS_UNREACHABLE' },
  });
});

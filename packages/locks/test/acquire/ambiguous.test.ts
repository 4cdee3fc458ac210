/** Commands without a reply are undone: no lock is held by a caller that doesn't know it. */
import { expect, test } from '@jest/globals';
import { Mutex, ReadWriteLock, Semaphore } from '@mortise/locks';
import { connect, disconnect, freshPrefix, until } from '@mortise/test-kit';
import { startSingle } from '@mortise/redis-server';
import { Redis } from 'ioredis';

test('tryAcquire whose answer comes too late leaves no lock behind', async () => {
  const server = await startSingle();
  const admin = connect(server.url);
  const client = new Redis(server.url, { commandTimeout: 2_000, retryStrategy: () => 20 });
  client.on('error', () => undefined);
  const prefix = freshPrefix();
  const options = { prefix, leaseMs: 60_000, renew: false };
  try {
    const mutex = new Mutex(client, 'lock', options);
    const lock = new ReadWriteLock(client, 'lock', options);
    const semaphore = new Semaphore(client, 'lock', { ...options, permits: 1 });
    const tries = [mutex, lock.read, lock.write, semaphore];
    // Scripts and connections are known from here on.
    for (const one of tries) await (await one.tryAcquire())!.release();
    await admin.client('PAUSE', 5_000, 'ALL');
    for (const outcome of await Promise.allSettled(tries.map((one) => one.tryAcquire()))) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'Command timed out' } });
    }
    const isFree = async (): Promise<boolean> => {
      const state = await lock.read.inspect();
      const { used } = await semaphore.inspect();
      return (await mutex.inspect()).holder === null && !state.writer && state.readers === 0 && used === 0;
    };
    await until('all of them to be free', () => isFree().catch(() => false));
    for (const one of tries) expect(await (await one.tryAcquire())!.release()).toBe(true);
  } finally {
    disconnect(client);
    disconnect(admin);
    await server.stop();
  }
});

/** A process that waits for many mutexes: their re-checks share script calls, and each still repairs its own lock. */
import { expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import { connect, freshPrefix, monitor, runServer } from '@mortise/test-kit';
import { mutexRecheck } from '../../src/scripts.gen.js';

// The server of all tests is in cluster mode, where calls are those of one slot.
const { server } = await runServer();
const LOCKS = 50;
const names = Array.from({ length: LOCKS }, (_, index) => `lock ${index}`);

test.concurrent('the rechecks of fifty mutexes share calls, which find that all holders have died', async () => {
  const prefix = freshPrefix();
  const redis = connect(server.url);
  const waiting = connect(server.url);
  const keys: number[] = [];
  const close = await monitor(redis, ({ args }) => {
    const at = args.indexOf(mutexRecheck.sha1);
    if (at >= 0 && args[at + 2]!.startsWith(prefix)) keys.push(Number(args[at + 1]));
  });
  // Nobody renews these leases.
  await Promise.all(
    names.map((name) => redis.set(`${prefix}:locks:{${name}}:lease`, 'dead.1.1000', 'PX', 3_000)),
  );
  const leases = await Promise.all(names.map((name) => new Mutex(waiting, name, { prefix }).acquire()));
  close();
  expect(leases.every(({ isValid }) => isValid)).toBe(true);
  const rechecked = keys.reduce((sum, count) => sum + count / 3, 0);
  // One after the subscription, and at least one at the end of the lease.
  expect(rechecked).toBeGreaterThanOrEqual(2 * LOCKS);
  expect(rechecked / keys.length).toBeGreaterThan(LOCKS / 5);
  await Promise.all(leases.map((lease) => lease.release()));
});

test.concurrent('a lock whose queue has a foreign type fails alone', async () => {
  const prefix = freshPrefix();
  const redis = connect(server.url);
  const waiting = connect(server.url);
  const held = ['sound', 'broken'];
  await Promise.all(
    held.map((name) => redis.set(`${prefix}:locks:{${name}}:lease`, 'dead.1.1000', 'PX', 1_600)),
  );
  const [sound, broken] = held.map((name) => new Mutex(waiting, name, { prefix }).acquire({ waitMs: 3_000 }));
  const failure = broken!.catch((error: unknown) => error);
  // The waiters wait, and their re-checks will find this.
  while ((await redis.type(`${prefix}:locks:{broken}:queue`)) !== 'zset');
  await redis.set(`${prefix}:locks:{broken}:queue`, 'of other software');
  expect(await sound).toMatchObject({ isValid: true });
  expect(await failure).toBeInstanceOf(Error);
  await (await sound!).release();
});

/** jest at its defaults: CommonJS, babel-jest, dependencies as they are. */
const { Redis } = require('ioredis');
const { Mutex, LockTimeoutError } = require('@mortise/locks');
const { QuorumMutex } = require('@mortise/locks/quorum');
const { Queue, Worker } = require('@mortise/queues');
const { sandbox } = require('@mortise/queues/sandbox');

// NestJS 12 has ES modules only: jest refuses NestJS itself.
const entries = process.env.ENTRIES.split(' ').filter((entry) => !entry.includes('/nestjs'));

test.each(entries)('%s is loaded as CommonJS', (entry) => {
  expect(Object.keys(require(entry)).length).toBeGreaterThan(0);
  expect(require.resolve(entry)).toContain('/dist/cjs/');
});

test('classes are created', () => {
  const redises = [1, 2, 3].map((port) => new Redis({ port, lazyConnect: true }));
  const [redis] = redises;
  expect(new Queue(redis, 'mail').name).toBe('mail');
  expect(() => new Worker(redis, 'mail', {})).toThrow(TypeError);
  expect(new Mutex(redis, 'a')).toBeInstanceOf(Mutex);
  expect(new QuorumMutex(redises, 'a', { leaseMs: 1_000 })).toBeInstanceOf(QuorumMutex);
  expect(new LockTimeoutError('a', 5)).toBeInstanceOf(Error);
  for (const each of redises) each.disconnect();
});

test('a sandbox runs a handler in a thread', async () => {
  const handle = sandbox(require.resolve('./double.cjs'), { threads: 1 });
  const task = { id: '1', queue: 'q', name: 'n', attempt: 1, attempts: 1, headers: {} };
  await expect(handle(21, { ...task, signal: new AbortController().signal })).resolves.toBe(42);
  await handle.close();
});

/**
 * Two copies of each package in one process, on one client. Prints one line for each thing that works across the two.
 *
 *   forms     the ES module and the CommonJS module, each with its own @mortise/redis. For this, run Node with
 *             `--no-experimental-require-module`
 *   versions  two copies with one @mortise/redis, as of two versions
 */
import { createRequire } from 'node:module';
import { Redis } from 'ioredis';

const require = createRequire(import.meta.url);
const load = async (entry) => [
  await import(entry),
  process.argv[2] === 'forms' ? require(entry) : await import(`${import.meta.resolve(entry)}?copy`),
];
const redis = new Redis(process.env.MORTISE_TEST_REDIS);
const prefix = process.env.PREFIX;
const say = (what, value) => console.log(`${what}: ${value}`);

{
  const [a, b] = await load('@mortise/locks');
  say('two copies', a.Mutex !== b.Mutex);
  const lease = await new a.Mutex(redis, 'x', { prefix }).acquire({ waitMs: 0 });
  const refusal = await new b.Mutex(redis, 'x', { prefix }).acquire({ waitMs: 0 }).catch((error) => error);
  say('a lock of the other copy is held', refusal instanceof a.LockTimeoutError);
  const waiting = new b.Mutex(redis, 'x', { prefix }).acquire({ waitMs: 10_000 });
  await lease.release();
  const next = await waiting;
  say('a release grants the lock to the other copy', next.fencingToken > lease.fencingToken);
  await next.release();
  const latches = [a, b].map((copy) => new copy.CountDownLatch(redis, 'gate', { count: 1, prefix }));
  const opened = Promise.all(latches.map((latch) => latch.wait({ waitMs: 10_000 })));
  await latches[0].countDown();
  say('a latch opens for both', (await opened).length);
  const [, quorum] = await load('@mortise/locks/quorum');
  say(
    'an error of an entry is an instance of the class of the main entry',
    new quorum.LockTimeoutError('x', 1) instanceof a.LockTimeoutError &&
      new a.LockTimeoutError('x', 1) instanceof quorum.LockTimeoutError,
  );
}
{
  const [a, b] = await load('@mortise/queues');
  const queues = [a, b].map((copy) => new copy.Queue(redis, 'mail', { prefix }));
  const seen = new Set();
  const signal = AbortSignal.timeout(20_000);
  const readers = queues.map(async (queue, index) => {
    for await (const event of queue.events({ signal })) {
      if (event.type !== 'succeeded') continue;
      seen.add(index);
      return;
    }
  });
  const handlers = { 'mail.sold': async ({ price }) => price + 1, 'mail.lost': discard };
  async function discard() {
    throw new b.Discard('of the other copy');
  }
  const worker = new a.Worker(redis, ['mail'], handlers, { prefix, onFailed: () => undefined });
  await worker.start();
  const { id } = await queues[1].enqueue('mail.sold', { price: 1 });
  const results = await Promise.all(queues.map((queue) => queue.result(id, { waitMs: 10_000 })));
  say('both wait for a result of a task', JSON.stringify(results));
  // A reader begins some time after its call: with tasks that end until both have read one.
  while (seen.size < 2 && !signal.aborted) {
    const { id: further } = await queues[0].enqueue('mail.sold', { price: 1 });
    await queues[0].result(further, { waitMs: 10_000 });
  }
  await Promise.all(readers);
  say('both read events', seen.size);
  const lost = await queues[0].enqueue('mail.lost', {});
  const dead = await queues[0].result(lost.id, { waitMs: 10_000 }).catch((error) => error);
  say('Discard of the other copy ends a task', dead instanceof b.TaskDeadError);
  await worker.stop();
}
{
  const [a, b] = await load('@mortise/cache/rows');
  const [sqlite] = await load('@mortise/cache/sqlite');
  const loads = [];
  const load1 = async (ids) => {
    loads.push(...ids);
    return new Map(ids.map((id) => [id, { id }]));
  };
  const rows = [a, b].map((copy) => new copy.RowCache(redis, 'inventory', { load: load1, prefix }));
  const refreshers = [new a.Refresher(redis, [rows[1]]), new b.Refresher(redis, [rows[0]])];
  await Promise.all(refreshers.map((refresher) => refresher.start()));
  await rows[0].schedule('42', { everyMs: 60_000 });
  while (loads.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await Promise.all(refreshers.map((refresher) => refresher.stop()));
  say('a refresher takes rows of the other copy', loads.join());
  const source = new sqlite.SqliteSource({ path: 'rows.db', table: 'items', id: 'id' });
  const feed = new a.ChangeFeed(redis, source, rows[0]);
  say('a feed takes a source of another entry', feed instanceof a.ChangeFeed);
  await source.close();
}
redis.disconnect();

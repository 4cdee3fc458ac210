import { describe, expect, test } from '@jest/globals';
import { Overviews, Queue } from '@mortise/queues';
import { freshPrefix, runServer, until } from '@mortise/test-kit';
import { QueueKeys } from '../../src/keys.js';
import { redis } from '../fixture/new-queue.js';
import { launch } from '../fixture/launch.js';

/** The server of the tests belongs to a Cluster, this one does not. */
const { connect } = await runServer();

const clients = { 'a node of a Cluster': () => redis, 'a single server': connect };

describe.each(Object.entries(clients))('Overviews on %s', (_, clientOf) => {
  test('is what counts and summaries say, for each queue', async () => {
    const client = clientOf();
    const prefix = freshPrefix();
    const queue = (name: string, options = {}): Queue => new Queue(client, name, { prefix, ...options });
    const queues = Array.from({ length: 60 }, (_each, index) => queue(`plain ${index}`));
    await Promise.all(queues.slice(20).map((each) => each.enqueue('t', 1)));
    const delayed = queue('delayed');
    await delayed.enqueue('t', 1, { delayMs: 3_600_000 });
    const due = queue('due');
    await due.enqueue('t', 1, { id: 'later', delayMs: 3_600_000 });
    await due.enqueue('t', 1, { id: 'now', priority: 'high' });
    await due.enqueue('t', 1, { id: 'soon', priority: 'high', delayMs: 1 });
    await until('it is due', async () => (await due.counts()).ready === 2);
    const removed = queue('removed');
    for (const id of ['a', 'b', 'c']) await removed.enqueue('t', 1, { id });
    await removed.remove('a');
    await removed.cancel('b');
    const grouped = queue('grouped');
    await grouped.enqueue('t', 1, { group: 'g' });
    const limited = queue('limited', { priorities: ['one'], shards: 3 });
    await limited.configure({ concurrency: 3 });
    await limited.enqueueMany([1, 2, 3, 4, 5].map((payload) => ({ name: 't', payload })));
    const ended = queue('ended');
    await ended.enqueue('fail', 1, { attempts: 1 });
    await ended.enqueue('fail', 1, { backoff: { type: 'fixed', delayMs: 3_600_000 } });
    await ended.enqueue('ok', 1);
    await launch(client, 'ended', { ok: () => 1, fail: () => Promise.reject(new Error('no')) }, { prefix });
    await until('the ends', async () => (await ended.counts()).ready + (await ended.counts()).active === 0);

    const all = [...queues, delayed, due, removed, grouped, limited, ended];
    const overviews = await new Overviews(client, { prefix }).read(all.map(({ name }) => name));
    for (const [index, each] of all.entries()) {
      const { tasks } = await each.summaries('ready', { limit: 100 });
      const [next] = each === limited ? tasks.toSorted((a, b) => a.enqueuedAt - b.enqueuedAt) : tasks;
      expect([each.name, overviews[index]]).toEqual([
        each.name,
        { counts: await each.counts(), nextEnqueuedAt: next?.enqueuedAt ?? null, isPaused: false },
      ]);
    }
    expect(overviews.at(-1)!.counts).toMatchObject({ dead: 1, retrying: 1, succeeded: 1 });
  });

  test('learns settings that have changed since', async () => {
    const client = clientOf();
    const prefix = freshPrefix();
    const queue = new Queue(client, 'q', { prefix });
    const overviews = new Overviews(client, { prefix });
    await queue.enqueue('t', 1);
    const before = await overviews.read(['q']);
    await queue.configure({ concurrency: 5 });
    expect(await overviews.read(['q'])).toEqual(before);
    await queue.pause();
    expect(await overviews.read(['q'])).toEqual([{ ...before[0], isPaused: true }]);
    await queue.resume();
    expect(await overviews.read(['q'])).toEqual(before);
    await queue.obliterate();
    const again = new Queue(client, 'q', { prefix, priorities: ['one'], shards: 2 });
    await again.enqueueMany([1, 2, 3].map((payload) => ({ name: 't', payload })));
    await overviews.read(['q']);
    expect((await overviews.read(['q']))[0]!.counts).toMatchObject({ ready: 3 });
  });
});

test('a call reads 25 queues of a single server', async () => {
  const client = connect();
  const prefix = freshPrefix();
  const queues = Array.from({ length: 60 }, (_, index) => new Queue(client, `q${index}`, { prefix }));
  await Promise.all(queues.map((queue) => queue.enqueue('t', 1)));
  const overviews = new Overviews(client, { prefix });
  const names = queues.map(({ name }) => name);
  await overviews.read(names);
  const callsOf = async (): Promise<number> =>
    Number(/cmdstat_evalsha_ro:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0);
  const before = await callsOf();
  await overviews.read(names);
  expect((await callsOf()) - before).toBe(3);
});

test('a queue that is not there is empty, and names are checked', async () => {
  const overviews = new Overviews(redis, { prefix: freshPrefix() });
  expect(await overviews.read([])).toEqual([]);
  expect(await overviews.read(['none'])).toMatchObject([{ counts: { ready: 0 }, nextEnqueuedAt: null }]);
  await expect(overviews.read('q' as never)).rejects.toThrow('names must be an array');
  await expect(overviews.read([''])).rejects.toThrow(/^name /);
});

describe('the ends of each second', () => {
  const NOW_MS = 10_000;

  /** A queue in which these tasks have succeeded, each so many ms ago. */
  async function ended(agesMs: readonly number[], resultBytes = 0): Promise<{ overviews: Overviews }> {
    const prefix = freshPrefix();
    await new Queue(redis, 'q', { prefix }).enqueue('t', 1);
    const keys = new QueueKeys('q', prefix).of;
    const now = Date.now();
    for (const [index, ageMs] of agesMs.entries()) {
      const last = Buffer.alloc(11 + resultBytes, ' ');
      last.write('S');
      last.writeDoubleBE(now - ageMs, 1);
      await redis.rpush(keys.succeeded, `id ${index}`);
      await redis.hset(keys.attempts, `id ${index}`, last as unknown as string);
    }
    return { overviews: new Overviews(redis, { prefix }) };
  }

  test.each([1, 2, 3, 7, 40, 99])('are exact for %d tasks of the window', async (count) => {
    const before = Array.from({ length: 150 }, (_, index) => 3_600_000 - index);
    const within = Array.from({ length: count }, (_, index) => 500 - index);
    const { overviews } = await ended([...before, ...within]);
    const [{ perSecond } = {}] = await overviews.read(['q'], { windowMs: NOW_MS });
    expect(perSecond).toEqual({ succeeded: count / 10, dead: 0 });
  });

  test('are those since the oldest stored task, where workers keep fewer than the window has', async () => {
    const { overviews } = await ended(Array.from({ length: 200 }, (_, index) => 4_000 - 10 * index));
    const [{ perSecond } = {}] = await overviews.read(['q'], { windowMs: NOW_MS });
    // 200 in 4 s, and the time that the test takes.
    expect(perSecond!.succeeded! > 20 && perSecond!.succeeded! <= 50).toBe(true);
  });

  test('count tasks whose records are compact', async () => {
    const prefix = freshPrefix();
    const queue = new Queue(redis, 'q', { prefix });
    await queue.enqueueMany(Array.from({ length: 5 }, () => ({ name: 't', payload: 1 })));
    const worker = await launch(redis, 'q', { t: () => undefined }, { prefix });
    await until('the ends', async () => (await queue.counts()).succeeded === 5);
    // A worker that stops compacts them.
    await worker.stop();
    expect(await redis.hlen(new QueueKeys('q', prefix).of.attempts)).toBe(0);
    const [{ perSecond } = {}] = await new Overviews(redis, { prefix }).read(['q'], { windowMs: 3_600_000 });
    expect(perSecond!.succeeded).toBe(5 / 3_600);
  });

  test('are unknown where a result is too big to be read for its instant', async () => {
    const { overviews } = await ended([500, 400], 20_000);
    const [{ perSecond } = {}] = await overviews.read(['q'], { windowMs: NOW_MS });
    expect(perSecond).toEqual({ succeeded: null, dead: 0 });
  });

  test('need a window', async () => {
    const { overviews } = await ended([500]);
    expect((await overviews.read(['q']))[0]).not.toHaveProperty('perSecond');
    await expect(overviews.read(['q'], { windowMs: 999 })).rejects.toThrow('windowMs');
  });
});

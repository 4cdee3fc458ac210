import { describe, expect, jest, test } from '@jest/globals';
import type { NewTask } from '@mortise/queues';
import { ServerClock } from '@mortise/redis';
import { operatorDrain } from '../../src/scripts.gen.js';
import { Shard } from '../../src/shard/shard.js';
import { Bench, HOSTILE_IDS } from '../fixture/bench.js';
import type { Tasks } from '../fixture/launch.js';
import { ageEnd } from '../fixture/age.js';
import { redis } from '../fixture/new-queue.js';
import { counted, until } from '../fixture/until.js';

const many = (count: number, of: string, options: object = {}): NewTask<Tasks>[] =>
  Array.from({ length: count }, (_, n) => ({
    name: 'ok',
    payload: n,
    options: { id: `${of}${n}`, ...options },
  }));

describe('drain', () => {
  test('removes what is ready, in all priorities and groups, and nothing else', async () => {
    const bench = new Bench();
    await bench.work();
    await bench.task('active', 'running');
    await bench.task('retrying', 'retrying');
    await bench.task('succeeded', 'succeeded');
    await bench.task('cancelled', 'cancelled');
    await bench.queue.pause();
    await bench.queue.enqueueMany([
      ...many(600, 'high', { priority: 'high' }),
      ...many(700, 'low', { priority: 'low' }),
      ...many(30, 'a', { group: 'a' }),
      ...many(30, 'b', { group: 'b' }),
      ...many(20, 'later', { delayMs: 60_000 }),
      ...many(10, 'due', { delayMs: 1 }),
      ...many(10, 'grouped and due', { delayMs: 1, group: 'a' }),
    ]);
    const left = { active: 1, retrying: 1, succeeded: 1, cancelled: 1, scheduled: 20 };
    await counted(bench.queue, { scheduled: 20 });
    await bench.expectCounts({ ...left, ready: 1_380 });
    expect(await bench.queue.drain()).toBe(1_380);
    await bench.expectCounts(left);
    expect(await redis.hlen(bench.keys.of.tasks)).toBe(24);
    expect(await redis.exists(bench.keys.of.grouped, bench.keys.of.runnableGroups)).toBe(0);
    await bench.queue.resume();
    await bench.task('succeeded', 'after', { group: 'a' });
  });

  test('with scheduled tasks', async () => {
    const bench = new Bench();
    await bench.queue.configure({ groups: { ordered: true } });
    await bench.work();
    await bench.task('retrying', 'a');
    await bench.task('retrying', 'holds its group', { group: 'g' });
    await bench.queue.enqueueMany(many(600, 'later', { delayMs: 60_000 }));
    expect(await bench.queue.drain({ scheduled: true })).toBe(602);
    await bench.expectCounts({});
    expect((await bench.keysLeft()).filter((key) => key !== 'groups')).toEqual([]);
    await bench.task('succeeded', 'next', { group: 'g' });
  });

  test('leaves what comes meanwhile', async () => {
    const bench = new Bench();
    await bench.queue.enqueueMany(many(1_500, 'old'));
    const over = new AbortController();
    const coming = (async () => {
      for (let n = 0; !over.signal.aborted; n += 1)
        await bench.queue.enqueueMany(many(64, `new${n}-`, { priority: 'high' }));
    })();
    const drained = await bench.queue.drain();
    over.abort();
    await coming;
    expect(drained).toBeGreaterThanOrEqual(1_500);
    for (const id of ['old0', 'old750', 'old1499']) expect(await bench.queue.get(id)).toBeNull();
    const { ready } = await bench.queue.counts();
    expect(ready).toBeGreaterThan(0);
    expect(await redis.hlen(bench.keys.of.tasks)).toBe(ready);
  });

  test('goes by the instant at which a task was enqueued, wherever it stands', async () => {
    const bench = new Bench();
    const places = [{}, { priority: 'high' }, { delayMs: 60_000 }, { group: 'g' }];
    await bench.queue.configure({ groups: { concurrency: 1 } });
    const put = async (of: string): Promise<void> => {
      for (const [n, options] of places.entries()) await bench.task('ready', `${of}${n}`, options);
    };
    await put('old');
    const upTo = (await bench.queue.get('old3'))!.enqueuedAt;
    await until(() => Date.now() > upTo + 2);
    await put('new');
    const shard = new Shard(redis, 'q', bench.prefix);
    await shard.settings.learn(redis);
    const call = (most: number): Promise<unknown> =>
      shard.call((keys, common) => operatorDrain.run(redis, keys, { ...common, most, upTo, isAll: 1 }));
    expect(await call(500)).toEqual([4, upTo, 1]);
    // None of the others matches, so the call ends, however few it looks at.
    expect(await call(1)).toEqual([0, upTo, 1]);
    for (const n of places.keys()) {
      expect(await bench.queue.get(`old${n}`)).toBeNull();
      expect(await bench.queue.get(`new${n}`)).not.toBeNull();
    }
    await bench.work();
    await bench.queue.promote('new2');
    await counted(bench.queue, { succeeded: 4 });
  });

  test('removes a task whose estimated time is ahead of the server', async () => {
    const bench = new Bench();
    await bench.queue.enqueue('ok', 0);
    await bench.queue.drain();
    // The server has the clock of this process.
    using _ = jest.spyOn(ServerClock.prototype, 'now').mockImplementation(() => Date.now() + 1);
    for (let n = 1; n <= 30; n += 1) {
      await bench.queue.enqueue('ok', n);
      expect(await bench.queue.drain()).toBe(1);
    }
  });

  test('fills tombstones, and knows what was enqueued again', async () => {
    const bench = new Bench();
    await bench.queue.enqueueMany(many(1_400, 'n'));
    for (let n = 600; n < 800; n += 1) await bench.queue.remove(`n${n}`);
    await bench.queue.enqueueMany(many(1_400, 'n').slice(600, 700));
    await bench.expectCounts({ ready: 1_300 });
    expect(await bench.queue.drain()).toBe(1_300);
    await bench.expectCounts({});
    expect(await bench.keysLeft()).toEqual([]);
  });

  test('a list of nothing but tombstones', async () => {
    const bench = new Bench();
    await bench.queue.enqueueMany(many(2_600, 'n'));
    const middle = many(2_600, 'n').slice(500, 2_100);
    await Promise.all(middle.map(({ options }) => bench.queue.remove(options!.id!)));
    expect(await bench.queue.drain()).toBe(1_000);
    expect(await bench.keysLeft()).toEqual([]);
  });

  test('large payloads, in all shards', async () => {
    const bench = new Bench({ shards: 2 });
    await bench.queue.enqueueMany(
      Array.from({ length: 120 }, () => ({ name: 'ok', payload: 'x'.repeat(100_000) })),
    );
    expect(await bench.queue.drain()).toBe(120);
    await bench.expectCounts({});
    expect(await bench.queue.drain()).toBe(0);
  });

  test('a pending result rejects when its task is gone', async () => {
    const bench = new Bench();
    const id = await bench.task('ready');
    const waiting = bench.queue.result(id, { waitMs: 10_000 }).catch((error: unknown) => error);
    await until(async () => (await redis.zcard(bench.keys.of.awaited)) === 1);
    await bench.queue.drain();
    expect(await waiting).toMatchObject({ code: 'ERR_TASK_NOT_FOUND' });
  });
});

describe('clean', () => {
  test.each([
    ['succeeded', 'ok'],
    ['dead', 'die'],
    ['cancelled', 'ok'],
  ] as const)('removes %s tasks', async (state, name) => {
    const bench = new Bench();
    const tasks = many(1_000, 'n').map((task) => ({ ...task, name }));
    await bench.queue.enqueueMany(tasks);
    if (state === 'cancelled')
      await Promise.all(tasks.map(({ options }) => bench.queue.cancel(options!.id!)));
    await bench.work();
    await until(async () => (await bench.queue.counts())[state] === 1_000);
    expect(await bench.queue.clean(state, { olderThanMs: 60_000 })).toBe(0);
    expect(await bench.queue.clean(state, { limit: 50 })).toBe(50);
    expect(await bench.queue.clean(state, { limit: 700 })).toBe(700);
    await bench.expectCounts({ [state]: 250 });
    expect(await bench.queue.clean(state)).toBe(250);
    await bench.expectCounts({});
    expect((await bench.keysLeft()).filter((key) => key !== 'tombstones')).toEqual([]);
  });

  test('only tasks that ended before olderThanMs', async () => {
    const bench = new Bench();
    await bench.work();
    for (const state of ['succeeded', 'dead', 'cancelled'] as const) {
      const id = await bench.task(state);
      await ageEnd(redis, bench.keys, id, 3_600_000);
      await bench.task(state);
      expect(await bench.queue.clean(state, { olderThanMs: 3_600_000 })).toBe(1);
      expect(await bench.queue.get(id)).toBeNull();
    }
    await bench.expectCounts({ succeeded: 1, dead: 1, cancelled: 1 });
  });

  test('ids of any form, large results, all shards', async () => {
    const bench = new Bench({ shards: 3 });
    await bench.work();
    for (const id of HOSTILE_IDS) await bench.task('succeeded', id);
    await bench.queue.enqueueMany(
      Array.from({ length: 90 }, () => ({ name: 'ok', payload: 'x'.repeat(100_000) })),
    );
    const total = HOSTILE_IDS.length + 90;
    await counted(bench.queue, { succeeded: total });
    expect(await bench.queue.clean('succeeded')).toBe(total);
    await bench.expectCounts({});
  });

  test('refuses other states and options', async () => {
    const { queue } = new Bench();
    await expect(queue.clean('ready' as never)).rejects.toThrow(RangeError);
    await expect(queue.clean('dead', { olderThanMs: -1 })).rejects.toThrow(RangeError);
    await expect(queue.clean('dead', { olderThanMs: '1' as never })).rejects.toThrow(TypeError);
    await expect(queue.clean('dead', { limit: 0 })).rejects.toThrow(RangeError);
  });
});

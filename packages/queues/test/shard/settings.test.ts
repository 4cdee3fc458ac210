import { describe, expect, test } from '@jest/globals';
import { Queue, SettingsMismatchError } from '@mortise/queues';
import { freshPrefix, gate } from '@mortise/test-kit';
import { QueueKeys } from '../../src/keys.js';
import type { NamedSettings } from '../../src/shard/settings.js';
import { Settings } from '../../src/shard/settings.js';
import { formatSettings, parseSettings, PLAIN } from '../../src/shard/settings-text.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import { counted, until } from '../fixture/until.js';

const AN_HOUR = 3_600_000;

function settingsOf(named: NamedSettings = {}): { settings: Settings; keys: QueueKeys } {
  const keys = new QueueKeys('q', freshPrefix());
  return { settings: new Settings('q', keys, named), keys };
}

/** Refuses, as scripts do, unless the settings are those that are stored. */
function callOf(settings: Settings, stored: () => string, calls: string[]): () => Promise<string> {
  return async () => {
    calls.push(settings.text);
    if (settings.text !== stored()) throw new Error(`SETTINGS ${stored()}`);
    return 'done';
  };
}

describe('the text', () => {
  test('a queue without limits is the names of its priorities', () => {
    expect(formatSettings({ ...PLAIN, priorities: ['high', 'low'] })).toBe('high,low');
    expect(parseSettings('high,low')).toEqual({ ...PLAIN, priorities: ['high', 'low'] });
  });

  test('everything that can be set comes back', () => {
    const values = {
      priorities: ['a', 'b-c.d_e'],
      shards: 2,
      servedShards: 4,
      earlierShards: [1, 4],
      reshardings: 2,
      isRanked: true,
      isPaused: true,
      concurrency: 5,
      rate: { limit: 100, periodMs: 60_000, burst: 10 },
      groupConcurrency: 1,
      groupRate: { limit: 10, periodMs: 1_000, burst: 1 },
      isOrdered: true,
      maxTasks: 1_000_000_000,
      keepEvents: 10_000,
      hasOptional: true,
    };
    const text = formatSettings(values);
    expect(text).toBe(
      'a,b-c.d_e;shards=4;to=2;was=1.4;turn=2;ranked=1;paused=1;conc=5;rate=100/60000/10;gconc=1;grate=10/1000/1;ordered=1;max=1000000000;events=10000;optional=1',
    );
    expect(parseSettings(text)).toEqual(values);
  });
});

describe('Settings', () => {
  test('the index of a priority, the first one first; the default is the middle one', () => {
    const { settings } = settingsOf({ priorities: ['a', 'b', 'c', 'd'] });
    expect(['a', 'd', undefined].map((name) => settings.priorityIndex(name))).toEqual([0, 3, 2]);
    expect(settingsOf({ priorities: ['only'] }).settings.priorityIndex(undefined)).toBe(0);
    expect(settingsOf().settings.priorityIndex(undefined)).toBe(1);
    for (const name of ['e', '', 'A', 0, null, 1n, {}]) {
      expect(() => settings.priorityIndex(name as string)).toThrow(RangeError);
    }
    expect(() => settings.priorityIndex('e')).toThrow('priority must be one of a, b, c, d, got "e"');
  });

  test('scripts get three keys for each priority, and the others only of a queue that uses them', async () => {
    const { settings, keys } = settingsOf({ priorities: ['a', 'b'] });
    expect(settings.keys).toEqual([...keys.priorityKeys(2), keys.of.features]);
    expect(new Set(settings.keys).size).toBe(7);
    expect(settings.usesOptional).toBe(false);
    await settings.enableOptional(redis, 'PUBLISH');
    expect(settings.usesOptional).toBe(true);
    expect(settings.keys).toEqual([...keys.priorityKeys(2), ...keys.optional]);
    expect(keys.optional[0]).toBe(keys.of.features);
    expect(await redis.exists(keys.of.features)).toBe(1);
    expect(await redis.get(keys.of.settings)).toBe('a,b;optional=1');
  });

  test('shards alone need none of the other keys', () => {
    const { settings } = settingsOf({ shards: 4 });
    expect(settings.text).toBe('high,medium,low;shards=4');
    expect(settings.usesOptional).toBe(false);
  });

  test('stored settings are adopted, and the call is made again', async () => {
    const { settings } = settingsOf();
    const calls: string[] = [];
    expect(await settings.run(callOf(settings, () => 'x,y;paused=1', calls))).toBe('done');
    expect(calls).toEqual(['high,medium,low', 'x,y;paused=1']);
    expect(settings.values).toMatchObject({ priorities: ['x', 'y'], isPaused: true });
    expect(settings.isKnown).toBe(true);
  });

  test('settings that contradict the given names are refused', async () => {
    const { settings } = settingsOf({ priorities: ['a'] });
    await expect(settings.run(callOf(settings, () => 'x,y', []))).rejects.toThrow(SettingsMismatchError);
    expect(settings.text).toBe('a');
    const sharded = settingsOf({ shards: 2 }).settings;
    await expect(sharded.run(callOf(sharded, () => 'high,medium,low', []))).rejects.toThrow(
      SettingsMismatchError,
    );
  });

  test('another error passes, and settings that change with every call end as an error', async () => {
    const { settings } = settingsOf();
    await expect(settings.run(() => Promise.reject(new Error('OOM')))).rejects.toThrow('OOM');
    let turn = 0;
    const calls: string[] = [];
    const restless = callOf(settings, () => `x${(turn += 1)}`, calls);
    await expect(settings.run(restless)).rejects.toThrow('SETTINGS');
    expect(calls.length).toBeLessThan(10);
  });

  test('changes by several at once are all kept', async () => {
    const { keys } = settingsOf();
    const many = Array.from({ length: 8 }, () => new Settings('q', keys));
    await Promise.all(
      many.map((settings, index) =>
        settings.change(redis, 'PUBLISH', (values) => ({
          ...values,
          keepEvents: values.keepEvents + index + 1,
        })),
      ),
    );
    expect(await redis.get(keys.of.settings)).toBe('high,medium,low;events=36');
  });

  test('looks are shared', async () => {
    const { settings, keys } = settingsOf();
    await redis.set(keys.of.settings, 'one,two');
    await Promise.all([settings.learn(redis), settings.learn(redis)]);
    expect(settings.values.priorities).toEqual(['one', 'two']);
  });
});

describe('a queue with shards', () => {
  test('is created with all of them, and found by an instance that names none', async () => {
    const prefix = freshPrefix();
    const queue = new Queue(redis, 'q', { prefix, shards: 3 });
    const { id } = await queue.enqueue('n', 1);
    const stored = await Promise.all(
      [0, 1, 2].map((shard) => redis.get(new QueueKeys('q', prefix, shard).of.settings)),
    );
    expect(stored).toEqual(Array.from({ length: 3 }, () => 'high,medium,low;shards=3'));
    expect(await new Queue(redis, 'q', { prefix }).get(id)).toMatchObject({ id, payload: 1 });
    await expect(new Queue(redis, 'q', { prefix, shards: 2 }).enqueue('n', 1)).rejects.toThrow(
      'queue "q" has 3 shards, not 2',
    );
  });
});

/** Settings that change, or get lost, while there is work: nothing is stuck, run although it must not be, or half stored. */
describe('settings that change', () => {
  describe('features used under a pause or a limit stay when it is removed', () => {
    test('cancelled tasks and groups', async () => {
      const { queue, work } = newQueue();
      await queue.pause();
      // In the middle of a long list a cancelled task leaves a hole.
      const many = await queue.enqueueMany(
        Array.from({ length: 300 }, (_, n) => ({ name: 't', payload: n })),
      );
      await queue.cancel(many[150]!.id);
      await queue.enqueue('t', 'grouped', { group: 'g' });
      await queue.resume();
      const run = new Set<unknown>();
      await work({ t: (payload: unknown) => void run.add(payload) });
      await counted(queue, { succeeded: 300 });
      expect(run.has('grouped')).toBe(true);
      expect(run.has(150)).toBe(false);
      expect(await queue.counts()).toMatchObject({ ready: 0, cancelled: 1, succeeded: 300 });
    });

    test('the settings keep `optional` after any limit', async () => {
      const { queue } = newQueue();
      await queue.configure({ concurrency: 1, keepEvents: 10 });
      await queue.enqueue('t', 1, { group: 'g' });
      await queue.configure({ concurrency: null, keepEvents: 0 });
      expect(await queue.settings()).toMatchObject({ hasOptional: true });
    });
  });

  describe('groups', () => {
    test('a task that falls due is run at once by the only worker, not with its next look', async () => {
      const { queue, work } = newQueue();
      const began: number[] = [];
      const handlers = {
        t: () => {
          began.push(performance.now());
          if (began.length < 3) throw new Error('again');
        },
      };
      await work(handlers, { backoff: { type: 'fixed', delayMs: 50, jitter: 0 } });
      const from = performance.now();
      await queue.enqueue('t', 1, { group: 'g', delayMs: 50 });
      await until(() => began.length === 3);
      // Each look comes 3 s after the last one or later.
      expect(began[2]! - from).toBeLessThan(3_000);
    });

    test('of new settings have the idle worker registered under them', async () => {
      const { queue, keys, work } = newQueue();
      await work({ t: () => undefined });
      await until(async () => (await redis.zcard(keys.of.idle)) === 1);
      await queue.configure({ groups: { concurrency: 1 } });
      await until(async () => (await redis.zcard(keys.of.idle)) === 1);
      expect((await redis.zrange(keys.of.idle, '0', '-1'))[0]).toMatch(/^0 - /);
    });

    test('whose limits are lifted go on', async () => {
      const { queue, work } = newQueue();
      await queue.configure({ groups: { rate: { limit: 1, periodMs: AN_HOUR } } });
      const run: unknown[] = [];
      await work({ t: (payload: unknown) => void run.push(payload) });
      for (const group of ['a', 'b'])
        for (let n = 0; n < 3; n += 1) await queue.enqueue('t', `${group}${n}`, { group });
      await counted(queue, { succeeded: 2 });
      await queue.configure({ groups: { rate: { limit: 100, periodMs: 1_000 } } });
      await counted(queue, { succeeded: 6 });
      expect(run).toHaveLength(6);
    });

    test('whose concurrency is raised start more, and no more than that once it is lowered', async () => {
      const { queue, work } = newQueue();
      await queue.configure({ groups: { concurrency: 1 } });
      const began: unknown[] = [];
      const door = gate();
      const t = (payload: unknown): Promise<void> => {
        began.push(payload);
        return door.passed;
      };
      await work({ t });
      for (let n = 0; n < 6; n += 1) await queue.enqueue('t', n, { group: 'g' });
      await until(() => began.length === 1);
      await queue.configure({ groups: { concurrency: 5 } });
      await until(() => began.length === 5);
      await queue.configure({ groups: { ordered: true } });
      await queue.enqueue('t', 6, { group: 'g' });
      await queue.enqueue('t', 'of another', { group: 'h' });
      await until(() => began.length === 6);
      expect(began).toEqual([0, 1, 2, 3, 4, 'of another']);
      door.open();
      await counted(queue, { succeeded: 8 });
    });
  });

  test('another rate holds at once, whatever was used under the one before', async () => {
    const { queue, work } = newQueue();
    await queue.configure({ rate: { limit: 1, periodMs: AN_HOUR } });
    const run: unknown[] = [];
    await work({ t: (payload: unknown) => void run.push(payload) });
    await queue.enqueueMany([1, 2, 3].map((payload) => ({ name: 't', payload })));
    await until(() => run.length === 1);
    await queue.configure({ rate: { limit: 10, periodMs: 1_000 } });
    await until(() => run.length === 3);
    expect(run).toEqual([1, 2, 3]);
  });

  test('lost settings, stored again by a process with fewer features: tasks are stored as a whole', async () => {
    const { queue, keys, work } = newQueue();
    await queue.enqueue('t', 1, { group: 'g' });
    await redis.set(keys.of.settings, 'high,medium,low');
    await Promise.all([queue.enqueue('t', 2), queue.enqueue('t', 3, { group: 'g' })]);
    const run = new Set<unknown>();
    await work({ t: (payload: unknown) => void run.add(payload) });
    await counted(queue, { succeeded: 3 });
    expect(run).toEqual(new Set([1, 2, 3]));
  });

  test('lost settings: tasks that are cancelled afterwards do not run', async () => {
    const { queue, keys, work } = newQueue();
    const many = await queue.enqueueMany(Array.from({ length: 300 }, (_, n) => ({ name: 't', payload: n })));
    await queue.cancel(many[0]!.id);
    await redis.set(keys.of.settings, 'high,medium,low');
    await queue.cancel(many[150]!.id);
    const run = new Set<unknown>();
    await work({ t: (payload: unknown) => void run.add(payload) });
    await counted(queue, { succeeded: 298 });
    expect(run.has(150)).toBe(false);
  });

  test('a producer that knew the queue before it was created with shards stores each id where it belongs', async () => {
    const { queue, prefix } = newQueue();
    expect(await queue.counts()).toMatchObject({ ready: 0 });
    const creator = new Queue(redis, 'q', { prefix, shards: 4 });
    await creator.enqueue('t', 0);
    const ids = Array.from({ length: 8 }, (_, n) => `id ${n}`);
    const early = await Promise.all(ids.map((id) => queue.enqueue('t', 1, { id })));
    const late = await Promise.all(ids.map((id) => creator.enqueue('t', 1, { id })));
    expect(early.map(({ isDuplicate }) => isDuplicate)).toEqual(ids.map(() => false));
    expect(late.map(({ isDuplicate }) => isDuplicate)).toEqual(ids.map(() => true));
    expect(await queue.counts()).toMatchObject({ ready: 9 });
  });
});

import { describe, expect, test } from '@jest/globals';
import { Queue, SettingsMismatchError } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import { QueueKeys } from '../../src/keys.js';
import type { NamedSettings } from '../../src/shard/settings.js';
import { Settings } from '../../src/shard/settings.js';
import { formatSettings, parseSettings, PLAIN } from '../../src/shard/settings-text.js';

const redis = connect();

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
      shards: 4,
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
      'a,b-c.d_e;shards=4;paused=1;conc=5;rate=100/60000/10;gconc=1;grate=10/1000/1;ordered=1;max=1000000000;events=10000;optional=1',
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

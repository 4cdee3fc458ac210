import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, jest, test } from '@jest/globals';
import { Cache } from '@mortise/cache';
import { RowCache } from '@mortise/cache/rows';
import type { Telemetry } from '@mortise/redis';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { pagesOf } from './cached.js';
import { cacheOf, Database, refresh } from './fixture.js';
import { METRICS } from '../src/telemetry/metrics.js';

const redis = connect();

function counting(): { telemetry: Telemetry; counted: Record<string, number> } {
  const counted: Record<string, number> = {};
  const keyOf = (name: string, attributes: object): string =>
    [name.replace('mortise.cache.', ''), ...Object.values(attributes)].join(' ');
  const telemetry: Telemetry = {
    count: ({ name }, value, attributes) => {
      const key = keyOf(name, attributes);
      counted[key] = (counted[key] ?? 0) + value;
    },
    record: ({ name }, value, attributes) => {
      expect(value).toBeGreaterThanOrEqual(0);
      const key = keyOf(name, attributes);
      counted[key] = (counted[key] ?? 0) + 1;
    },
  };
  return { telemetry, counted };
}

test('reads, loads and changes of a cache are counted, by what they found', async () => {
  const { telemetry, counted } = counting();
  const { cache } = pagesOf<string>(redis, { telemetry });
  await cache.getOrLoad('tools', () => 'saws', { tags: ['shop'] });
  await cache.getOrLoad('tools', () => 'planes', { tags: ['shop'] });
  await expect(cache.getOrLoad('none', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await cache.set('files', 'file');
  await cache.delete('files');
  await cache.invalidateTag('shop');
  expect(counted).toEqual({
    'reads entries pages miss': 2,
    'reads entries pages hit': 1,
    'load entries pages loaded': 1,
    'load entries pages failed': 1,
    'changes entries pages': 3,
  });
});

test('so are those of the near tier, and those that find Redis away', async () => {
  const { telemetry, counted } = counting();
  const { cache } = pagesOf<string>(redis, { telemetry, near: {} });
  await until('a near hit', async () => {
    await cache.getOrLoad('tools', () => 'saws');
    return (counted['reads entries pages near'] ?? 0) > 0;
  });
  const closed = connect();
  await closed.quit();
  await pagesOf<string>(closed, { telemetry }).cache.getOrLoad('tools', () => 'saws');
  expect(counted['reads entries pages unavailable']).toBe(1);
});

test('reads of rows are counted, and what becomes of the rows of a batch', async () => {
  const { telemetry, counted } = counting();
  const database = new Database().put('1', '2');
  const rows = cacheOf(redis, database, { telemetry });
  await rows.scheduleAll(['1', '2', 'missing'], { everyMs: 3_600_000 });
  const { refresher } = await refresh(redis, rows, { telemetry });
  await until('a batch', () => refresher.stats().batches === 1);
  await rows.refresh('1');
  await until('another one', () => refresher.stats().batches === 2);
  await rows.getMany(['1', '2', 'missing']);
  expect(counted).toEqual({
    'rows rows items stored': 2,
    'rows rows items missing': 1,
    'rows rows items unchanged': 1,
    'load rows items loaded': 2,
    'late rows items': 2,
    'reads rows items hit': 2,
    'reads rows items miss': 1,
  });
});

test('what telemetry throws harms nobody, and is printed once', async () => {
  const printed = jest.spyOn(console, 'error').mockImplementation(() => undefined);
  try {
    const fail = (): never => {
      throw new Error('no');
    };
    const { cache } = pagesOf<string>(redis, { telemetry: { count: fail, record: fail } });
    expect(await cache.getOrLoad('tools', () => 'saws')).toBe('saws');
    expect(await cache.get('tools')).toBe('saws');
    expect(printed).toHaveBeenCalledTimes(1);
  } finally {
    printed.mockRestore();
  }
});

test.each([null, 'console', 1])('%j is refused', (telemetry) => {
  const options = { prefix: freshPrefix(), telemetry: telemetry as unknown as Telemetry };
  expect(() => new Cache(redis, 'pages', options)).toThrow(TypeError);
  expect(() => new RowCache(redis, 'items', { ...options, load: async () => new Map() })).toThrow(TypeError);
});

test('the README lists the metrics that exist', () => {
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');
  const listed = Array.from(
    readme.matchAll(/^\| `(mortise\.cache\.\w+)` +\| `([^`]+)`/gm),
    ([, name, unit]) => ({
      name,
      unit,
    }),
  );
  expect(listed).toEqual(METRICS.map(({ name, unit }) => ({ name, unit })));
});

import { join } from 'node:path';
import { expect, jest, test } from '@jest/globals';
import { ChangeFeed } from '@mortise/cache/rows';
import { connect, listedMetrics, namesAndUnits, Recording, until } from '@mortise/test-kit';
import { pagesOf } from '../fixture/cached.js';
import { memorySource } from '../fixture/memory-source.js';
import { cacheOf, Database, refresh } from '../fixture/tables.js';
import { METRICS } from '../../src/telemetry/metrics.js';

const redis = connect();

test('reads, loads and changes of a cache are counted, by what they found', async () => {
  const telemetry = new Recording();
  const { cache } = pagesOf<string>(redis, { telemetry });
  await cache.getOrLoad('tools', () => 'saws', { tags: ['shop'] });
  await cache.getOrLoad('tools', () => 'planes', { tags: ['shop'] });
  await expect(cache.getOrLoad('none', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await cache.set('files', 'file');
  await cache.delete('files');
  await cache.invalidateTag('shop');
  expect(telemetry.counts).toEqual({
    'reads entries pages miss': 2,
    'reads entries pages hit': 1,
    'load entries pages loaded': 1,
    'load entries pages failed': 1,
    'changes entries pages': 3,
  });
});

test('so are those of the near tier, and those that find Redis away', async () => {
  const telemetry = new Recording();
  const { cache } = pagesOf<string>(redis, { telemetry, near: {} });
  await until('a near hit', async () => {
    await cache.getOrLoad('tools', () => 'saws');
    return (telemetry.counts['reads entries pages near'] ?? 0) > 0;
  });
  const closed = connect();
  await closed.quit();
  await pagesOf<string>(closed, { telemetry }).cache.getOrLoad('tools', () => 'saws');
  expect(telemetry.counts['reads entries pages unavailable']).toBe(1);
});

test('reads of rows are counted, and what becomes of the rows of a batch', async () => {
  const telemetry = new Recording();
  const database = new Database().put('1', '2');
  const rows = cacheOf(redis, database, { telemetry });
  await rows.scheduleAll(['1', '2', 'missing'], { everyMs: 3_600_000 });
  const { refresher } = await refresh(redis, rows, { telemetry });
  await until('a batch', () => refresher.stats().batches === 1);
  await rows.refresh('1');
  await until('another one', () => refresher.stats().batches === 2);
  await rows.getMany(['1', '2', 'missing']);
  expect(telemetry.counts).toEqual({
    'rows rows items stored': 2,
    'rows rows items missing': 1,
    'rows rows items unchanged': 1,
    'load rows items loaded': 2,
    'late rows items': 2,
    'reads rows items hit': 2,
    'reads rows items miss': 1,
  });
});

test('changes that a feed reads are counted, and rows that it makes due', async () => {
  const telemetry = new Recording();
  const rows = cacheOf(redis, new Database());
  await rows.schedule('1', { everyMs: 3_600_000 });
  const changes = ['1', '1', 'unknown'].map((id, index) => ({ id, key: [String(index)] }));
  const source = memorySource(changes);
  await using feed = new ChangeFeed(redis, source, rows, { telemetry });
  await feed.start();
  await until('the changes', () => changes.length === 0);
  expect(telemetry.counts).toEqual({ 'feed.changes rows items': 3, 'feed.rows rows items': 1 });
});

test('a telemetry that throws fails no read, and is printed once', async () => {
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

test('the reference lists the metrics that exist', () => {
  expect(listedMetrics(join(import.meta.dirname, '../..'), '../../docs/cache/reference/metrics.md')).toEqual(
    namesAndUnits(METRICS),
  );
});

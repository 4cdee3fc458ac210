import { describe, expect, test } from '@jest/globals';
import { RecentContacts } from '@mortise/autocomplete';
import type { RecentContactsOptions } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';
import { recentContactsRank } from '../../src/scripts.gen.js';

const redis = connect();
const HOUR_MS = 3_600_000;

function create(options: RecentContactsOptions = {}): RecentContacts {
  return new RecentContacts(redis, { prefix: freshPrefix(), halfLifeMs: HOUR_MS, ...options });
}

/** Touches at given times, which no caller can. */
async function touchAt(
  key: string,
  touches: readonly (readonly [atMs: number, contact: string])[],
): Promise<void> {
  for (const [nowMs, contact] of touches) {
    const batch = { signs: '+', entries: [contact] };
    const args = { capacity: 10, halfLifeMs: HOUR_MS, keepMs: 60_000, nowMs, ...batch };
    await recentContactsRank.run(redis, { rankeds: [key] }, args);
  }
}

describe('with a half-life', () => {
  test('the contacts touched most often come first', async () => {
    const recent = create();
    for (const contact of ['jack', 'jill', 'joe', 'jill', 'jack', 'jill'])
      await recent.touch('anna', contact);
    expect(await recent.list('anna')).toEqual(['jill', 'jack', 'joe']);
    expect(await recent.complete('anna', 'ja')).toEqual(['jack']);
    expect(await recent.complete('anna', 'j', { limit: 2 })).toEqual(['jill', 'jack']);
    expect(await recent.remove('anna', 'jill')).toBe(true);
    expect(await recent.remove('anna', 'jill')).toBe(false);
    expect(await recent.list('anna')).toEqual(['jack', 'joe']);
  });

  test('touches count half after each half-life', async () => {
    const prefix = freshPrefix();
    const recent = create({ prefix });
    const start = 1_700_000_000_000;
    const three: [number, string][] = [1, 2, 3].map((at) => [start + at, 'old']);
    const key = `${prefix}:autocomplete:{anna}:ranked:1`;
    await touchAt(key, [...three, [start + 1.4 * HOUR_MS, 'young']]);
    expect(await recent.list('anna')).toEqual(['old', 'young']);
    // 3 touches 1.8 half-lives ago are worth 0.86, one 0.4 ago 0.76.
    await touchAt(key, [[start + 1.8 * HOUR_MS, 'new']]);
    expect(await recent.list('anna')).toEqual(['new', 'old', 'young']);
  });

  test('a new contact takes the place of the lowest, however often the others were touched', async () => {
    const recent = create({ capacity: 2 });
    for (const contact of ['jack', 'jack', 'jill', 'jill', 'jill']) await recent.touch('anna', contact);
    await recent.touch('anna', 'joe');
    expect(await recent.list('anna')).toEqual(['jill', 'joe']);
    await recent.touch('anna', 'jim');
    expect(await recent.list('anna')).toEqual(['jill', 'jim']);
  });

  test('a smaller capacity holds from the next change on', async () => {
    const prefix = freshPrefix();
    for (const contact of ['a', 'b', 'b', 'c', 'c', 'c']) await create({ prefix }).touch('anna', contact);
    const recent = create({ prefix, capacity: 1 });
    await recent.touch('anna', 'c');
    expect(await recent.list('anna')).toEqual(['c']);
  });

  test('calls of one tick are made in their order', async () => {
    const recent = create();
    const results = await Promise.all([
      recent.touch('anna', 'jack'),
      recent.remove('anna', 'jack'),
      recent.remove('anna', 'jack'),
      recent.touch('anna', 'jill'),
    ]);
    expect(results).toEqual([undefined, true, false, undefined]);
    expect(await recent.list('anna')).toEqual(['jill']);
  });

  test('survives a clock that was set back by years, and one touched without end', async () => {
    const prefix = freshPrefix();
    const key = `${prefix}:autocomplete:{anna}:ranked:1`;
    const now = 1_700_000_000_000;
    await touchAt(key, [
      [now, 'jack'],
      [now - 1e11, 'jack'],
      [now - 1e11, 'jill'],
      ...Array.from({ length: 5_000 }, () => [now, 'joe'] as const),
    ]);
    expect(await create({ prefix }).list('anna')).toEqual(['joe', 'jack', 'jill']);
    for (const contact of ['joe', 'jack', 'jill']) expect(await redis.zscore(key, contact)).toMatch(/^-\d+$/);
  });

  test('keeps its contacts apart from those without', async () => {
    const prefix = freshPrefix();
    await create({ prefix }).touch('anna', 'jack');
    const plain = new RecentContacts(redis, { prefix });
    await plain.touch('anna', 'jill');
    expect([await plain.list('anna'), await create({ prefix }).list('anna')]).toEqual([['jill'], ['jack']]);
  });

  test('128 contacts of 64 bytes stay a plain list in memory, also while they change', async () => {
    const prefix = freshPrefix();
    const recent = create({ prefix, capacity: 128 });
    const contacts = Array.from({ length: 200 }, (_, index) => String(index).padEnd(64, 'x'));
    for (const contact of contacts) await recent.touch('anna', contact);
    expect(await recent.list('anna')).toHaveLength(128);
    const [key] = await redis.keys(`${prefix}:*`);
    expect(await redis.object('ENCODING', key!)).toBe('listpack');
    const left = await redis.pttl(key!);
    expect(left).toBeGreaterThan(89 * 86_400_000);
  });

  test('100 handles of 12 bytes take at most 2.7 KB', async () => {
    const prefix = freshPrefix();
    const recent = create({ prefix });
    const contacts = Array.from({ length: 100 }, (_, index) => `handle-${String(index).padStart(5, '0')}`);
    await Promise.all(contacts.map((contact) => recent.touch('anna', contact)));
    const [key] = await redis.keys(`${prefix}:*`);
    expect(Number(await redis.call('MEMORY', 'USAGE', key!))).toBeLessThanOrEqual(2_700);
  });

  test.each([
    [{ capacity: 129 }, RangeError],
    [{ capacity: 0 }, RangeError],
    [{ halfLifeMs: 999 }, RangeError],
    [{ halfLifeMs: Number.NaN }, RangeError],
    [{ halfLifeMs: Number.POSITIVE_INFINITY }, RangeError],
    [{ halfLifeMs: '1' as unknown as number }, TypeError],
    [{ halfLifeMs: null as unknown as number }, TypeError],
  ])('%j is refused', (options, error) => {
    expect(() => create(options)).toThrow(error);
  });
});

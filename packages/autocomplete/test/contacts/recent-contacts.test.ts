import { describe, expect, test } from '@jest/globals';
import { RecentContacts } from '@mortise/autocomplete';
import type { RecentContactsOptions } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';
import { recentContactsRank } from '../../src/scripts.gen.js';

const redis = connect();
const HOUR_MS = 3_600_000;

function create(options: RecentContactsOptions = {}): RecentContacts {
  return new RecentContacts(redis, { prefix: freshPrefix(), ...options });
}

/** By frecency. */
function ranked(options: RecentContactsOptions = {}): RecentContacts {
  return create({ halfLifeMs: HOUR_MS, ...options });
}

/** Names that break keys, scripts or texts where they are not encoded. */
const HOSTILE = [
  '}x',
  '{}',
  '{',
  '%',
  '%7D',
  '\n',
  '\0',
  'a\0b',
  '😀',
  ' ',
  '+',
  '-',
  '*',
  '__proto__',
  'é',
  'e\u0301',
];

describe('touch', () => {
  test('puts the contact in front, also one that is there', async () => {
    const recent = create();
    for (const contact of ['jack', 'jill', 'joe', 'jack']) await recent.touch('anna', contact);
    expect(await recent.list('anna')).toEqual(['jack', 'joe', 'jill']);
  });

  test('touchMany touches in order, in one tick with other changes, and nothing where a contact is refused', async () => {
    const recent = create();
    await Promise.all([
      recent.touch('anna', 'joe'),
      recent.touchMany('anna', ['jack', 'jill', 'jack']),
      recent.touchMany('anna', []),
      recent.touch('anna', 'ben'),
    ]);
    expect(await recent.list('anna')).toEqual(['ben', 'jack', 'jill', 'joe']);
    await expect(recent.touchMany('anna', ['carl', ''])).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
    expect(await recent.list('anna')).toEqual(['ben', 'jack', 'jill', 'joe']);
  });

  test('keeps the order of calls made in the same tick, with removals among them', async () => {
    const recent = create();
    const results = await Promise.all([
      recent.touch('anna', 'jack'),
      recent.touch('anna', 'jill'),
      recent.remove('anna', 'jack'),
      recent.touch('anna', 'joe'),
      recent.remove('anna', 'jack'),
      recent.touch('bert', 'jack'),
    ]);
    expect(results).toEqual([undefined, undefined, true, undefined, false, undefined]);
    expect(await recent.list('anna')).toEqual(['joe', 'jill']);
    expect(await recent.list('bert')).toEqual(['jack']);
  });

  test('drops the contact that was touched longest ago when the capacity is reached', async () => {
    const recent = create({ capacity: 3 });
    for (const contact of ['a', 'b', 'c', 'a', 'd']) await recent.touch('anna', contact);
    expect(await recent.list('anna')).toEqual(['d', 'a', 'c']);
  });

  test('keeps the last 100 by default, from more calls than one script takes', async () => {
    const recent = create();
    await Promise.all(Array.from({ length: 250 }, (_, index) => recent.touch('anna', `contact ${index}`)));
    const contacts = await recent.list('anna');
    expect(contacts).toHaveLength(100);
    expect([contacts[0], contacts[99]]).toEqual(['contact 249', 'contact 150']);
  });

  test('tells contacts apart byte by byte and keeps their display form', async () => {
    const recent = create();
    for (const contact of ['Jack', 'jack', 'JACK', 'Jáck']) await recent.touch('anna', contact);
    expect(await recent.list('anna')).toEqual(['Jáck', 'JACK', 'jack', 'Jack']);
    expect(await recent.complete('anna', 'ja')).toEqual(['Jáck', 'JACK', 'jack', 'Jack']);
  });

  test.each([[''], ['x'.repeat(1_025)]])('refuses a contact of a wrong length', async (contact) => {
    await expect(create().touch('anna', contact)).rejects.toThrow(RangeError);
    await expect(create().touch(contact, 'jack')).rejects.toThrow(RangeError);
  });

  test.each([[undefined], [null], [7], [['jack']], ['a\ud83d'], ['\ude00']])(
    'refuses the contact %j',
    async (contact) => {
      await expect(create().touch('anna', contact as string)).rejects.toThrow(TypeError);
    },
  );
});

describe('remove', () => {
  test('returns whether the contact existed', async () => {
    const recent = create();
    await recent.touch('anna', 'Jack');
    expect(await recent.remove('anna', 'jack')).toBe(false);
    expect(await recent.remove('anna', 'Jack')).toBe(true);
    expect(await recent.remove('anna', 'Jack')).toBe(false);
    expect(await recent.list('anna')).toEqual([]);
  });
});

describe('complete', () => {
  test('finds by the beginning, the last touched first, up to the limit', async () => {
    const recent = create();
    for (const contact of ['jack', 'jill', 'bob', 'jane', 'ajax']) await recent.touch('anna', contact);
    expect(await recent.complete('anna', 'j')).toEqual(['jane', 'jill', 'jack']);
    expect(await recent.complete('anna', 'j', { limit: 2 })).toEqual(['jane', 'jill']);
    expect(await recent.complete('anna', 'jax')).toEqual([]);
    expect(await recent.complete('bert', 'j')).toEqual([]);
  });

  test('matches everything with an empty text, 10 by default', async () => {
    const recent = create();
    await Promise.all(Array.from({ length: 12 }, (_, index) => recent.touch('anna', `c${index}`)));
    expect(await recent.complete('anna', '')).toHaveLength(10);
    expect(await recent.complete('anna', '', { limit: 1_000 })).toHaveLength(12);
  });

  test('ignores case, accents and width, and answers with the form that was touched', async () => {
    const recent = create();
    for (const contact of ['Łukasz', 'Straße', 'İpek', 'ΟΔΟΣ', 'José', '존경', '😀 Jo'])
      await recent.touch('anna', contact);
    const found: Record<string, string[]> = {};
    for (const text of ['luk', 'STRASS', 'ip', 'οδος', 'jose\u0301', 'ＪＯ', '조', '😀', '\ud83d', '中']) {
      found[text] = await recent.complete('anna', text, { limit: 2 });
    }
    expect(found).toEqual({
      luk: ['Łukasz'],
      STRASS: ['Straße'],
      ip: ['İpek'],
      οδος: ['ΟΔΟΣ'],
      'jose\u0301': ['José'],
      ＪＯ: ['José'],
      조: ['존경'],
      '😀': ['😀 Jo'],
      // Half of an emoji is no text yet.
      '\ud83d': ['😀 Jo', '존경'],
      中: [],
    });
  });

  test('does not confuse a contact with the stored form of another', async () => {
    const recent = create();
    for (const contact of ['a b\0A\0B', 'A\0B', 'a b', 'a b\0a b']) await recent.touch('anna', contact);
    expect(await recent.complete('anna', 'A B')).toEqual(['a b\0a b', 'a b', 'A\0B', 'a b\0A\0B']);
    expect(await recent.remove('anna', 'A\0B')).toBe(true);
    expect(await recent.list('anna')).toEqual(['a b\0a b', 'a b', 'a b\0A\0B']);
  });

  test.each([[0], [-1], [1.5], [1_001], [1e9], [Number.NaN], [Number.POSITIVE_INFINITY]])(
    'refuses the limit %d',
    async (limit) => {
      await expect(create().complete('anna', 'j', { limit })).rejects.toThrow(
        new RangeError(`limit must be a whole number from 1 to 1000, got ${limit}`),
      );
    },
  );

  test('a text of nothing but spaces or accents matches all, one of 10 kB only longer names', async () => {
    const recent = create();
    await recent.touch('anna', 'jack');
    for (const text of ['  ', '\u0301\u0308', '\u200d', '\t\n\0'])
      expect(await recent.complete('anna', text)).toEqual(['jack']);
    expect(await recent.complete('anna', 'j'.repeat(10_000))).toEqual([]);
    expect(await recent.complete('anna', `${'\u0301'.repeat(10_000)}j`)).toEqual(['jack']);
  });

  test('a text longer than any name finds nothing and is not folded', async () => {
    const recent = create();
    await recent.touch('anna', 'jack');
    expect(await recent.complete('anna', ' '.repeat(16_384))).toEqual(['jack']);
    expect(await recent.complete('anna', ' '.repeat(16_385))).toEqual([]);
    await expect(recent.complete('anna', ' '.repeat(16_385), { limit: 0 })).rejects.toThrow(RangeError);
  });

  test.each([[undefined], [null], [1], [{}]])('refuses the text %j', async (text) => {
    await expect(create().complete('anna', text as string)).rejects.toThrow(TypeError);
  });
});

describe('any name', () => {
  test.each(HOSTILE)('%j is a user of its own', async (user) => {
    const recent = create();
    await recent.touch(user, 'jack');
    for (const other of HOSTILE) expect(await recent.list(other)).toEqual(other === user ? ['jack'] : []);
  });

  test('is a contact of its own', async () => {
    const recent = create();
    for (const contact of HOSTILE) await recent.touch('anna', contact);
    expect(await recent.list('anna')).toEqual(HOSTILE.toReversed());
    for (const contact of HOSTILE)
      expect(await recent.complete('anna', contact, { limit: 100 })).toContain(contact);
    for (const contact of HOSTILE) expect(await recent.remove('anna', contact)).toBe(true);
  });
});

describe('displayOf', () => {
  test('is the part of a contact by which it is found', async () => {
    const recent = create({ displayOf: (contact) => contact.slice(contact.indexOf('|') + 1) });
    for (const contact of ['4711|Jack', '4712|José', '4713|Jack']) await recent.touch('anna', contact);
    expect(await recent.complete('anna', 'ja')).toEqual(['4713|Jack', '4711|Jack']);
    expect(await recent.complete('anna', '47')).toEqual([]);
    expect(await recent.remove('anna', '4713|Jack')).toBe(true);
    expect(await recent.list('anna')).toEqual(['4712|José', '4711|Jack']);
    expect(recent.displayOf('4711|Jack')).toBe('Jack');
    expect(create().displayOf('4711|Jack')).toBe('4711|Jack');
  });

  test('that gives no text refuses the contact', async () => {
    await expect(create({ displayOf: () => '' }).touch('anna', 'jack')).rejects.toThrow(RangeError);
    const broken = create({ displayOf: () => 7 as unknown as string });
    await expect(broken.touch('anna', 'jack')).rejects.toThrow(TypeError);
    expect(() => create({ displayOf: 'name' as unknown as () => string })).toThrow(TypeError);
  });
});

describe('options', () => {
  test.each([
    [{ capacity: 0 }],
    [{ capacity: 1_001 }],
    [{ capacity: Number.NaN }],
    [{ capacity: 2.5 }],
    [{ keepMs: 0 }],
    [{ keepMs: Number.POSITIVE_INFINITY }],
    [{ keepMs: Number.NaN }],
    [{ prefix: '' }],
  ])('%j is refused', (options) => {
    expect(() => new RecentContacts(redis, options)).toThrow(RangeError);
  });
});

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
    const recent = ranked();
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
    const recent = ranked({ prefix });
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
    const recent = ranked({ capacity: 2 });
    for (const contact of ['jack', 'jack', 'jill', 'jill', 'jill']) await recent.touch('anna', contact);
    await recent.touch('anna', 'joe');
    expect(await recent.list('anna')).toEqual(['jill', 'joe']);
    await recent.touch('anna', 'jim');
    expect(await recent.list('anna')).toEqual(['jill', 'jim']);
  });

  test('a smaller capacity holds from the next change on', async () => {
    const prefix = freshPrefix();
    for (const contact of ['a', 'b', 'b', 'c', 'c', 'c']) await ranked({ prefix }).touch('anna', contact);
    const recent = ranked({ prefix, capacity: 1 });
    await recent.touch('anna', 'c');
    expect(await recent.list('anna')).toEqual(['c']);
  });

  test('calls of one tick are made in their order', async () => {
    const recent = ranked();
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
    expect(await ranked({ prefix }).list('anna')).toEqual(['joe', 'jack', 'jill']);
    for (const contact of ['joe', 'jack', 'jill']) expect(await redis.zscore(key, contact)).toMatch(/^-\d+$/);
  });

  test('keeps its contacts apart from those without', async () => {
    const prefix = freshPrefix();
    await ranked({ prefix }).touch('anna', 'jack');
    const plain = create({ prefix });
    await plain.touch('anna', 'jill');
    expect([await plain.list('anna'), await ranked({ prefix }).list('anna')]).toEqual([['jill'], ['jack']]);
  });

  test('128 contacts of 64 bytes stay a plain list in memory, also while they change', async () => {
    const prefix = freshPrefix();
    const recent = ranked({ prefix, capacity: 128 });
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
    const recent = ranked({ prefix });
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
    expect(() => ranked(options)).toThrow(error);
  });
});

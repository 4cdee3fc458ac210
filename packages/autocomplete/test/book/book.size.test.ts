/** Large books: how full their blocks are, and the work of a deep page. */
import { describe, expect, test } from '@jest/globals';
import { AddressBook } from '@mortise/autocomplete';
import { connect, freshPrefix, transcript } from '@mortise/test-kit';
import * as scripts from '../../src/scripts.gen.js';

const redis = connect();
const COUNT = 2_000;
/** The most members of a block. */
const FULL = 46;

/** Names in the order of their bytes. */
const names = Array.from({ length: COUNT }, (_, index) => `name${String(index * 7_919).padStart(9, '0')}`);

describe('a load of names', () => {
  const orders: Readonly<Record<string, readonly string[]>> = {
    ascending: names,
    descending: names.toReversed(),
    'in the second half first': [...names.slice(COUNT / 2), ...names.slice(0, COUNT / 2)],
  };

  test.each(Object.entries(orders))('%s fills its blocks', async (_, order) => {
    const prefix = freshPrefix();
    const book = new AddressBook(redis, 'guild', { prefix });
    await book.addMany(order.map((key) => ({ key })));
    const blocks = await redis.zcard(`${prefix}:autocomplete:{guild}:directory:1`);
    expect(COUNT / blocks).toBeGreaterThan(0.9 * FULL);
    const found = await book.page('name', { order: 'alphabetical', limit: 1_000 });
    expect(found.suggestions.map(({ key }) => key)).toEqual(names.slice(0, 1_000));
  });

  test('in no order, in many ticks, leaves no blocks with a few names', async () => {
    const prefix = freshPrefix();
    const book = new AddressBook(redis, 'guild', { prefix });
    const STEP = 1_237;
    for (let index = 0; index < COUNT; index += 100) {
      const part = Array.from({ length: 100 }, (_, at) => ({ key: names[((index + at) * STEP) % COUNT]! }));
      await book.addMany(part);
    }
    const blocks = await redis.zcard(`${prefix}:autocomplete:{guild}:directory:1`);
    expect(COUNT / blocks).toBeGreaterThan(0.5 * FULL);
  });
});

describe('a deep page', () => {
  test.each([
    ['equal scores: it goes straight to its place', () => 0, 120],
    ['few scores: so it does', (index: number) => index % 3, 120],
    [
      'all kinds of scores: it reads one name of most blocks',
      (index: number) => (index * 7_919) % COUNT,
      250,
    ],
  ])('of names with %s', async (_, scoreOf, most) => {
    const prefix = freshPrefix();
    const book = new AddressBook(redis, 'guild', { prefix });
    const entries = names.map((key, index) => ({ key, score: scoreOf(index) }));
    await book.addMany(entries);
    const sorted = entries.toSorted((a, b) => b.score - a.score || (a.key < b.key ? -1 : 1));
    const { cursor } = await book.page('', { limit: 900 });
    const before = await book.page('', { limit: 900, cursor });
    let found: string[] = [];
    const lines = await transcript(redis, { prefix, scripts }, async () => {
      const page = await book.page('', { limit: 10, cursor: before.cursor });
      found = page.suggestions.map(({ key }) => key);
    });
    expect(found).toEqual(sorted.slice(1_800, 1_810).map(({ key }) => key));
    expect(lines.length).toBeLessThan(most);
  });
});

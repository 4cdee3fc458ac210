/** Completions of books: quick answers, pages with typing errors, and books that have lost their marks. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { AddressBook } from '@mortise/autocomplete';
import type { AddEntry } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';
import { MAX_QUICK } from '../../src/book/complete/quick-answers.js';
import { bookFuzzy } from '../../src/scripts.gen.js';

const redis = connect();

afterEach(() => {
  jest.restoreAllMocks();
});

// Quick answers against those of the script that looks at everything, which is brute force's match in `book.model.test.ts`.
type Entries = readonly AddEntry<unknown>[];

const FIRST = ['jo', 'joan', 'zoë', 'Łukasz', 'ann', '존', 'john'];
const of = (count: number, make: (index: number) => AddEntry<unknown>): Entries =>
  Array.from({ length: count }, (_, index) => make(index));
const firstOf = (index: number): string => FIRST[index % FIRST.length]!;

const BOOKS: readonly [what: string, entries: Entries][] = [
  ['handles, many of one score', of(300, (index) => ({ key: `j${index.toString(36)}o`, score: index % 3 }))],
  ['handles in one block', of(30, (index) => ({ key: `j${index * 7}`, score: index % 4 }))],
  [
    'people with cards',
    of(200, (index) => ({
      key: String(index),
      display: `${firstOf(index)} ${firstOf(index * 3 + 1)}${index}`,
      score: index % 5,
      payload: { text: 'a\u0001\u0002b' },
    })),
  ],
  [
    'some with cards, others not',
    of(200, (index) => ({
      key: `${firstOf(index)}${index}`,
      score: index % 6,
      ...(index % 3 === 0 && { aliases: ['jo jo'] }),
    })),
  ],
  [
    'members so long that Redis keeps their blocks without an order',
    of(60, (index) => ({ key: `john ${'x'.repeat(50)} ${'y'.repeat(40)}${index}`, score: (index * 7) % 11 })),
  ],
  ['one entry with many members', [{ key: 'jo joan john jon joe jody' }]],
  ['nobody', []],
];
const TYPED = [
  '',
  'j',
  'jo',
  'JO',
  'john',
  'johnx',
  'ann',
  'zoe',
  'zoë',
  'ł',
  'ㅈ',
  '존',
  'x',
  'y',
  '1',
  'jo1',
  '*',
  'j*',
];

describe.each(BOOKS)('quick answers of %s', (_, entries) => {
  test.each([{}, { halfLifeMs: 3_600_000_000 }])(
    'are the beginning of all answers, with %j',
    async (options) => {
      const book = new AddressBook(redis, 'guild', { prefix: freshPrefix(), ...options });
      await book.addMany(entries);
      for (const text of TYPED) {
        const all = await book.complete(text, { limit: 1_000 });
        const limits = [1, 2, 5, 10, 11, 12];
        // All in one call.
        const quick = await Promise.all(limits.map((limit) => book.complete(text, { limit })));
        for (const [index, limit] of limits.entries()) {
          // With a half-life scores sink from call to call.
          const score = expect.any(Number);
          const best = all
            .slice(0, limit)
            .map((one) => ({ ...one, ...('halfLifeMs' in options && { score }) }));
          expect([text, limit, ...quick[index]!]).toEqual([text, limit, ...best]);
          const page = await book.page(text, { limit });
          const rest = page.cursor === null ? null : await book.page(text, { limit, cursor: page.cursor });
          const keys = [...page.suggestions, ...(rest?.suggestions ?? [])].map(({ key }) => key);
          expect(keys).toEqual(all.slice(0, 2 * limit).map(({ key }) => key));
        }
      }
    },
  );
});

test('quick answers that fail reject each of their callers', async () => {
  const prefix = freshPrefix();
  const book = new AddressBook(redis, 'guild', { prefix });
  await redis.set(`${prefix}:autocomplete:{guild}:t:1:j`, 'no sorted set');
  const settled = await Promise.allSettled(['j', 'x'].map((text) => book.complete(text)));
  expect(settled.map((one) => one.status === 'rejected' && String(one.reason))).toEqual(
    ['j', 'x'].map(() => expect.stringContaining('WRONGTYPE')),
  );
});

test('quick answers are for as many entries as a top set has at least', () => {
  const tops = readFileSync(join(import.meta.dirname, '../../src/book/change/book.tops.section.lua'), 'utf8');
  expect(/^local LEAST_TOP, .* = (\d+),/m.exec(tops)?.[1]).toBe(String(MAX_QUICK));
});

/** The most calls of one request for matches after an edit. */
const MOST_CALLS = 8;

async function bookOf(scores: ReadonlyMap<string, number>): Promise<AddressBook> {
  const book = new AddressBook(redis, 'guild', { prefix: freshPrefix() });
  await book.addMany([...scores].map(([key, score]) => ({ key, score })));
  return book;
}

/** Calls `act` after each call for matches after an edit. Returns a function that counts these calls. */
function afterEachCall(act: (calls: number) => Promise<unknown>): () => number {
  const run = bookFuzzy.run.bind(bookFuzzy);
  let calls = 0;
  jest.spyOn(bookFuzzy, 'run').mockImplementation(async (...args) => {
    const reply = await run(...args);
    calls += 1;
    await act(calls);
    return reply;
  });
  return () => calls;
}

/** Exact answers to `anna`, all of which an edit finds as well; then entries that match only after an edit. */
function scoresOf(exact: number, edited: readonly [string, number][]): Map<string, number> {
  const all = Array.from({ length: exact }, (_, index): [string, number] => [
    `anna hanna${index}`,
    50_000 - index,
  ]);
  return new Map([...all, ...edited]);
}

describe('pages with typing errors', () => {
  test('cost a request few calls, however many exact matches there are, and lose nothing', async () => {
    const edited: [string, number][] = [
      ['hanna', 60_000],
      ['hanna zed', 3],
      ['hanna yak', 2],
    ];
    const last: [string, number][] = [
      ['annb', 70_000],
      ['annc', 1],
    ];
    const scores = scoresOf(4_500, [...edited, ...last]);
    const book = await bookOf(scores);
    const calls = afterEachCall(async () => undefined);
    const found: string[] = [];
    const lengths: number[] = [];
    let cursor: string | null = null;
    let before = 0;
    do {
      const limit: number = found.length < 4_000 ? 1_000 : 400;
      const page = await book.page('anna', { fuzzy: true, limit, cursor });
      found.push(...page.suggestions.map(({ key }) => key));
      lengths.push(page.suggestions.length);
      ({ cursor } = page);
      expect(calls() - before).toBeLessThanOrEqual(MOST_CALLS);
      before = calls();
    } while (cursor !== null);
    expect(found).toEqual([
      ...[...scores.keys()].slice(0, 4_500),
      ...edited.map(([key]) => key),
      ...last.map(([key]) => key),
    ]);
    // The first request after the exact answers gives up among those that an edit finds as well.
    expect(lengths).toEqual([1_000, 1_000, 1_000, 1_000, 400, 101, 4]);
  });

  test('find an error in the last letter only in entries without the word itself', async () => {
    const names = Array.from({ length: 2_000 }, (_, index): [string, number] => [
      `anna${index}`,
      5_000 - index,
    ]);
    const book = await bookOf(new Map([...names, ['annb', 9_000], ['annc', 1]]));
    let { cursor } = await book.page('anna', { fuzzy: true, limit: 1_000 });
    const calls = afterEachCall(async () => undefined);
    ({ cursor } = await book.page('anna', { fuzzy: true, limit: 990, cursor: cursor! }));
    expect(calls()).toBe(0);
    const end = await book.page('anna', { fuzzy: true, limit: 100, cursor: cursor! });
    expect(end.suggestions.map(({ key }) => key)).toEqual([
      ...names.slice(1_990).map(([key]) => key),
      'annb',
      'annc',
    ]);
    expect([end.cursor, calls()]).toEqual([null, 1]);
  });

  test('go on where an entry has sunk between two calls, and have it once', async () => {
    const exact = 600;
    const scores = scoresOf(exact, [
      ['hanna x', 60_000],
      ['hanna w', 5],
      ['hanna y', 3],
      ['hanna z', 1],
    ]);
    const book = await bookOf(scores);
    const calls = afterEachCall(async (count) => {
      // The first call has returned it, and stopped among the members that match exactly.
      if (count === 1) await book.boost('hanna x', 4 - 60_000);
    });
    const page = await book.page('anna', { fuzzy: true, limit: exact + 3 });
    expect(calls()).toBeGreaterThan(1);
    const keys = page.suggestions.slice(exact).map(({ key }) => key);
    expect(keys).toEqual(['hanna x', 'hanna w', 'hanna y']);
    const { suggestions, cursor } = await book.page('anna', {
      fuzzy: true,
      limit: 9,
      cursor: page.cursor!,
    });
    expect([...suggestions.map(({ key }) => key), cursor]).toEqual(['hanna z', null]);
  });
});

/** Names in an order that has nothing to do with their number, so that blocks split everywhere. */
const nameOf = (index: number): string =>
  ((index * 7_919) % 100_003)
    .toString(26)
    .padStart(5, '0')
    .replace(/\d/g, (digit) => 'qrstuvwxyz'[Number(digit)]!);

// Marks are evicted, or deleted by hand. Searches look at more then, and find the same.
test.each(['marks:1:new', 'marks:1'])(
  '%s is lost: books grow on, and are searched as before',
  async (which) => {
    const prefix = freshPrefix();
    const book = new AddressBook(redis, 'guild', { prefix });
    const key = `${prefix}:autocomplete:{guild}:${which}`;
    let lost = 0;
    for (let from = 0; from < 8_000; from += 20) {
      await book.addMany(
        Array.from({ length: 20 }, (_, at) => ({ key: nameOf(from + at), score: from + at })),
      );
      if (lost < 2) lost += await redis.del(key);
    }
    expect(lost).toBe(2);
    expect(await book.size()).toBe(8_000);
    const top = await book.complete('', { limit: 3 });
    expect(top.map(({ score }) => score)).toEqual([7_999, 7_998, 7_997]);
    for (const index of [7, 4_000, 7_999]) {
      const [a, b, ...rest] = nameOf(index);
      const found = await book.complete([b, a, ...rest].join(''), { fuzzy: true, limit: 50 });
      expect(found.map(({ key: name }) => name)).toContain(nameOf(index));
    }
  },
);

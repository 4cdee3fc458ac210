/** Quick answers against those of the script that looks at everything, which is brute force's match in `book.model.test.ts`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { AddressBook } from '@mortise/autocomplete';
import type { AddEntry } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';
import { MAX_QUICK } from '../../src/book/complete/quick-answers.js';

const redis = connect();

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

describe.each(BOOKS)('of %s', (_, entries) => {
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

test('that fail reject each of their callers', async () => {
  const prefix = freshPrefix();
  const book = new AddressBook(redis, 'guild', { prefix });
  await redis.set(`${prefix}:autocomplete:{guild}:t:1:j`, 'no sorted set');
  const settled = await Promise.allSettled(['j', 'x'].map((text) => book.complete(text)));
  expect(settled.map((one) => one.status === 'rejected' && String(one.reason))).toEqual(
    ['j', 'x'].map(() => expect.stringContaining('WRONGTYPE')),
  );
});

test('are for as many entries as a top set has at least', () => {
  const tops = readFileSync(join(import.meta.dirname, '../../src/book/change/book.tops.section.lua'), 'utf8');
  expect(/^local LEAST_TOP, .* = (\d+),/m.exec(tops)?.[1]).toBe(String(MAX_QUICK));
});

/**
 * Random changes of a book against brute force. Blocks and top sets are so small that they split, join and are built again all the
 * time. Work is so bounded that most queries need several calls. After each run the structure itself is checked: each heavy prefix
 * has a top set, which is the beginning of the right list.
 */
import { expect, test } from '@jest/globals';
import { connect, freshPrefix } from '@mortise/test-kit';
import fc from 'fast-check';
import { AddressBook } from '../../src/book/address-book.js';
import { storeEntry } from '../../src/book/entry.js';
import { tokensOf } from '../../src/text/forms.js';
import { bookApply, bookComplete, bookFuzzy, bookList } from '../../src/scripts.gen.js';
import type { Answer } from './book.brute-force.js';
import { BruteForce } from './book.brute-force.js';
import { shrink, shrinkBlocks } from './shrink.js';

const redis = connect();

shrinkBlocks();
shrink(bookApply, 'BITS, LEAST_MARKED = 384, 64', 'BITS, LEAST_MARKED = 64, 2');
shrink(bookApply, 'MARKED_AT_ONCE = 4', 'MARKED_AT_ONCE = 2');
shrink(bookComplete, 'MOST_WALKED = 150', 'MOST_WALKED = 25');
for (const script of [bookComplete, bookList]) {
  shrink(script, 'blocksRead, maxBlocksRead = 0, 200', 'blocksRead, maxBlocksRead = 0, 3');
}
shrink(bookFuzzy, 'MOST_CHECKED = 500', 'MOST_CHECKED = 3');
for (const script of [bookComplete, bookList, bookFuzzy])
  shrink(script, "'LIMIT', '0', '16'", "'LIMIT', '0', '2'");

const ascii = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 });
const odd = fc.string({ unit: fc.constantFrom('a', 'é', 'я', '中', '😀', '존'), minLength: 1, maxLength: 3 });
const two = fc.tuple(ascii, ascii).map(([first, last]) => `${first} ${last}`);
const more = fc.array(ascii, { minLength: 3, maxLength: 4 }).map((words) => words.join(' '));
const name = fc.oneof(
  { weight: 4, arbitrary: ascii },
  { weight: 3, arbitrary: two },
  { weight: 1, arbitrary: more },
  { weight: 2, arbitrary: odd },
  { weight: 1, arbitrary: fc.constantFrom('a a', 'b b b', 'c c b') },
);
/** So many have these that parts of the book differ by their keys alone. */
const shared = fc.constantFrom('ab ca', 'ca ab bb', 'ab cab');
const score = fc.oneof(fc.integer({ min: -2, max: 4 }), fc.constantFrom(0.5, 1e9));
const change = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('add' as const),
      key: name,
      score: fc.option(score, { nil: undefined }),
      display: fc.option(fc.oneof(name, shared), { nil: undefined }),
      aliases: fc.option(fc.array(name, { maxLength: 2 }), { nil: undefined, freq: 4 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('remove' as const), which: fc.nat(200) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('boost' as const),
      which: fc.nat(200),
      by: fc.constantFrom(1, 1, 3, -2, -5),
    }),
  },
);
const token = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 5 });
const query = fc.record({
  text: fc.oneof(
    fc.constant(''),
    token,
    name,
    fc.tuple(token, token).map((tokens) => tokens.join(' ')),
    fc.tuple(token, token, token).map((tokens) => tokens.join(' ')),
    fc.constantFrom('a c', 'ab ca', 'c ab b', 'ab c b'),
  ),
  limit: fc.constantFrom(1, 2, 3, 7, 20, 500),
  fuzzy: fc.boolean(),
  order: fc.constantFrom('score' as const, 'score' as const, 'alphabetical' as const),
});
type Query = typeof query extends fc.Arbitrary<infer T> ? T : never;
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** Prefixes of top sets end anywhere in a code point, so the model uses bytes, each a character. */
const bytesOf = (text: string): string => Buffer.from(text).toString('latin1');
async function rangeOf(key: string): Promise<string[]> {
  const range = await redis.zrangeBuffer(Buffer.from(key, 'latin1'), '0', '-1');
  return range.map((member) => member.toString('latin1'));
}

/** Which bits of the marks stand for a member: its first bytes, its first five and its first six ones. */
function bitsOf(member: string, bits: number): number[] {
  const begun = [5, 6]
    .filter((length) => member.length >= length)
    .map((length) =>
      Buffer.from(member.slice(0, length), 'latin1').reduce((all, byte) => all * 131 + byte, 0),
    )
    .map((number) => 256 + (number % (bits - 256)));
  return [...begun, ...Buffer.from(member.slice(0, 6), 'latin1')];
}

async function checkStructure(prefix: string, model: BruteForce): Promise<void> {
  const keys = (await redis.keysBuffer(`${prefix}:*`)).map((key) => key.toString('latin1'));
  const part = (key: string): string => key.slice(key.indexOf('}:') + 2);
  const members = [...model.entries.values()].flatMap((known) =>
    known.members.map((member) => ({
      member: bytesOf(member),
      rank: known.score === 0 ? 0 : -known.score,
    })),
  );
  const ordered = members.toSorted((a, b) => a.rank - b.rank || (a.member < b.member ? -1 : 1));
  /** By which the whole book has its entries. */
  const firsts = new Set(
    [...model.entries.values()].map(
      ({ members: own }) =>
        own
          .map(bytesOf)
          .filter((member) => !member.startsWith('\u0003'))
          .toSorted()[0],
    ),
  );
  const directoryKey = keys.find((key) => part(key).startsWith('directory'));
  const entries = directoryKey ? await rangeOf(directoryKey) : [];
  const starts = entries.map((entry) => entry.slice(0, entry.indexOf('\0')));
  const within = (heavy: string): number =>
    starts.filter((start) => start.startsWith(heavy) && start !== heavy).length;
  const marksKey = keys.find((key) => part(key) === 'marks:1');
  const marks = marksKey === undefined ? undefined : await redis.getBuffer(marksKey);
  const stored: string[] = [];
  const tops: string[] = [];
  for (const key of keys) {
    if (part(key).startsWith('b:')) {
      const block = await rangeOf(key);
      expect(block.length).toBeLessThanOrEqual(4);
      stored.push(...block);
      const marked = marks ? block.flatMap((member) => bitsOf(member, 8 * marks.length)) : [];
      for (const bit of marked) expect(marks![bit >> 3]! & (128 >> (bit & 7))).not.toBe(0);
    }
    if (!part(key).startsWith('t:')) continue;
    const heavy = part(key).slice('t:1:'.length);
    tops.push(heavy);
    const top = await rangeOf(key);
    const truth = ordered
      .filter(({ member }) => (heavy === '' ? firsts.has(member) : member.startsWith(heavy)))
      .map(({ member }) => member);
    expect(top).toEqual(truth.slice(0, top.length));
    expect(top.length).toBeLessThanOrEqual(6);
    expect(top.length).toBeGreaterThanOrEqual(Math.min(2, truth.length));
    expect(within(heavy)).toBeGreaterThanOrEqual(2);
  }
  expect(stored.toSorted()).toEqual(members.map(({ member }) => member).toSorted());
  const prefixes = starts.flatMap((start) => Array.from(start, (_, length) => start.slice(0, length)));
  expect(new Set(tops)).toEqual(new Set(prefixes.filter((one) => within(one) >= 2)));
}

/** All pages of a query together equal the answer of brute force, and so does one page of any size. */
async function ask(
  book: AddressBook,
  model: BruteForce,
  { text, limit, fuzzy, order }: Query,
): Promise<void> {
  const tokens = tokensOf(text);
  const options = { order, fuzzy: fuzzy && order === 'score' };
  const pages: Answer[] = [];
  let cursor: string | null = null;
  do {
    const page = await book.page(text, { ...options, limit, ...(cursor !== null && { cursor }) });
    expect(page.suggestions.length).toBeLessThanOrEqual(limit);
    pages.push(...page.suggestions.map(({ key, score: given }): Answer => [key, given]));
    ({ cursor } = page);
  } while (cursor !== null);
  const expected = order === 'alphabetical' ? model.listed(tokens) : model.best(tokens, options.fuzzy);
  const asked = JSON.stringify([text, limit, options]);
  expect([asked, ...pages]).toEqual([asked, ...expected]);
  const exact = await book.complete(text, { limit: 1_000 });
  expect(new Set(exact.map(({ key }) => key))).toEqual(model.matching(tokens));
}

let operations = 0;
async function play(ticks: readonly (readonly Change[])[], queries: readonly Query[]): Promise<void> {
  const prefix = freshPrefix();
  const book = new AddressBook(redis, 'guild', { prefix });
  const model = new BruteForce();
  for (const tick of ticks) {
    const expected: unknown[] = [];
    const answers = tick.map((one) => {
      operations += 1;
      const keys = [...model.entries.keys()];
      if (one.type === 'add') {
        const known = model.entries.get(one.key);
        const { key, display = key } = one;
        const aliases = [...new Set(one.aliases)].filter((alias) => alias !== display);
        const { members } = storeEntry({ key, display, aliases, payload: undefined });
        const names = [display, ...aliases];
        model.entries.set(key, { names, members, score: one.score ?? known?.score ?? 0 });
        expected.push(known === undefined);
        return book.add({
          key: one.key,
          ...(one.score !== undefined && { score: one.score }),
          ...(one.display !== undefined && { display: one.display }),
          ...(one.aliases !== undefined && { aliases: one.aliases }),
        });
      }
      const key = keys[one.which % (keys.length + 2)] ?? 'nobody';
      const known = model.entries.get(key);
      if (one.type === 'remove') {
        expected.push(model.entries.delete(key));
        return book.remove(key);
      }
      if (known) known.score += one.by;
      expected.push(known ? known.score : null);
      return book.boost(key, one.by);
    });
    expect(await Promise.all(answers)).toEqual(expected);
  }
  expect(await book.size()).toBe(model.entries.size);
  for (const one of queries) await ask(book, model, one);
  await checkStructure(prefix, model);
  await Promise.all([...model.entries.keys()].map((key) => book.remove(key)));
  expect(await redis.keys(`${prefix}:*`)).toEqual([]);
}

const RUNS = Number(process.env['MORTISE_MODEL_RUNS'] ?? 17);
/** The time of one run on a busy machine. */
const RUN_MS = 6_000;

test(
  'answers as brute force does',
  async () => {
    const property = fc.asyncProperty(
      fc.array(fc.array(change, { minLength: 1, maxLength: 12 }), {
        minLength: 1,
        maxLength: 20,
        size: 'max',
      }),
      fc.array(query, { minLength: 4, maxLength: 12 }),
      play,
    );
    await fc.assert(property, { numRuns: RUNS, endOnFailure: true });
    expect(operations).toBeGreaterThan(RUNS);
  },
  RUNS * RUN_MS,
);

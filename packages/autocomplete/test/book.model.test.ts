/**
 * Random changes of a book against brute force, with blocks and top sets so small that they split, join and are made up again all
 * the time. After each run the structure itself is checked: what is heavy has a top set, and each is a prefix of the truth.
 */
import { expect, test } from '@jest/globals';
import { AddressBook } from '../src/book/address-book.js';
import { Script } from '@mortise/redis';
import { connect, freshPrefix } from '@mortise/test-kit';
import fc from 'fast-check';
import { membersOf, storeEntry } from '../src/book/entry.js';
import { wordsOf } from '../src/book/forms.js';
import { bookApply } from '../src/scripts.gen.js';

const redis = connect();

function shrink(from: string, to: string): void {
  const source = bookApply.definition.source.replace(from, to);
  expect(source).not.toBe(bookApply.definition.source);
  Object.assign(bookApply, new Script({ ...bookApply.definition, source }));
}
shrink(
  'MOST_BLOCK, LEAST_BLOCK, MERGED_BLOCK = 40, 8, 30',
  'MOST_BLOCK, LEAST_BLOCK, MERGED_BLOCK = 4, 2, 3',
);
shrink('LEAST_TOP, MIDDLE_TOP, MOST_TOP = 12, 20, 28', 'LEAST_TOP, MIDDLE_TOP, MOST_TOP = 2, 4, 6');

interface Known {
  readonly members: readonly string[];
  score: number;
}
const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

class Model {
  readonly entries = new Map<string, Known>();

  complete(prefix: string, limit: number): [string, number][] {
    const found = [...this.entries].flatMap(([key, { members, score }]) => {
      const first = members.filter((member) => member.startsWith(prefix)).toSorted(byBytes)[0];
      return first === undefined ? [] : [{ key, score, first }];
    });
    return found
      .toSorted((a, b) => b.score - a.score || byBytes(a.first, b.first))
      .slice(0, limit)
      .map(({ key, score }) => [key, score]);
  }
}

const ascii = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 });
const odd = fc.string({ unit: fc.constantFrom('a', 'é', 'я', '中', '😀', '존'), minLength: 1, maxLength: 3 });
const two = fc.tuple(ascii, ascii).map(([first, last]) => `${first} ${last}`);
const name = fc.oneof(
  { weight: 4, arbitrary: ascii },
  { weight: 2, arbitrary: two },
  { weight: 1, arbitrary: odd },
);
const score = fc.oneof(fc.integer({ min: -2, max: 4 }), fc.constantFrom(0.5, 1e9));
const change = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('add' as const),
      key: name,
      score: fc.option(score, { nil: undefined }),
      display: fc.option(name, { nil: undefined }),
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
const query = fc.record({
  prefix: fc.oneof(
    fc.constant(''),
    fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 3 }),
    name,
  ),
  limit: fc.constantFrom(1, 2, 3, 7, 20, 500),
});
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

async function checkStructure(prefix: string, model: Model): Promise<void> {
  const keys = await redis.keys(`${prefix}:*`);
  const part = (key: string): string => key.slice(key.indexOf('}:') + 2);
  const members = [...model.entries.values()].flatMap((known) =>
    known.members.map((member) => ({ member, rank: known.score === 0 ? 0 : -known.score })),
  );
  const ordered = members.toSorted((a, b) => a.rank - b.rank || byBytes(a.member, b.member));
  const directoryKey = keys.find((key) => part(key).startsWith('directory'));
  const starts = directoryKey
    ? (await redis.zrange(directoryKey, '0', '-1')).map((entry) => entry.slice(0, entry.indexOf('\0')))
    : [];
  const stored: string[] = [];
  for (const key of keys) {
    if (part(key).startsWith('block')) {
      const block = await redis.zrange(key, '0', '-1');
      expect(block.length).toBeLessThanOrEqual(4);
      stored.push(...block);
    }
    if (!part(key).startsWith('top')) continue;
    const heavy = part(key).slice('top:1:'.length);
    const top = await redis.zrange(key, '0', '-1');
    const truth = ordered.filter(({ member }) => member.startsWith(heavy)).map(({ member }) => member);
    expect(top).toEqual(truth.slice(0, top.length));
    expect(top.length).toBeLessThanOrEqual(6);
    expect(top.length).toBeGreaterThanOrEqual(Math.min(2, truth.length));
    expect(
      starts.filter((start) => start.startsWith(heavy) && start !== heavy).length,
    ).toBeGreaterThanOrEqual(2);
  }
  expect(stored.toSorted(byBytes)).toEqual(members.map(({ member }) => member).toSorted(byBytes));
  const heavies = new Set(
    starts
      .flatMap((start) => Array.from(start, (_, index) => Array.from(start).slice(0, index).join('')))
      .filter((p) => starts.filter((start) => start.startsWith(p) && start !== p).length >= 2),
  );
  const tops = keys
    .filter((key) => part(key).startsWith('top'))
    .map((key) => part(key).slice('top:1:'.length));
  expect(new Set(tops)).toEqual(heavies);
}

let operations = 0;
async function play(
  ticks: readonly (readonly Change[])[],
  queries: readonly { prefix: string; limit: number }[],
): Promise<void> {
  const prefix = freshPrefix();
  const book = new AddressBook(redis, 'guild', { prefix });
  const model = new Model();
  for (const tick of ticks) {
    const expected: unknown[] = [];
    const answers = tick.map((one) => {
      operations += 1;
      const keys = [...model.entries.keys()];
      if (one.type === 'add') {
        const known = model.entries.get(one.key);
        const { members } = storeEntry({
          key: one.key,
          display: one.display ?? one.key,
          aliases: [],
          payload: undefined,
        });
        model.entries.set(one.key, { members, score: one.score ?? known?.score ?? 0 });
        expected.push(known === undefined);
        return book.add({
          key: one.key,
          ...(one.score !== undefined && { score: one.score }),
          ...(one.display !== undefined && { display: one.display }),
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
  for (const { prefix: typed, limit } of queries) {
    const form = wordsOf(typed).join(' ');
    const found = await book.complete(typed, { limit });
    expect([form, ...found.map(({ key, score: given }) => [key, given])]).toEqual([
      form,
      ...model.complete(form, limit),
    ]);
  }
  await checkStructure(prefix, model);
  await Promise.all([...model.entries.keys()].map((key) => book.remove(key)));
  expect(await redis.keys(`${prefix}:*`)).toEqual([]);
}

test('answers as brute force does', async () => {
  const RUNS = Number(process.env['MORTISE_MODEL_RUNS'] ?? 150);
  const property = fc.asyncProperty(
    fc.array(fc.array(change, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 20, size: 'max' }),
    fc.array(query, { minLength: 4, maxLength: 12 }),
    play,
  );
  await fc.assert(property, { numRuns: RUNS, endOnFailure: RUNS > 150 });
  expect(operations).toBeGreaterThan(RUNS);
  expect(membersOf('jean')).toEqual(['jean']);
});

import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { AddressBook } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';
import { bookFuzzy } from '../../src/scripts.gen.js';

const redis = connect();
/** The most calls of one request for matches after an edit. */
const MOST_CALLS = 8;

afterEach(() => {
  jest.restoreAllMocks();
});

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
      const page = await book.page('anna', { fuzzy: true, limit, ...(cursor !== null && { cursor }) });
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

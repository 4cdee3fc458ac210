/**
 * Pages while a writer changes scores between all their calls, against brute force. An entry whose score stays is on one page, in the
 * order of scores, and no entry is twice on a page. Work is so bounded that most pages take several calls, and some end early.
 */
import { afterEach, expect, jest, test } from '@jest/globals';
import { connect, freshPrefix } from '@mortise/test-kit';
import fc from 'fast-check';
import { AddressBook } from '../../src/book/address-book.js';
import { storeEntry } from '../../src/book/entry.js';
import { tokensOf } from '../../src/text/forms.js';
import { bookComplete, bookFuzzy, bookQuick } from '../../src/scripts.gen.js';
import { BruteForce } from './book.brute-force.js';
import { SCRIPTS, wordIn } from '../fixture/scripts-of-the-world.js';
import { shrink, shrinkBlocks } from './shrink.js';

const redis = connect();
shrinkBlocks();
shrink(bookComplete, 'MOST_WALKED = 150', 'MOST_WALKED = 10');
shrink(bookComplete, 'blocksRead, maxBlocksRead = 0, 200', 'blocksRead, maxBlocksRead = 0, 3');
shrink(bookFuzzy, 'MOST_CHECKED = 500', 'MOST_CHECKED = 2');

afterEach(() => {
  jest.restoreAllMocks();
});

/** Runs `act` before each call of a script. */
function beforeEachCall(act: () => Promise<unknown>): void {
  for (const script of [bookComplete, bookFuzzy, bookQuick]) {
    const run = script.run.bind(script) as (...args: unknown[]) => Promise<unknown>;
    jest.spyOn(script as { run: typeof run }, 'run').mockImplementation(async (...args) => {
      await act();
      return run(...args);
    });
  }
}

const LIMITS = [1, 2, 3, 5, 20];
/** Scores that change before each call. */
const MOVES = 4;

const book = fc.constantFrom(...SCRIPTS).chain((script) =>
  fc.record({
    script: fc.constant(script),
    // Few words in many names: so there are many answers to each, of which an edit finds others as well.
    words: fc.uniqueArray(wordIn(script), { minLength: 3, maxLength: 5, size: 'max' }),
    entries: fc.array(
      fc.record({
        words: fc.array(fc.nat(20), { minLength: 1, maxLength: 3 }),
        score: fc.integer({ min: 0, max: 30 }),
      }),
      { minLength: 20, maxLength: 70, size: 'max' },
    ),
    moves: fc.array(fc.record({ which: fc.nat(100), score: fc.integer({ min: 0, max: 30 }) }), {
      minLength: 23,
      maxLength: 23,
    }),
    queries: fc.array(
      fc.record({
        words: fc.array(fc.nat(20), { minLength: 1, maxLength: 2 }),
        // Nothing typed: all entries.
        cut: fc.constantFrom(0, 1, 2, 3, 3, 4, 4, 9),
        limit: fc.constantFrom(...LIMITS),
      }),
      { minLength: 2, maxLength: 4 },
    ),
  }),
);
type Play = typeof book extends fc.Arbitrary<infer T> ? T : never;

let pages = 0;

async function play({ words, entries, moves, queries }: Play): Promise<void> {
  const guild = new AddressBook(redis, 'guild', { prefix: freshPrefix() });
  const model = new BruteForce();
  for (const [index, { words: places, score }] of entries.entries()) {
    const display = places.map((place) => words[place % words.length]!).join(' ');
    const key = `k${index}`;
    const { members } = storeEntry({ key, display, aliases: [], payload: undefined });
    model.entries.set(key, { names: [display], members, score });
  }
  await guild.addMany(
    [...model.entries].map(([key, { names, score }]) => ({ key, display: names[0]!, score })),
  );
  const movers = [...model.entries.keys()].filter((_, index) => index % 2 === 0);
  let moved = 0;
  beforeEachCall(async () => {
    const next = Array.from({ length: MOVES }, () => moves[(moved += 1) % moves.length]!);
    await Promise.all(
      next.map(({ which, score }) => {
        const key = movers[which % movers.length]!;
        const known = model.entries.get(key)!;
        const by = score - known.score;
        known.score = score;
        return guild.boost(key, by);
      }),
    );
  });
  for (const { words: places, cut, limit } of queries) {
    const texts = places.map((place) =>
      Array.from(words[place % words.length]!)
        .slice(0, cut)
        .join(''),
    );
    const text = texts.join(' ');
    for (const fuzzy of [false, true]) {
      const expected = model.best(tokensOf(text), fuzzy).map(([key]) => key);
      const found: string[] = [];
      let cursor: string | null = null;
      do {
        const page = await guild.page(text, { fuzzy, limit, ...(cursor !== null && { cursor }) });
        const keys = page.suggestions.map(({ key }) => key);
        expect(new Set(keys).size).toBe(keys.length);
        expect(keys.length).toBeLessThanOrEqual(limit);
        found.push(...keys);
        ({ cursor } = page);
        pages += 1;
      } while (cursor !== null);
      const asked = JSON.stringify([text, limit, fuzzy]);
      const stays = (key: string): boolean => !movers.includes(key);
      expect([asked, ...found.filter(stays)]).toEqual([asked, ...expected.filter(stays)]);
      expect(new Set(expected)).toEqual(new Set([...expected, ...found]));
    }
  }
  jest.restoreAllMocks();
}

const RUNS = Number(process.env['MORTISE_MODEL_RUNS'] ?? 10);
/** The time of one run on a busy machine. */
const RUN_MS = 6_000;

test(
  'have each entry whose score stays, and none twice',
  async () => {
    await fc.assert(fc.asyncProperty(book, play), { numRuns: RUNS, endOnFailure: true });
    expect(pages).toBeGreaterThan(RUNS);
  },
  RUNS * RUN_MS,
);

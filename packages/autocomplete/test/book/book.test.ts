import { describe, expect, test } from '@jest/globals';
import { AddressBook } from '@mortise/autocomplete';
import type { AddEntry } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';
import { aliasesOf, MAX_ALIASES } from '../../src/book/change/aliases.js';
import { scoreOf } from '../../src/book/score.js';

const redis = connect();
const newBook = (options = {}): AddressBook =>
  new AddressBook(redis, 'guild', { prefix: freshPrefix(), ...options });
const keysOf = (found: readonly { key: string }[]): string[] => found.map(({ key }) => key);

async function bookOf(entries: readonly (string | AddEntry<unknown>)[], options = {}): Promise<AddressBook> {
  const book = newBook(options);
  await book.addMany(entries.map((entry) => (typeof entry === 'string' ? { key: entry } : entry)));
  return book;
}

describe('words', () => {
  test('are found in any order, each typed one takes its own', async () => {
    const book = await bookOf(['John Smith', 'Smith, Joan', 'Jo Jones', 'R Kelly', 'RAP', 'Smith']);
    expect(keysOf(await book.complete('jo sm')).toSorted()).toEqual(['John Smith', 'Smith, Joan']);
    expect(keysOf(await book.complete('SM jO')).toSorted()).toEqual(['John Smith', 'Smith, Joan']);
    expect(keysOf(await book.complete('jo jo'))).toEqual(['Jo Jones']);
    expect(keysOf(await book.complete('r kelly'))).toEqual(['R Kelly']);
    expect(keysOf(await book.complete('smith smith'))).toEqual([]);
  });

  test('of long names are found by any two, and by all', async () => {
    const name = 'María José Carreño Quiñones de Álava';
    const book = await bookOf([name, 'María José']);
    const words = ['maria', 'jose', 'carr', 'qui', 'de', 'ala'];
    for (const first of words) {
      for (const second of words.filter((word) => word !== first)) {
        expect([first, second, ...keysOf(await book.complete(`${first} ${second}`))]).toContain(name);
      }
    }
    expect(keysOf(await book.complete(words.toReversed().join(' ')))).toEqual([name]);
    expect(keysOf(await book.complete(name))).toEqual([name]);
  });

  test('after the sixth of a name find nothing, and those of a typed text are ignored', async () => {
    const book = await bookOf(['a1 a2 a3 a4 a5 a6 a7']);
    expect(await book.complete('a6')).toHaveLength(1);
    expect(await book.complete('a7')).toHaveLength(0);
    expect(await book.complete('a1 a2 a3 a4 a5 a6 zz')).toHaveLength(1);
  });

  test('lie between white space and punctuation, and a mark follows its letter', async () => {
    const book = await bookOf(['@anna', '{x}', '***', "O'Neil", 'ガンダム', 'カンダム']);
    for (const [text, found] of [
      ['anna', ['@anna']],
      ['@', []],
      ['{', []],
      ['x', ['{x}']],
      ['*', ['***']],
      ['oneil', ["O'Neil"]],
      ['ガ', ['ガンダム']],
      ['カ', ['ガンダム', 'カンダム']],
    ] as const) {
      const keys = keysOf(await book.complete(text));
      expect([text, ...keys.toSorted()]).toEqual([text, ...[...found].toSorted()]);
    }
  });

  test('of hundreds of entries with the same name find each of them', async () => {
    const names = ['王 de Souza', 'Ann de Souza', 'de Souza 王 2', '王 Souza'];
    const entries = names.flatMap((display) =>
      Array.from({ length: 40 }, (_, index) => ({ key: `${display}#${index}`, display, score: index % 7 })),
    );
    const book = await bookOf(entries);
    const keys = (...displays: string[]): string[] =>
      entries
        .filter(({ display }) => displays.includes(display))
        .toSorted((a, b) => b.score - a.score)
        .map(({ key }) => key);
    for (const [text, expected] of [
      ['de so', keys(names[0]!, names[1]!, names[2]!)],
      ['王 de so', keys(names[0]!, names[2]!)],
      ['souza 王', keys(names[0]!, names[2]!, names[3]!)],
      ['2 王 souza de', keys(names[2]!)],
    ] as const) {
      const found = await book.complete(text, { limit: 1_000 });
      expect([text, ...keysOf(found).toSorted()]).toEqual([text, ...expected.toSorted()]);
      const scores = found.map(({ score }) => score);
      expect(scores).toEqual(scores.toSorted((a, b) => b - a));
      const best = await book.complete(text, { limit: 10 });
      expect(best).toEqual(found.slice(0, 10));
    }
  });

  test('of one alias count together', async () => {
    const book = await bookOf([{ key: '1', display: 'William Gates', aliases: ['Bill Doors'] }]);
    expect(keysOf(await book.complete('bi do'))).toEqual(['1']);
    expect(keysOf(await book.complete('bi ga'))).toEqual([]);
  });
});

describe('typing errors', () => {
  const names = ['anna', 'hanna', 'joan smith', 'smith', 'zoë', '존슨'];

  test.each([
    ['nanna', 'anna'],
    ['amna', 'anna'],
    ['xmith', 'smith'],
    ['mith', 'smith'],
    ['msith', 'smith'],
    ['smmith', 'smith'],
    ['joan msi', 'joan smith'],
    ['joansmith', 'joan smith'],
    ['sm jaon', 'joan smith'],
    ['smitg', 'smith'],
    ['smitha', 'smith'],
    ['존순', '존슨'],
  ])('%s finds names that begin with it after one edit', async (typed, found) => {
    const book = await bookOf(names);
    const keys = keysOf(await book.complete(typed, { fuzzy: true }));
    expect(keys).toContain(found);
    expect(await book.complete(typed)).toEqual([]);
  });

  test.each([
    ['Greek', 0x3b1, 17],
    ['Cyrillic', 0x430, 32],
    ['Hindi', 0x905, 50],
    ['Han', 0x4e00, 90],
    ['emoji', 0x1f600, 60],
  ])('in a letter of %s are found among thousands of names, wherever they are', async (_, from, letters) => {
    // Each first letter has enough names for a top set of its own.
    const point = (index: number): string => String.fromCodePoint(from + (index % letters));
    const entries = Array.from({ length: 4_000 }, (__, index) => {
      const [a, b] = [Math.floor(index / 64) + 1, Math.floor(index / 8)];
      return { key: String(index), display: [a, b, index, 7 * index].map(point).join(''), score: index };
    });
    const book = await bookOf(entries);
    for (const index of [70, 1_234, 3_999]) {
      const name = Array.from(entries[index]!.display);
      const [a, b, c, d] = name as [string, string, string, string];
      const typed = [
        ['q', b, c, d],
        [a, 'q', c, d],
        [b, c, d],
        [a, c, d],
        ['q', a, b, c, d],
        [a, b, 'q', c, d],
        [b, a, c, d],
      ].map((points) => points.join(''));
      for (const text of typed) {
        const found = await book.complete(text, { fuzzy: true, limit: 100 });
        expect([text, ...found.map(({ display }) => display)]).toContain(entries[index]!.display);
      }
    }
  });

  test('come after all exact answers, whatever their scores, and none comes twice', async () => {
    const book = await bookOf([
      { key: 'joan', score: 1 },
      { key: 'john', score: 90 },
      { key: 'jon joan', score: 5 },
      { key: 'jan', score: 80 },
    ]);
    const found = await book.complete('joan', { fuzzy: true });
    expect(found.map(({ key, isFuzzy }) => [key, isFuzzy])).toEqual([
      ['jon joan', false],
      ['joan', false],
      ['john', true],
      ['jan', true],
    ]);
    expect(keysOf(await book.complete('jon', { fuzzy: true }))).toEqual(['jon joan', 'john', 'jan', 'joan']);
    expect(keysOf(await book.complete('jon', { fuzzy: true, limit: 1 }))).toEqual(['jon joan']);
  });

  test('in the last letter of a single word come last, whatever the scores', async () => {
    const book = await bookOf([
      { key: 'marta', score: 90 },
      { key: 'mark', score: 80 },
      { key: 'marz', score: 1 },
      { key: 'maz', score: 5 },
      { key: 'amarz', score: 4 },
    ]);
    const all = ['marz', 'maz', 'amarz', 'marta', 'mark'];
    expect(keysOf(await book.complete('marz', { fuzzy: true }))).toEqual(all);
    expect(keysOf(await book.complete('marz', { fuzzy: true, limit: 4 }))).toEqual(all.slice(0, 4));
    const [, , , last] = await book.complete('marz', { fuzzy: true });
    expect(last).toMatchObject({ isFuzzy: true, matches: [{ start: 0, end: 3 }] });
    expect(await book.complete('x marz', { fuzzy: true })).toEqual([]);
  });

  test('fill the room after a thousand exact answers that an edit would find as well', async () => {
    const exact = Array.from({ length: 1_205 }, (_, index) => `anna hanna${index}`);
    const book = await bookOf([
      ...exact.map((key, index) => ({ key, score: 5_000 - index })),
      { key: 'hanna zed', score: 2 },
      { key: 'hanna', score: 1 },
      { key: 'annb', score: 4 },
    ]);
    const options = { fuzzy: true, order: 'score' } as const;
    const found: string[] = [];
    let cursor: string | null = null;
    for (const limit of [1_000, 200, 6, 1, 1, 1]) {
      const page = await book.page('anna', { ...options, limit, cursor });
      found.push(...keysOf(page.suggestions));
      ({ cursor } = page);
    }
    expect(found).toEqual([...exact, 'hanna zed', 'hanna', 'annb']);
    expect(cursor).toBeNull();
  });

  test('are one edit, not two', async () => {
    const book = await bookOf(names);
    expect(await book.complete('naan', { fuzzy: true })).toEqual([]);
    expect(await book.complete('smxtg', { fuzzy: true })).toEqual([]);
  });

  test('are not searched in words of two code points', async () => {
    const book = await bookOf(['ba']);
    expect(await book.complete('ab', { fuzzy: true })).toEqual([]);
    expect(await book.complete('😀b', { fuzzy: true })).toEqual([]);
  });
});

describe('pages', () => {
  const names = Array.from({ length: 120 }, (_, index) => `n${String(index).padStart(3, '0')} x`);

  test.each(['score', 'alphabetical'] as const)('go through all entries by %s', async (order) => {
    const book = await bookOf(names.map((key, index) => ({ key, score: index % 3 })));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await book.page('n', { order, limit: 25, cursor });
      seen.push(...keysOf(page.suggestions));
      ({ cursor } = page);
    } while (cursor !== null);
    const byScore = names.toSorted((a, b) => (names.indexOf(b) % 3) - (names.indexOf(a) % 3));
    expect(seen).toEqual(order === 'score' ? byScore : names);
  });

  test('are not moved by entries that come and go before them', async () => {
    const book = await bookOf(names);
    const { cursor } = await book.page('', { order: 'alphabetical', limit: 60 });
    await book.remove(names[3]!);
    await book.add({ key: 'm999' });
    const next = await book.page('', { order: 'alphabetical', limit: 60, cursor: cursor! });
    // Each name of two words has two forms; those that begin with x are in the reply already.
    expect(keysOf(next.suggestions)).toEqual(names.slice(60));
  });

  test('refuse a cursor that is damaged or of another text, order or book', async () => {
    const book = await bookOf(names);
    const { cursor: end } = await book.page('n', { limit: 5 });
    const cursor = end!;
    const refused = { code: 'ERR_INVALID_CURSOR' };
    const other = new AddressBook(redis, 'other', { prefix: freshPrefix() });
    for (const bad of ['', 'x', `${cursor}x`, cursor.slice(2), 7 as unknown as string]) {
      await expect(book.page('n', { cursor: bad })).rejects.toMatchObject(refused);
    }
    await expect(book.page('x', { cursor })).rejects.toMatchObject(refused);
    await expect(book.page('n', { cursor, order: 'alphabetical' })).rejects.toMatchObject(refused);
    await expect(other.page('n', { cursor })).rejects.toMatchObject(refused);
    expect(keysOf(await book.complete('n', { limit: 5, cursor }))).toEqual(names.slice(5, 10));
  });

  test('in the order of scores end at the 10,000th entry', async () => {
    const many = newBook();
    await many.addMany(Array.from({ length: 10_500 }, (_, index) => ({ key: `k${index}` })));
    let cursor: string | null = null;
    for (let page = 0; page < 10; page += 1) {
      ({ cursor } = await many.page('', { limit: 1_000, cursor }));
    }
    const refused = { code: 'ERR_PAGE_TOO_DEEP', depth: 10_000 };
    await expect(many.page('', { limit: 1_000, cursor: cursor! })).rejects.toMatchObject(refused);
  });
});

describe('texts', () => {
  test('that are empty, or nothing but spaces, marks or halves of pairs, have all entries', async () => {
    const book = await bookOf([
      { key: 'anna', score: 2 },
      { key: 'bo', score: 3 },
    ]);
    for (const text of ['', ' ', '\t\n', '\u0301', '\ud83d', '\0', '\u200d']) {
      expect([text, ...keysOf(await book.complete(text))]).toEqual([text, 'bo', 'anna']);
    }
    await expect(book.complete(7 as unknown as string)).rejects.toThrow(TypeError);
  });

  test('of any length are answered: 64 code points of a word count', async () => {
    const book = await bookOf(['x'.repeat(100), 'y'.repeat(63)]);
    expect(await book.complete('x'.repeat(10_000))).toHaveLength(1);
    expect(await book.complete('y'.repeat(64))).toHaveLength(0);
    expect(await book.complete('a '.repeat(5_000))).toHaveLength(0);
  });

  test('with signs that patterns are made of stand for themselves', async () => {
    const book = await bookOf(['a+b', 'a$b', 'axb', '$^|x', '`~']);
    expect(keysOf(await book.complete('a$'))).toEqual(['a$b']);
    expect(keysOf(await book.complete('$^'))).toEqual(['$^|x']);
    expect(await book.complete('***')).toEqual([]);
  });

  test('are returned with the ranges that matched', async () => {
    const book = await bookOf(['Smith, Joan']);
    expect((await book.complete('jo'))[0]?.matches).toEqual([{ start: 7, end: 9 }]);
  });
});

describe('entries', () => {
  test('are read by their key', async () => {
    const entry = { key: '7', display: 'Zoë %{}', aliases: ['Zed'], payload: { team: [1] }, score: 2.5 };
    const book = await bookOf([entry, 'plain', 'Two Words']);
    expect(await book.get('7')).toEqual(entry);
    expect(await book.get('plain')).toMatchObject({ display: 'plain', aliases: [], score: 0 });
    expect(await book.get('Two Words')).toMatchObject({ key: 'Two Words', payload: undefined });
    expect(await book.get('nobody')).toBeNull();
    expect(await book.get('\u0301')).toBeNull();
  });

  test('have at least one word, and a limited size', async () => {
    const book = newBook();
    for (const key of [' ', '\u0301', '\0', '\ud83d']) {
      await expect(book.add({ key })).rejects.toMatchObject({ code: 'ERR_NO_WORDS', key });
      expect([await book.remove(key), await book.boost(key)]).toEqual([false, null]);
    }
    const large = { code: 'ERR_ENTRY_TOO_LARGE', key: 'a', maxForms: 128, maxBytes: 8_192 };
    const long = book.add({ key: 'a', payload: 'x'.repeat(9_000) });
    await expect(long).rejects.toMatchObject({ ...large, forms: 1, bytes: 9_009 });
    const aliases = Array.from({ length: 16 }, (_, index) => `a b c d e f${index}`);
    await expect(book.add({ key: 'a', aliases })).rejects.toMatchObject(large);
    await expect(book.add({ key: '' })).rejects.toThrow(RangeError);
    await expect(book.add({ key: 'a'.repeat(1_025) })).rejects.toThrow(RangeError);
    expect(await book.size()).toBe(0);
  });

  test('may have a key without words, if they are shown with some', async () => {
    const book = await bookOf([{ key: '\ud83d', display: 'Anna' }]);
    expect(keysOf(await book.complete('an'))).toEqual(['\ud83d']);
    expect([await book.boost('\ud83d', 2), await book.remove('\ud83d')]).toEqual([2, true]);
  });

  test('may have any key: NUL, separators and halves of pairs come back', async () => {
    const keys = ['a\0b', 'a\u0001b', 'a\u0003b c d', 'x\ud83d', '%41', 'a%u0041'];
    const book = await bookOf(keys);
    expect(keysOf(await book.complete('', { limit: 100 })).toSorted()).toEqual(keys.toSorted());
    for (const key of keys) expect([key, await book.remove(key)]).toEqual([key, true]);
  });

  test('are boosted once by an id, whatever happens in between', async () => {
    const book = await bookOf([{ key: 'ann', score: 1 }, 'John Smith']);
    expect(await book.boost('ann', 2, { id: 'x' })).toBe(3);
    expect(await book.boost('ann', 5)).toBe(8);
    expect(await Promise.all([book.boost('ann', 2, { id: 'x' }), book.boost('ann', 2, { id: 'y' })])).toEqual(
      [3, 10],
    );
    const reused = { code: 'ERR_REQUEST_REUSED', requestKey: 'x' };
    await expect(book.boost('ann', 3, { id: 'x' })).rejects.toMatchObject(reused);
    await expect(book.boost('John Smith', 2, { id: 'x' })).rejects.toMatchObject(reused);
    expect(await book.boost('nobody', 1, { id: 'z' })).toBeNull();
    expect(await book.boost('John Smith', 1, { id: 'z' })).toBe(1);
    await expect(book.boost('ann', 1, { id: '' })).rejects.toThrow(RangeError);
    await book.remove('ann');
    expect(await book.boost('ann', 2, { id: 'y' })).toBe(10);
    expect((await book.complete('')).map(({ key, score }) => [key, score])).toEqual([['John Smith', 1]]);
  });

  test('have finite scores', async () => {
    const book = await bookOf(['anna']);
    for (const score of [Number.NaN, Infinity, -Infinity]) {
      await expect(book.add({ key: 'bo', score })).rejects.toThrow(RangeError);
      await expect(book.boost('anna', score)).rejects.toThrow(RangeError);
    }
    expect(await book.boost('anna', Number.MAX_VALUE)).toBe(Number.MAX_VALUE);
    expect(await book.boost('anna', Number.MAX_VALUE)).toBe(Number.MAX_VALUE);
    expect((await book.complete('a'))[0]?.score).toBe(Number.MAX_VALUE);
  });

  test('have limits from 1 to 1,000', async () => {
    const book = await bookOf(['anna']);
    for (const limit of [0, -1, 1.5, 1_001, 1e9, Number.NaN]) {
      await expect(book.complete('a', { limit })).rejects.toThrow(RangeError);
    }
    expect(await book.complete('a', { limit: 1_000 })).toHaveLength(1);
    await expect(book.complete('a', { order: 'alphabetical', fuzzy: true })).rejects.toThrow(RangeError);
    await expect(book.complete('a', { order: 'random' as 'score' })).rejects.toThrow(RangeError);
  });
});

describe('halfLifeMs', () => {
  const halfLifeMs = 86_400_000;

  test('keeps scores as they were set a moment ago, zero last', async () => {
    for (const life of [60_000, halfLifeMs, 3_650 * halfLifeMs]) {
      const scores = [1e9, 3, 1, 1e-3, 1e-300, 0];
      const book = await bookOf(
        scores.map((score, index) => ({ key: `k${index}`, score })),
        { halfLifeMs: life },
      );
      const found = await book.complete('k');
      expect([life, ...keysOf(found)]).toEqual([life, 'k0', 'k1', 'k2', 'k3', 'k4', 'k5']);
      expect(found[5]?.score).toBe(0);
      expect(Math.abs(found[1]!.score / 3 - 1)).toBeLessThan(0.2);
    }
  });

  test('raises entries that are boosted often, and no score falls below zero', async () => {
    const book = await bookOf(['anna', 'bo'], { halfLifeMs });
    await Promise.all([book.boost('bo'), book.boost('anna'), book.boost('bo')]);
    expect(keysOf(await book.complete(''))).toEqual(['bo', 'anna']);
    expect((await book.get('bo'))?.score).toBeCloseTo(2, 1);
    expect(await book.boost('bo', -50)).toBe(0);
    await expect(book.add({ key: 'cy', score: -1 })).rejects.toThrow(RangeError);
    expect(() => newBook({ halfLifeMs: 1 })).toThrow(RangeError);
  });

  test('halves a score in each half-life, and changes no rank', () => {
    const rank = String(-1_000 * (3 + 20 + 1_100));
    expect([20, 21, 22].map((halfLives) => scoreOf(rank, halfLifeMs, String(halfLives)))).toEqual([8, 4, 2]);
  });
});

describe('addMany', () => {
  async function* stream(count: number, onRead: (index: number) => void = () => undefined) {
    for (let index = 0; index < count; index += 1) {
      onRead(index);
      yield { key: `k${index}` };
    }
  }

  test.each([
    ['once, in no order', [37, 11, 29, 5, 23, 17]],
    ['twice, of which the last addition counts', [37, 11, 29, 37, 5, 23, 11, 17, 29]],
  ])('takes keys that come %s', async (_, keys) => {
    const book = newBook();
    const entries = keys.map((key, index) => ({ key: `k${key}`, score: index + 1 }));
    const last = new Map(entries.map(({ key, score }) => [key, score]));
    expect(await book.addMany(entries)).toEqual({ entries: keys.length, added: last.size });
    // Again: no entry is new, and each has its new score.
    expect(await book.addMany(entries.map(({ key, score }) => ({ key, score: 10 * score })))).toEqual({
      entries: keys.length,
      added: 0,
    });
    const best = [...last].toSorted(([, a], [, b]) => b - a).map(([key, score]) => [key, 10 * score]);
    const found = await book.complete('k', { limit: 20 });
    expect(found.map(({ key, score }) => [key, score])).toEqual(best);
    expect(await book.size()).toBe(last.size);
  });

  test('reads any iterable while it sends, and reports its progress', async () => {
    const book = newBook();
    const progress: number[] = [];
    let read = 0;
    let most = 0;
    const result = await book.addMany(
      stream(3_000, () => {
        read += 1;
        most = Math.max(most, read - (progress.at(-1) ?? 0));
      }),
      { onProgress: ({ entries }) => progress.push(entries) },
    );
    expect(result).toEqual({ entries: 3_000, added: 3_000 });
    expect(progress).toEqual([...Array.from({ length: 11 }, (_, index) => 256 * (index + 1)), 3_000]);
    expect(most).toBeLessThanOrEqual(4 * 256 + 1);
    expect(await book.addMany(new Set([{ key: 'k1' }, { key: 'new' }]))).toEqual({ entries: 2, added: 1 });
    expect(await book.addMany([])).toEqual({ entries: 0, added: 0 });
    expect(await book.size()).toBe(3_001);
  });

  test('keeps the sent entries when the source, an entry, the listener or a signal ends it', async () => {
    const ends: [(book: AddressBook) => Promise<unknown>, string][] = [
      [
        (book) =>
          book.addMany(
            stream(2_000, (index) => {
              if (index === 1_500) throw new Error('source');
            }),
          ),
        'source',
      ],
      [
        (book) =>
          book.addMany([
            ...Array.from({ length: 1_500 }, (_, index) => ({ key: `k${index}` })),
            { key: ' ' },
          ]),
        'no word',
      ],
      [
        (book) =>
          book.addMany(stream(2_000), {
            onProgress: () => {
              throw new Error('listener');
            },
          }),
        'listener',
      ],
      [
        (book) => {
          const controller = new AbortController();
          const onProgress = (): void => controller.abort(new Error('enough'));
          return book.addMany(stream(9_000), { onProgress, signal: controller.signal });
        },
        'enough',
      ],
    ];
    for (const [load, message] of ends) {
      const book = newBook();
      await expect(load(book)).rejects.toThrow(message);
      const size = await book.size();
      expect(size).toBeGreaterThanOrEqual(256);
      expect(size).toBeLessThan(3_000);
      expect(await book.complete('k', { limit: 1_000, order: 'alphabetical' })).toHaveLength(
        Math.min(size, 1_000),
      );
    }
  });

  test('is repeated safely, by several loaders at once', async () => {
    const book = newBook();
    const loads = Array.from({ length: 4 }, () => book.addMany(stream(700)));
    const results = await Promise.all(loads);
    expect(results.reduce((sum, { added }) => sum + added, 0)).toBe(700);
    expect(await book.size()).toBe(700);
    expect(keysOf(await book.complete('k', { limit: 1_000 }))).toHaveLength(700);
  });
});

test('reads write nothing', async () => {
  const book = await bookOf(['John Smith', 'Anna']);
  const before = await redis.info('replication');
  await book.complete('jo sm', { fuzzy: true });
  await book.page('a', { order: 'alphabetical' });
  await book.get('Anna');
  const offset = (info: string): string | undefined => /master_repl_offset:(\d+)/.exec(info)?.[1];
  expect(offset(await redis.info('replication'))).toBe(offset(before));
});

describe('aliasesOf', () => {
  /** As a dictionary of pinyin would have it. */
  const PINYIN: Readonly<Record<string, string[]>> = {
    王小明: ['wang xiaoming', 'wxm'],
    Bob: ['Bob', 'Rob'],
  };
  const options = { keysOf: (display: string): string[] => PINYIN[display] ?? [] };

  test('returns the aliases of the entry, then those of keysOf, each once', () => {
    const entry = { key: '7', display: '王小明', aliases: ['Ming', 'wxm'] };
    expect(aliasesOf(entry, options)).toEqual(['Ming', 'wxm', 'wang xiaoming']);
    expect(aliasesOf(entry, {})).toEqual(['Ming', 'wxm']);
  });

  test('leaves out the display form, which is the key by default', () => {
    expect(aliasesOf({ key: 'Bob' }, options)).toEqual(['Rob']);
    expect(aliasesOf({ key: '8', display: 'Bob', aliases: ['Bob'] }, options)).toEqual(['Rob']);
    expect(aliasesOf({ key: 'Ann' }, options)).toEqual([]);
  });

  test.each([
    ['ming', TypeError],
    [[7], TypeError],
    [['\ud83d'], TypeError],
    [[''], RangeError],
    [['x'.repeat(1_025)], RangeError],
    [Array.from({ length: MAX_ALIASES + 1 }, (_, index) => `alias ${index}`), RangeError],
  ])('refuses %j from keysOf', (made, error) => {
    expect(() => aliasesOf({ key: 'a' }, { keysOf: () => made as string[] })).toThrow(error);
    expect(() => aliasesOf({ key: 'a', aliases: made as string[] }, {})).toThrow(error);
  });

  test('passes errors of keysOf through', () => {
    const error = new Error('no dictionary');
    const broken = (): string[] => {
      throw error;
    };
    expect(() => aliasesOf({ key: 'a' }, { keysOf: broken })).toThrow(error);
  });
});

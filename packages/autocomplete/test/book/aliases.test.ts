import { describe, expect, test } from '@jest/globals';
import { aliasesOf, MAX_ALIASES } from '../../src/book/change/aliases.js';

/** As a dictionary of pinyin would have it. */
const PINYIN: Readonly<Record<string, string[]>> = { 王小明: ['wang xiaoming', 'wxm'], Bob: ['Bob', 'Rob'] };
const keysOf = (display: string): string[] => PINYIN[display] ?? [];

describe('aliasesOf', () => {
  test('returns the aliases of the entry, then those of keysOf, each once', () => {
    const entry = { key: '7', display: '王小明', aliases: ['Ming', 'wxm'] };
    expect(aliasesOf(entry, { keysOf })).toEqual(['Ming', 'wxm', 'wang xiaoming']);
    expect(aliasesOf(entry, {})).toEqual(['Ming', 'wxm']);
  });

  test('leaves out the display form, which is the key by default', () => {
    expect(aliasesOf({ key: 'Bob' }, { keysOf })).toEqual(['Rob']);
    expect(aliasesOf({ key: '8', display: 'Bob', aliases: ['Bob'] }, { keysOf })).toEqual(['Rob']);
    expect(aliasesOf({ key: 'Ann' }, { keysOf })).toEqual([]);
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

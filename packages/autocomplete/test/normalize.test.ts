import { describe, expect, test } from '@jest/globals';
import { NORMALIZATION_VERSION, normalize } from '@mortise/autocomplete';
import * as fc from 'fast-check';

describe('normalize', () => {
  test.each([
    ['JackMcDonald', 'jackmcdonald'],
    ['José', 'jose'],
    ['JOSÉ', 'jose'],
    ['ＬＵＫＡＳＺ', 'lukasz'],
    ['Łukasz Ørsted Þór', 'lukasz orsted thor'],
    ['Straße', 'strasse'],
    ['STRASSE', 'strasse'],
    ['STRAẞE', 'strasse'],
    ['İstanbul ılık', 'istanbul ilik'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['οδός', 'οδοσ'],
    ['Ærøskøbing Œuvre', 'aeroskobing oeuvre'],
    ['ﬁn', 'fin'],
    ['Ｊack\u00a0\t\u3000B\u200d\u00ad', 'jack b'],
    ['  jack ', 'jack '],
    ['a\0b', 'a b'],
    ['😀', '😀'],
    ['❤️', '❤'],
    ['', ''],
  ])('%j becomes %j', (text, form) => {
    expect(normalize(text)).toBe(form);
  });

  test('keeps the marks that make other letters: Japanese, Devanagari, Thai', () => {
    expect(normalize('ガ')).not.toBe(normalize('カ'));
    expect(normalize('कि')).not.toBe(normalize('क'));
    expect(normalize('ที่')).not.toBe(normalize('ท'));
  });

  test('finds a Hangul syllable by the letters typed so far', () => {
    const form = normalize('존경');
    for (const typed of ['ㅈ', '조', '존', '존ㄱ', '존겨', '존경'])
      expect(form.startsWith(normalize(typed))).toBe(true);
    expect(form.startsWith(normalize('종'))).toBe(false);
    expect(normalize('존경'.normalize('NFD'))).toBe(form);
  });

  test('leaves out halves of surrogate pairs', () => {
    expect(normalize('a\ud83d')).toBe('a');
    expect(normalize('\ude00b')).toBe('b');
    expect(normalize('😀x'.slice(0, 1))).toBe('');
  });

  test('is idempotent, holds no control character and extends its prefixes, for every code point', () => {
    const wrong: string[] = [];
    for (let code = 0; code <= 0x10ffff; code += 1) {
      const text = String.fromCodePoint(code);
      const form = normalize(text);
      const isStable = normalize(form) === form && normalize(`a${text}b`).startsWith(normalize(`a${text}`));
      // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
      if (!isStable || /[\0-\x1f\x7f-\x9f]/.test(form)) wrong.push(code.toString(16));
    }
    expect(wrong).toEqual([]);
  });

  test('is idempotent and ignores the form of Unicode for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const form = normalize(text);
        expect(normalize(form)).toBe(form);
        expect(normalize(text.normalize('NFC'))).toBe(form);
        expect(normalize(text.normalize('NFKD'))).toBe(form);
      }),
      { numRuns: 1_000 },
    );
  });

  test('has a version', () => {
    expect(NORMALIZATION_VERSION).toBe(1);
  });
});

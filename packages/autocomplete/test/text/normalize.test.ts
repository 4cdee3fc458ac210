import { describe, expect, test } from '@jest/globals';
import { NORMALIZATION_VERSION, normalize } from '@mortise/autocomplete';
import * as fc from 'fast-check';
import { codePoint, nameIn, SCRIPTS } from '../fixture/scripts-of-the-world.js';

const RUNS = Number(process.env['MORTISE_MODEL_RUNS'] ?? 100);
const CODE_POINTS = 0x110000;
const BLOCK = 256;

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
    ['Ǆ ǆ ŉ', 'dz dz ʼn'],
    ['Άγιος ᾳ ΐ', 'αγιοσ α ι'],
    ['Чайковский Ёлка Її', 'чаиковскии елка іі'],
    ['ﻼ ﷲ', 'لا الله'],
    ['أحمد', 'ا\u0654حمد'],
    ['น้ำ', 'น้\u0e4dา'],
    ['क़', 'क\u093c'],
    ['㍿ 豈 〇', '株式会社 豈 〇'],
    ['ｶﾞｰ', 'カ\u3099ー'],
    ['𠮷 𝕁𝕠', '𠮷 jo'],
    ['👨\u200d👩 👍🏽 🇩🇪', '👨👩 👍🏽 🇩🇪'],
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
    // oxlint-disable-next-line no-control-regex -- the pattern is for control characters
    const control = /[\0-\x1f\x7f-\x9f]/;
    for (let first = 0; first < CODE_POINTS; first += BLOCK) {
      const block = Array.from({ length: BLOCK }, (_, index) => String.fromCodePoint(first + index));
      const all = block.join('');
      // Each character is folded by itself, so all that stay the same together do so alone: unassigned ones, ideographs.
      if (normalize(all) === all && !control.test(all)) continue;
      for (const text of block) {
        const form = normalize(text);
        const isStable = normalize(form) === form && normalize(`a${text}b`).startsWith(normalize(`a${text}`));
        if (!isStable || control.test(form)) wrong.push(text.codePointAt(0)!.toString(16));
      }
    }
    expect(wrong).toEqual([]);
  });

  test('is idempotent and ignores the form of Unicode for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), (text) => {
        const form = normalize(text);
        expect(normalize(form)).toBe(form);
        expect(normalize(text.normalize('NFC'))).toBe(form);
        expect(normalize(text.normalize('NFKD'))).toBe(form);
      }),
      { numRuns: 3 * RUNS },
    );
  });

  test.each(SCRIPTS)('each beginning of a name finds it, cut at any code unit: %s', (script) => {
    fc.assert(
      fc.property(nameIn(script), fc.nat(20), (name, cut) => {
        const form = normalize(name);
        const typed = normalize(name.slice(0, cut));
        // Marks of one letter stand in an order of their own, whichever was typed first.
        const isAtMark =
          /^\p{Mark}/u.test(name.slice(cut)) || /\p{Mark}$/u.test(form.slice(0, typed.length + 1));
        expect(form.startsWith(typed) || isAtMark).toBe(true);
        expect(normalize(name.normalize('NFC'))).toBe(form);
        expect(normalize(name.normalize('NFD'))).toBe(form);
        expect(normalize(form)).toBe(form);
        expect(/\p{Surrogate}/u.test(typed)).toBe(false);
      }),
      { numRuns: RUNS },
    );
  });

  test('ignored characters between the marks of a letter do not tell texts apart', () => {
    for (const ignored of ['\u200c', '\u200d', '\u034f', '\u00ad']) {
      expect(normalize(`أ${ignored}\u0651م`)).toBe(normalize('أ\u0651م'));
    }
  });

  test('has a version', () => {
    expect(NORMALIZATION_VERSION).toBe(1);
  });
});

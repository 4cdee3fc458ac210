import { describe, expect, test } from '@jest/globals';
import { normalize } from '@mortise/autocomplete';
import * as fc from 'fast-check';
import { wordsOf } from '../../src/text/forms.js';
import { foldText } from '../../src/text/folded-text.js';
import { matchesOf, prefixMatchOf } from '../../src/text/matches.js';
import { codePoint, nameIn, SCRIPTS, wordIn } from '../fixture/scripts-of-the-world.js';

const RUNS = Number(process.env['MORTISE_MODEL_RUNS'] ?? 100);

/** The name with its marked ranges in brackets. */
function marked(display: string, ranges: readonly { start: number; end: number }[]): string {
  return ranges.toReversed().reduce((text, { start, end }) => {
    return `${text.slice(0, start)}[${text.slice(start, end)}]${text.slice(end)}`;
  }, display);
}

const find = (display: string, text: string, fuzzy = false): string =>
  marked(display, matchesOf(display, wordsOf(text), { fuzzy }));

describe('matchesOf', () => {
  test.each([
    ['John Smith', 'jo', '[Jo]hn Smith'],
    ['John Smith', 'jo sm', '[Jo]hn [Sm]ith'],
    ['Smith, Joan', 'jo sm', '[Sm]ith, [Jo]an'],
    ['Smith, Joan', 'smith joan', '[Smith], [Joan]'],
    ['Jo Jones', 'jo', '[Jo] Jones'],
    ['Jo Jones', 'jo jo', '[Jo] [Jo]nes'],
    ['Jo', 'jo jo', '[Jo]'],
    ['Johanna Jo', 'jo joh', '[Joh]anna [Jo]'],
    ['John Smith', 'joy', 'John Smith'],
    ['John Smith', 'ohn', 'John Smith'],
    ['John Smith', '', 'John Smith'],
    ["Sean O'Neil", 'oneil', "Sean [O'Neil]"],
    ['Sean O’Neil', "o'n", 'Sean [O’N]eil'],
    ['  Jo\t-  Sm', 'sm jo', '  [Jo]\t-  [Sm]'],
    ['!!!', '!!', '[!!]!'],
  ])('%j, typed %j: %j', (display, text, expected) => {
    expect(find(display, text)).toBe(expected);
  });

  test.each([
    ['Straße', 'stras', '[Straß]e'],
    ['Straße', 'strasse', '[Straße]'],
    ['ﬁn', 'f', '[ﬁ]n'],
    ['Łukasz Ørsted', 'or lu', '[Łu]kasz [Ør]sted'],
    ['José', 'jose', '[José]'],
    ['Jose\u0301 X', 'jose', '[Jose\u0301] X'],
    ['e\u0301\u0302x', 'e', '[e\u0301\u0302]x'],
    ['ΟΔΟΣ', 'οδοσ', '[ΟΔΟΣ]'],
    ['Чайковский', 'чаик', '[Чайк]овский'],
    ['존경', 'ㅈ', '[존]경'],
    ['존경', '존ㄱ', '[존경]'],
    ['\u110c\u1169\u11ab경', '조', '[\u110c\u1169\u11ab]경'],
    ['กำ', 'ก', '[กำ]'],
    ['किरण', 'क', '[कि]रण'],
    ['ガス', 'ガ', '[ガ]ス'],
    ['ｶﾞｽ', 'ガ', '[ｶﾞ]ｽ'],
    ['😀x', '😀', '[😀]x'],
    ['👨\u200d👩\u200d👧 Jo', '👨', '[👨\u200d👩\u200d👧] Jo'],
    ['👍🏽 Jo', '👍', '[👍🏽] Jo'],
    ['Jo\u00adhn', 'john', '[Jo\u00adhn]'],
    ['Jo\u00ad', 'jo', '[Jo]\u00ad'],
    ['𠮷田 太郎', '太 𠮷', '[𠮷]田 [太]郎'],
    ['℀', 'c a', '[℀]'],
    ['\u{10100}\u{10110}', '\u{10110}', '\u{10100}[\u{10110}]'],
  ])('whole characters are marked: %j, typed %j: %j', (display, text, expected) => {
    expect(find(display, text)).toBe(expected);
  });

  test.each([
    ['Johnson', 'jhon', '[John]son'],
    ['Johnson', 'jon', '[John]son'],
    ['Johnson', 'kohn', '[John]son'],
    ['Johnson', 'johxn', '[John]son'],
    ['Johnson', 'xjohn', '[John]son'],
    ['Johnson', 'johm', '[Joh]nson'],
    ['Johnson', 'ojhn', '[John]son'],
    ['Johnson', 'ohn', '[John]son'],
    ['John Smith', 'smiht jo', '[Jo]hn [Smith]'],
    ['Jo Smith', 'josm', '[Jo Sm]ith'],
    ['John Jo', 'jo jhon', '[John] [Jo]'],
    ['존경', '좀경', '[존경]'],
    ['😀😁', '😁', '[😀😁]'],
    ['Łukasz', 'lkua', '[Łuka]sz'],
    ['John Smith', 'jhno smiht', 'John Smith'],
    ['John Smith', 'jo xx', '[Jo]hn Smith'],
    ['John', 'john', '[John]'],
  ])('with an edit: %j, typed %j: %j', (display, text, expected) => {
    expect(find(display, text, true)).toBe(expected);
  });

  test('without fuzzy nothing is marked for a typing error', () => {
    expect(find('Johnson', 'jhon')).toBe('Johnson');
  });

  test('bounds its work, whatever is typed', () => {
    const text = 'a '.repeat(5_000);
    expect(matchesOf('a '.repeat(500), wordsOf(text), { fuzzy: true })).toHaveLength(32);
    expect(matchesOf(`e${'\u0301'.repeat(500)}`, ['e'])).toEqual([{ start: 0, end: 501 }]);
    // A regular expression that tries all ways to cut a text would not come back.
    for (const name of ['a'.repeat(1_000), 'a '.repeat(500), ' '.repeat(1_000), '!'.repeat(1_000)]) {
      expect(matchesOf(`${name}é`, ['x'])).toEqual([]);
    }
  });
});

describe.each(SCRIPTS)('in %s', (script) => {
  test('ranges begin with the typed text, and are sorted, disjoint and within the name', () => {
    const property = fc.property(
      nameIn(script),
      fc.array(fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 8 })), { minLength: 1, maxLength: 3 }),
      (display, cuts) => {
        const words = wordsOf(display);
        const tokens = new Map(
          cuts.map(([which, length]) => {
            const word = which % words.length;
            return [word, Array.from(words[word]!).slice(0, length).join('')] as const;
          }),
        );
        const typed = [...tokens.values()];
        const ranges = matchesOf(display, typed);
        expect(ranges).toHaveLength(typed.length);
        const left = [...typed];
        for (const { start, end } of ranges) {
          const form = wordsOf(display.slice(start, end)).join(' ');
          // The longest, as a shorter one may be the beginning of it.
          const token = left.toSorted((a, b) => b.length - a.length).find((one) => form.startsWith(one));
          expect({ form, left, token }).toMatchObject({ token: expect.any(String) as unknown });
          left.splice(left.indexOf(token!), 1);
        }
        expect(isInOrder(ranges, display.length)).toBe(true);
        for (const { start, end } of ranges) expect(cutsNothing(display, start, end)).toBe(true);
      },
    );
    fc.assert(property, { numRuns: RUNS });
  });

  test('a typing error marks the beginning of a word, one edit away', () => {
    const property = fc.property(
      nameIn(script),
      fc.nat(3),
      fc.nat(7),
      wordIn(script),
      (display, which, at, other) => {
        const words = wordsOf(display);
        const points = Array.from(words[which % words.length]!);
        const typed = points.with(at % points.length, Array.from(normalize(other))[0] ?? 'x').join('');
        const ranges = matchesOf(display, [typed], { fuzzy: true });
        expect(isInOrder(ranges, display.length)).toBe(true);
        expect(ranges.length).toBe(points.length === 1 ? ranges.length : 1);
        for (const { start, end } of ranges) expect(cutsNothing(display, start, end)).toBe(true);
      },
    );
    fc.assert(property, { numRuns: RUNS });
  });

  test('a prefix of the form marks the beginning of the name', () => {
    const property = fc.property(nameIn(script), fc.integer({ min: 1, max: 12 }), (display, length) => {
      const form = Array.from(normalize(display)).slice(0, length).join('');
      const [range, ...more] = prefixMatchOf(display, form);
      expect(more).toEqual([]);
      const { start, end } = range!;
      expect(normalize(display.slice(start, end)).startsWith(form.trimEnd())).toBe(true);
      expect(cutsNothing(display, start, end)).toBe(true);
    });
    fc.assert(property, { numRuns: RUNS });
  });
});

describe('foldText', () => {
  test.each(['\u00ad', '\u200b', '\ud83d', '\ud83d\u00ad'])(
    'counts a mark after an ignored character among the marks of its letter: %j',
    (ignored) => {
      const name = `ท\u0e35\u0e48${ignored}\u3099ก`;
      const folded = foldText(name);
      expect(folded.form).toBe('ท\u0e35\u3099\u0e48ก');
      expect(folded.form).toBe(normalize(name));
      expect(folded.rangeOf(0, 3)).toEqual({ start: 0, end: name.length - 1 });
      expect(folded.rangeOf(4, 4)).toEqual({ start: name.length - 1, end: name.length });
    },
  );

  test('leaves ignored characters at the end of a name out of its ranges', () => {
    expect(foldText('ทิ\u00adก').rangeOf(0, 1)).toEqual({ start: 0, end: 2 });
  });

  test('has the form of normalize and an origin for each unit, for any text', () => {
    const text = fc.oneof(
      fc.string({ unit: codePoint }),
      fc.string({ unit: 'grapheme' }),
      ...SCRIPTS.map((script) => nameIn(script)),
      fc
        .array(
          fc.oneof(
            ...SCRIPTS.map((script) => wordIn(script)),
            fc.constantFrom('\u0301', '\u3099', '\ud83d', '\0', ' '),
          ),
        )
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (display) => {
        const folded = foldText(display);
        const { form } = folded;
        expect(form).toBe(normalize(display));
        for (let unit = 0; unit < form.length; unit += 1) {
          const { start, end } = folded.rangeOf(unit, unit);
          expect(normalize(`x${display.slice(start, end)}`)).toContain(form[unit]);
        }
      }),
      { numRuns: 7 * RUNS },
    );
  });
});

function isInOrder(ranges: readonly { start: number; end: number }[], length: number): boolean {
  return ranges.every(({ start, end }, index) => {
    return start >= (index === 0 ? 0 : ranges[index - 1]!.end) && end > start && end <= length;
  });
}

/** No surrogate pair is cut, and no mark is parted from its letter. */
function cutsNothing(text: string, start: number, end: number): boolean {
  return [start, end].every((at) => {
    // No mark is put on a soft hyphen: a mark after it stands alone.
    const isMark = /^\p{Mark}/u.test(text.slice(at)) && at > 0 && text[at - 1] !== '\u00ad';
    return !isMark && !/[\ud800-\udbff]$/.test(text.slice(0, at));
  });
}

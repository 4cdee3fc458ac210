/** Lines from bytes: which are counted, where, and which are not. */
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';

import { LineBlocks } from '../src/log-aggregation/line-blocks.js';
import { LineCounter } from '../src/log-aggregation/line-counter.js';
import { MalformedLines } from '../src/log-aggregation/malformed-lines.js';
import { parseRangeCsv } from '../src/log-aggregation/range-csv.js';
import { blocksOf, CSV, line } from './log-files.js';

const ALL_DAYS = { first: 0, last: 99_991_231 };
const table = await parseRangeCsv(blocksOf(CSV));

interface Counted {
  /** `2026-11-20 US/California/Mountain View` → lines */
  readonly counts: Record<string, number>;
  readonly malformed: MalformedLines;
  readonly repeated: number;
}

/** Counts a text that comes in blocks of the sizes given, over and over. */
function count(
  text: string | Uint8Array,
  { sizes = [1_048_576], maxLineBytes = 200, maxKeys = 1_000, countedTo = 0, window = ALL_DAYS } = {},
): Counted {
  const bytes = Buffer.from(text);
  const malformed = new MalformedLines();
  const counter = new LineCounter(table, { maxLineBytes, maxKeys, window }, malformed);
  const blocks = new LineBlocks(0, maxLineBytes);
  const counts: Record<string, number> = {};
  const take = (): void => {
    for (const { day, counts: lines, touched, touchedCount } of counter.days) {
      for (const place of touched.subarray(0, touchedCount)) {
        const name = `${day} ${table.places.cities[place]}`;
        counts[name] = (counts[name] ?? 0) + lines[place]!;
      }
    }
    counter.clear();
  };
  const add = (pieces: ReturnType<LineBlocks['add']>): void => {
    for (const { bytes: piece, start, end, base } of pieces) {
      for (let at = start; at < end;) {
        at = counter.count(piece, at, end, base);
        if (counter.missingDay !== 0) counter.open(counter.missingDay, countedTo);
        else if (counter.isFull) take();
      }
    }
  };
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length]!;
    add(blocks.add(bytes.subarray(at, at + size)));
    at += size;
  }
  add(blocks.end());
  take();
  return { counts, malformed, repeated: counter.repeated };
}

test('a line is counted by its day and the place of its address', () => {
  const text = [
    line('8.8.8.8', '2026-11-20'),
    line('8.8.8.255', '2026-11-20'),
    line('1.0.1.0', '2026-11-21'),
    line('9.1.2.3', '2026-11-20'),
    line('2001:db8::1', '2026-11-20'),
    line('::ffff:8.8.8.8', '2026-11-20'),
    line('77.1.2.3', '2026-11-20'),
    line('2001:db9::1', '2026-11-20'),
  ];
  const { counts, malformed } = count(text.join(''));
  expect(counts).toEqual({
    '2026-11-20 US/California/Mountain View': 3,
    '2026-11-21 CN/Fujian/Fuzhou': 1,
    '2026-11-20 US/New York/Armonk, North Castle': 1,
    '2026-11-20 DE/Berlin/Berlin': 1,
    '2026-11-20 ZZ//': 2,
  });
  expect(malformed.total).toBe(0);
});

describe('a line', () => {
  test.each([
    '8.8.8.8 2026-11-20 00:00:00 x',
    '8.8.8.8 2026-11-20 23:59:60 x',
    '8.8.8.8 2026-11-20 19:50:46.123456 GET / HTTP/1.1',
    '8.8.8.8 2024-02-29 19:50:46 \u{1f600} \0',
    '8.8.8.8 2026-11-20 19:50:46 x\r',
    '8.8.8.8 2026-11-20 19:50:46  ',
    '0.0.0.0 2026-11-20 19:50:46 x',
    '255.255.255.255 2026-11-20 19:50:46 x',
    ':: 2026-11-20 19:50:46 x',
    '1:2:3:4:5:6:7:8 2026-11-20 19:50:46 x',
    'FFFF::1.2.3.4 2026-11-20 19:50:46 x',
    '1::8 2026-11-20 19:50:46 x',
  ])('%j', (text) => {
    const { counts, malformed } = count(text);
    expect(malformed.samples).toEqual([]);
    expect(Object.values(counts)).toEqual([1]);
  });

  test.each([
    ['address', '8.8.8 2026-11-20 19:50:46 x'],
    ['address', '8.8.8.8.8 2026-11-20 19:50:46 x'],
    ['address', '8.8.8.256 2026-11-20 19:50:46 x'],
    ['address', '8.8.8.08 2026-11-20 19:50:46 x'],
    ['address', '8.8.8.8888 2026-11-20 19:50:46 x'],
    ['address', '8..8.8 2026-11-20 19:50:46 x'],
    ['address', '-8.8.8.8 2026-11-20 19:50:46 x'],
    ['address', ' 8.8.8.8 2026-11-20 19:50:46 x'],
    ['address', '1:2:3:4:5:6:7 2026-11-20 19:50:46 x'],
    ['address', '1:2:3:4:5:6:7:8:9 2026-11-20 19:50:46 x'],
    ['address', '1::2::3 2026-11-20 19:50:46 x'],
    ['address', '1:2:3:4::5:6:7:8 2026-11-20 19:50:46 x'],
    ['address', ':1 2026-11-20 19:50:46 x'],
    ['address', '1: 2026-11-20 19:50:46 x'],
    ['address', '12345:: 2026-11-20 19:50:46 x'],
    ['address', 'fe80::1%eth0 2026-11-20 19:50:46 x'],
    ['address', '1:2:3:4:5:6:7:1.2.3.4 2026-11-20 19:50:46 x'],
    ['date', '8.8.8.8 2026-02-29 19:50:46 x'],
    ['date', '8.8.8.8 2026-13-01 19:50:46 x'],
    ['date', '8.8.8.8 2026-00-01 19:50:46 x'],
    ['date', '8.8.8.8 2026-04-31 19:50:46 x'],
    ['date', '8.8.8.8 2026/11/20 19:50:46 x'],
    ['date', '8.8.8.8 20261-1-20 19:50:46 x'],
    ['date', '8.8.8.8  2026-11-20 19:50:46 x'],
    ['time', '8.8.8.8 2026-11-20 24:00:00 x'],
    ['time', '8.8.8.8 2026-11-20 19:60:00 x'],
    ['time', '8.8.8.8 2026-11-20 19:50:61 x'],
    ['time', '8.8.8.8 2026-11-20 19:50:46. x'],
    ['time', '8.8.8.8 2026-11-20 19:50:46Z x'],
    ['fields', '8.8.8.8 2026-11-20 19:50:46'],
    ['fields', '8.8.8.8 2026-11-20 19:50:46 '],
    ['fields', '8.8.8.8 2026-11-20 19:50:46 \r'],
    ['fields', '8.8.8.8 2026-11-20'],
    ['fields', '8.8.8.8'],
    ['fields', '2001:db8::1'],
    ['fields', ''],
    ['length', `8.8.8.8 2026-11-20 19:50:46 ${'x'.repeat(300)}`],
    ['window', '8.8.8.8 2025-12-31 19:50:46 x'],
    ['window', '8.8.8.8 2027-01-01 19:50:46 x'],
  ])('%s: %j is none', (reason, text) => {
    const window = { first: 20_240_101, last: 20_261_231 };
    const limits = reason === 'window' ? { window: { ...window, first: 20_260_101 } } : { window };
    const good = line('8.8.8.8', '2026-11-20');
    // At the end of a block and of the file, and within: the reason is the same.
    for (const [before, after] of [
      ['', ''],
      [good, ''],
      [good, good],
      ['', good + good],
    ] as const) {
      const whole = `${before}${text}\n${after}`;
      const { counts, malformed } = count(whole, limits);
      expect([malformed.total, malformed.samples.map((sample) => sample.reason)]).toEqual([1, [reason]]);
      expect(malformed.samples[0]).toMatchObject({
        offset: before.length,
        text: text.slice(0, 120),
      });
      expect(Object.values(counts)).toEqual(whole.includes(good) ? [whole.split(good).length - 1] : []);
    }
  });

  test('bytes that are no text', () => {
    const bytes = Buffer.from(Array.from({ length: 4_096 }, (_, index) => (index * 197) & 255));
    const { counts, malformed } = count(bytes);
    expect(counts).toEqual({});
    expect(malformed.total).toBeGreaterThan(10);
    expect(malformed.samples.length).toBeLessThanOrEqual(18);
  });
});

/** A line as somebody would write it who has no need to hurry. */
const LINE =
  /^(\d{1,3}(?:\.\d{1,3}){3}) (\d{4}-\d\d-\d\d) (?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)? (?!\r?$)/;

test('the counts are those of the lines one by one, for all ends of blocks and all flushes', () => {
  const ip = fc.constantFrom(
    '8.8.8.8',
    '1.0.0.7',
    '1.0.2.0',
    '9.9.9.9',
    '77.0.0.1',
    '1.2.3',
    'x',
    '8.8.8.08',
  );
  const on = fc.constantFrom('2026-11-20', '2026-11-21', '2024-02-29', '2026-11-2', 'y');
  const at = fc.constantFrom('19:50:46', '00:00:00.5', '24:00:00', '');
  const event = fc.constantFrom('GET /', '', 'a b c', 'x'.repeat(50), 'x'.repeat(400), '\r');
  const some = fc.tuple(ip, on, at, event).map((fields) => fields.join(' '));
  const lines = fc.array(fc.oneof({ arbitrary: some, weight: 5 }, fc.constantFrom('', ' ', '\0')), {
    maxLength: 40,
  });
  const sizes = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(lines, sizes, fc.boolean(), fc.integer({ min: 1, max: 5 }), (all, cuts, isEnded, maxKeys) => {
      const expected: Record<string, number> = {};
      let rejected = 0;
      for (const text of all) {
        const [, address = '', date = ''] = LINE.exec(text) ?? [];
        const isBad = address === '8.8.8.08' || address === '' || text.length > 200;
        if (isBad) rejected += 1;
        else {
          const place = {
            '8': 'US/California/Mountain View',
            '9': 'US/New York/Armonk, North Castle',
            '7': 'ZZ//',
          };
          const inOne = address === '1.0.0.7' ? 'AU/Queensland/Brisbane' : 'CN/Fujian/Fuzhou';
          const name = `${date} ${place[address[0] as '8'] ?? inOne}`;
          expected[name] = (expected[name] ?? 0) + 1;
        }
      }
      let text = all.join('\n');
      if (isEnded && all.length > 0) text += '\n';
      // A last line that is empty and has no newline is none.
      else if (all.at(-1) === '') rejected -= 1;
      const { counts, malformed } = count(text, { sizes: cuts, maxKeys });
      expect([counts, malformed.total]).toEqual([expected, rejected]);
    }),
    { numRuns: 300 },
  );
});

test.each([7, 64, 100_000])(
  'a line that is too long has its place in the file, in blocks of %i bytes',
  (size) => {
    const good = line('8.8.8.8');
    const text = `${good}8.8.8.8 ${'x'.repeat(5_000)}\n${good}`;
    const first = count(text, { sizes: [size] });
    expect(first.malformed.samples).toMatchObject([{ reason: 'length', offset: good.length }]);
    expect(Object.values(first.counts)).toEqual([2]);
    const again = count(text, { sizes: [size], countedTo: text.length - 1 });
    expect([again.repeated, Object.values(again.counts)]).toEqual([1, [1]]);
  },
);

test('lines up to the counted offset are skipped, also a last line without a newline', () => {
  const lines = [line('8.8.8.8'), line('1.0.1.1'), line('8.8.8.8').trimEnd()];
  const text = lines.join('');
  const ends = [0, lines[0]!.length, lines[0]!.length + lines[1]!.length, text.length + 1];
  for (const [counted, countedTo] of ends.entries()) {
    const { counts, repeated } = count(text, { sizes: [7], countedTo });
    expect([repeated, Object.values(counts).reduce((sum, each) => sum + each, 0)]).toEqual([
      counted,
      3 - counted,
    ]);
  }
});

/** Ranges from CSV and from MaxMind databases with what is found in them, and lines from bytes: which are counted, where. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';

import { parseV4, parseV6 } from '../../src/log-aggregation/address.js';
import { Places, RangeTableBuilder } from '../../src/log-aggregation/index.js';
import { LineBlocks } from '../../src/log-aggregation/line-blocks.js';
import { LineCounter } from '../../src/log-aggregation/line-counter.js';
import { MalformedLines } from '../../src/log-aggregation/malformed-lines.js';
import { parseRangeCsv } from '../../src/log-aggregation/range-csv.js';
import { readRangeTable } from '../../src/log-aggregation/range-file.js';
import type { RangeTable } from '../../src/log-aggregation/range-table.js';
import { blocksOf, CSV, line } from '../fixture/log-files.js';
import { writeMmdb } from '../fixture/mmdb-writer.js';

const directory = mkdtempSync(join(tmpdir(), 'mortise-'));
afterAll(() => rmSync(directory, { recursive: true }));

function find(table: RangeTable, address: string): string {
  const bytes = Buffer.from(address);
  const words = new Uint32Array(4);
  const isV6 = parseV6(bytes, 0, bytes.length, words);
  const place = isV6 ? table.find6(words) : table.find4(parseV4(bytes, 0, bytes.length));
  return table.places.cities[place]!;
}

describe('CSV', () => {
  test.each([1, 3, 64, 4_096])('in blocks of %i bytes', async (size) => {
    const table = await parseRangeCsv(blocksOf(CSV, size));
    const found = ['0.0.0.0', '1.0.0.0', '1.0.0.255', '1.0.1.0', '1.0.4.0', '9.255.255.255', '10.0.0.0'];
    expect(found.map((address) => find(table, address))).toEqual([
      'ZZ//',
      'AU/Queensland/Brisbane',
      'AU/Queensland/Brisbane',
      'CN/Fujian/Fuzhou',
      'ZZ//',
      'US/New York/Armonk, North Castle',
      'ZZ//',
    ]);
    const six = ['2001:db7:ffff::', '2001:db8::', '2001:db8::ffff:1:2:3:4', '2001:db8:1::', '::ffff:8.8.8.8'];
    expect(six.map((address) => find(table, address))).toEqual([
      'ZZ//',
      'DE/Berlin/Berlin',
      'DE/Berlin/Berlin',
      'ZZ//',
      'US/California/Mountain View',
    ]);
  });

  test('comments, empty lines, carriage returns, quotes, missing fields, any order', async () => {
    const text =
      '# a comment\r\n\r\n9.0.0.0,9.0.0.9,FR\r\n8.0.0.0,8.0.0.9,DE,"a ""b"", c",\r\n7.0.0.0,7.0.0.0,IT,x/y,100%';
    const table = await parseRangeCsv(blocksOf(text));
    expect(['9.0.0.9', '8.0.0.5', '7.0.0.0'].map((address) => find(table, address))).toEqual([
      'FR//',
      'DE/a "b", c/',
      'IT/x%2Fy/100%25',
    ]);
  });

  test.each([
    ['1.0.0.0,1.0.0.255', 'there must be 3 to 5 fields, got 2'],
    ['1.0.0.0,1.0.0.255,AU,a,b,c', 'there must be 3 to 5 fields, got 6'],
    ['1.0.0.0,1.0.0,AU', 'start and end must be addresses'],
    ['1.0.0.0,::1,AU', 'start and end must be of one kind'],
    ['::ffff:1.0.0.0,::ffff:1.0.0.9,AU', 'a mapped address must be written as IPv4'],
    ['::g,::1,AU', 'start and end must be addresses'],
    ['1.0.0.9,1.0.0.0,AU', 'the range ends before it begins'],
    ['::9,::1,AU', 'the range ends before it begins'],
    ['1.0.0.0,1.0.0.255,au', 'the country must be two letters A to Z'],
    [`1.0.0.0,1.0.0.255,AU,${'x'.repeat(256)}`, 'region and city must have at most 255 bytes'],
    ['1.0.0.0,1.0.0.255,AU,"x', 'a quote stands where none may be'],
    ['1.0.0.0,1.0.0.255,AU,x"y"', 'a quote stands where none may be'],
    ['x'.repeat(5_000), 'the line is too long'],
  ])('%.40j is refused with its line', async (text, message) => {
    const parsing = parseRangeCsv(blocksOf(`start,end,country\n5.0.0.0,5.0.0.0,AU\n${text}\n`));
    await expect(parsing).rejects.toMatchObject({
      code: 'ERR_RANGE_TABLE',
      message: expect.stringContaining(`line 3: ${message} (`),
    });
  });

  test.each([
    ['1.0.0.0,1.0.0.9,AU\n1.0.0.9,1.0.0.20,CN', '01000009'],
    ['::5,::9,AU\n::1,::7,CN', '00000000:00000000:00000000:00000005'],
    ['255.255.255.0,255.255.255.255,AU\n255.255.255.255,255.255.255.255,CN', 'ffffffff'],
  ])('overlap: %j', async (text, at) => {
    await expect(parseRangeCsv(blocksOf(text))).rejects.toMatchObject({
      code: 'ERR_RANGE_TABLE',
      message: expect.stringContaining(`two ranges overlap at ${at} (`),
    });
  });
});

describe('a table', () => {
  const edges = fc.uniqueArray(
    fc.oneof(
      fc.integer({ min: 0, max: 0xffff_ffff }),
      fc.integer({ min: 0x0100_0000, max: 0x0101_0010 }),
      fc.constantFrom(0, 0xffff_ffff, 0x0100_0000, 0x00ff_ffff),
    ),
    { minLength: 2, maxLength: 60 },
  );

  test('of IPv4 finds what looking at every range finds', () => {
    fc.assert(
      fc.property(edges, fc.array(fc.integer({ min: 0, max: 0xffff_ffff })), (some, others) => {
        const sorted = some.toSorted((a, b) => a - b);
        const places = new Places();
        const builder = new RangeTableBuilder(places);
        const ranges = Array.from({ length: Math.floor(sorted.length / 2) }, (_, index) => ({
          start: sorted[2 * index]!,
          end: sorted[2 * index + 1]!,
          place: places.add({ country: 'US', region: '', city: String(index) }),
        }));
        for (const { start, end, place } of ranges.toReversed()) builder.add4(start, end, place);
        const table = builder.build();
        const asked = [...some, ...some.map((edge) => (edge + 1) % 2 ** 32), ...others];
        for (const address of asked) {
          const range = ranges.find(({ start, end }) => start <= address && address <= end);
          expect([address, table.find4(address)]).toEqual([address, range?.place ?? 0]);
        }
      }),
    );
  });

  test('of IPv6 finds what looking at every range finds', () => {
    const address = fc.tuple(
      fc.constantFrom(0x2001_0db8, 0x2001_0db9, 0x2002_0000, 0xffff_ffff),
      fc.constantFrom(0, 1, 0xffff_ffff),
      fc.constantFrom(0, 0xffff_ffff),
      fc.constantFrom(0, 7, 0xffff_ffff),
    );
    const valueOf = (words: ArrayLike<number>): bigint =>
      Array.from(words).reduce((sum, word) => (sum << 32n) + BigInt(word), 0n);
    fc.assert(
      fc.property(fc.uniqueArray(address, { selector: String, minLength: 2 }), (some) => {
        const sorted = some.toSorted((a, b) => (valueOf(a) < valueOf(b) ? -1 : 1));
        const places = new Places();
        const builder = new RangeTableBuilder(places);
        const ranges = Array.from({ length: Math.floor(sorted.length / 2) }, (_, index) => ({
          start: sorted[2 * index]!,
          end: sorted[2 * index + 1]!,
          place: places.add({ country: 'US', region: '', city: String(index) }),
        }));
        for (const { start, end, place } of ranges) {
          builder.add6(Uint32Array.from(start), Uint32Array.from(end), place);
        }
        const table = builder.build();
        for (const words of [...some, [0, 0, 0, 0]]) {
          const value = valueOf(words);
          const range = ranges.find(({ start, end }) => valueOf(start) <= value && value <= valueOf(end));
          expect([words, table.find6(Uint32Array.from(words))]).toEqual([words, range?.place ?? 0]);
        }
      }),
    );
  });

  test('without any range knows nothing', () => {
    const table = new RangeTableBuilder(new Places()).build();
    expect([table.find4(0), table.find4(0xffff_ffff), table.find6(new Uint32Array(4))]).toEqual([0, 0, 0]);
  });
});

describe('a MaxMind database', () => {
  const berkeley = {
    country: { iso_code: 'US' },
    subdivisions: [{ iso_code: 'CA', names: { en: 'California', de: 'Kalifornien' } }],
    city: { names: { en: 'Berkeley' } },
  };
  const networks = {
    '8.8.8.0/24': berkeley,
    '9.0.0.0/8': { country: { iso_code: 'FR' } },
    '10.1.0.0/16': { registered_country: { iso_code: 'DE' }, city: { names: { en: 'Köln' } } },
    '10.2.0.0/16': { traits: {} },
    '2001:db8::/32': berkeley,
    '2a00::/11': { country: { iso_code: 'SE' } },
  };

  test.each([24, 28, 32] as const)('with records of %i bits', async (recordSize) => {
    const path = join(directory, `${recordSize}.mmdb`);
    writeFileSync(path, writeMmdb(networks, { recordSize }));
    const table = await readRangeTable(path);
    const addresses = [
      '8.8.7.255',
      '8.8.8.8',
      '9.255.255.255',
      '10.1.5.5',
      '10.2.5.5',
      '2001:db8::1',
      '2a1f:ffff::',
      '2a20::',
      '::ffff:9.1.1.1',
    ];
    expect(addresses.map((address) => find(table, address))).toEqual([
      'ZZ//',
      'US/California/Berkeley',
      'FR//',
      'DE//Köln',
      'ZZ//',
      'US/California/Berkeley',
      'SE//',
      'ZZ//',
      'FR//',
    ]);
    expect(table.ranges).toBeLessThan(16);
  });

  test('of IPv4 only', async () => {
    const path = join(directory, 'four.mmdb');
    writeFileSync(path, writeMmdb({ '8.8.8.0/24': berkeley }, { recordSize: 24, ipVersion: 4 }));
    const table = await readRangeTable(path);
    expect([find(table, '8.8.8.8'), find(table, '2001:db8::1')]).toEqual(['US/California/Berkeley', 'ZZ//']);
  });

  test('that is none, or not there', async () => {
    const path = join(directory, 'none.mmdb');
    writeFileSync(path, 'no database');
    await expect(readRangeTable(path)).rejects.toMatchObject({ code: 'ERR_RANGE_TABLE' });
    await expect(readRangeTable(join(directory, 'missing.mmdb'))).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(readRangeTable(join(directory, 'missing.csv'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

const ALL_DAYS = { first: 0, last: 99_991_231 };
const csv = await parseRangeCsv(blocksOf(CSV));

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
  const counter = new LineCounter(csv, { maxLineBytes, maxKeys, window }, malformed);
  const blocks = new LineBlocks(0, maxLineBytes);
  const counts: Record<string, number> = {};
  const take = (): void => {
    for (const { day, counts: lines, touched, touchedCount } of counter.days) {
      for (const place of touched.subarray(0, touchedCount)) {
        const name = `${day} ${csv.places.cities[place]}`;
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

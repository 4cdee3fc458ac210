/** Ranges from CSV and from MaxMind databases, and what is found in them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';

import { parseV4, parseV6 } from '../src/log-aggregation/address.js';
import { readRangeTable } from '../src/log-aggregation/range-file.js';
import { Places, RangeTableBuilder } from '../src/log-aggregation/index.js';
import { parseRangeCsv } from '../src/log-aggregation/range-csv.js';
import type { RangeTable } from '../src/log-aggregation/range-table.js';
import { blocksOf, CSV } from './log-files.js';
import { writeMmdb } from './mmdb-writer.js';

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
    await expect(parsing).rejects.toMatchObject({ code: 'ERR_RANGE_TABLE', message: `line 3: ${message}` });
  });

  test.each([
    ['1.0.0.0,1.0.0.9,AU\n1.0.0.9,1.0.0.20,CN', '01000009'],
    ['::5,::9,AU\n::1,::7,CN', '00000000:00000000:00000000:00000005'],
    ['255.255.255.0,255.255.255.255,AU\n255.255.255.255,255.255.255.255,CN', 'ffffffff'],
  ])('overlap: %j', async (text, at) => {
    await expect(parseRangeCsv(blocksOf(text))).rejects.toMatchObject({
      code: 'ERR_RANGE_TABLE',
      message: `two ranges overlap at ${at}`,
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

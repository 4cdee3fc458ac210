/**
 * A table from a MaxMind database with cities or countries (GeoIP2, GeoLite2 and others of the format). The library walks the tree of the
 * database bit by bit for each look-up, and makes an object of each result: 2 M look-ups a second at best. So each network is looked
 * up once, when the table is made.
 */
import type { CityResponse, Reader } from 'maxmind';

import { RangeTableError } from './errors.js';
import { Places } from './places.js';
import { increment, RangeTableBuilder } from './range-table-builder.js';
import type { RangeTable } from './range-table.js';

const V4_ADDRESSES = 2 ** 32;

/** Networks of IPv6 in which databases repeat IPv4: the first words, and how many bits of them count. */
const ALIASES = [
  { words: [0, 0, 0], bits: 96 },
  { words: [0, 0, 0xffff], bits: 96 },
  { words: [0x20010000], bits: 32 },
  { words: [0x20020000], bits: 16 },
] as const;

/** Reads a database with the optional peer `maxmind`. Throws RangeTableError for other files. Takes some seconds for a database of all cities. */
export async function readMmdb(path: string): Promise<RangeTable> {
  const { default: maxmind } = await import('maxmind');
  let reader: Reader<CityResponse>;
  try {
    // Records repeat: with a cache, a repeated record is the same object.
    reader = await maxmind.open<CityResponse>(path, { cache: { max: 100_000 } });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error;
    throw new RangeTableError(`${path} is no MaxMind database`, { cause: error });
  }
  const places = new Places();
  const builder = new RangeTableBuilder(places);
  const numbers = new WeakMap<object, number>();
  const placeOf = (record: CityResponse): number => {
    let place = numbers.get(record);
    if (place === undefined) {
      const { country = record.registered_country, subdivisions, city } = record;
      const region = subdivisions?.[0];
      place = places.add({
        country: country?.iso_code ?? '',
        region: region?.names?.en ?? region?.iso_code ?? '',
        city: city?.names?.en ?? '',
      });
      numbers.set(record, place);
    }
    return place;
  };
  walkV4(reader, (start, end, record) => builder.add4(start, end, placeOf(record)));
  if (reader.metadata.ipVersion === 6) {
    walkV6(reader, (start, end, record) => builder.add6(start, end, placeOf(record)));
  }
  return builder.build();
}

function walkV4(
  reader: Reader<CityResponse>,
  visit: (start: number, end: number, record: CityResponse) => void,
): void {
  for (let start = 0; start < V4_ADDRESSES;) {
    const text = `${start >>> 24}.${(start >>> 16) & 255}.${(start >>> 8) & 255}.${start & 255}`;
    const [record, prefix] = reader.getWithPrefixLength(text);
    const end = start + 2 ** (32 - prefix) - 1;
    if (record) visit(start, end, record);
    start = end + 1;
  }
}

function walkV6(
  reader: Reader<CityResponse>,
  visit: (start: Uint32Array, end: Uint32Array, record: CityResponse) => void,
): void {
  const start = new Uint32Array(4);
  for (let isOver = false; !isOver;) {
    const alias = ALIASES.find(({ words, bits }) => hasPrefix(start, words, bits));
    const [record, prefix] = alias ? [null, alias.bits] : reader.getWithPrefixLength(textOf(start));
    const end = lastOf(start, prefix);
    if (record) visit(start, end, record);
    start.set(end);
    isOver = increment(start);
  }
}

function hasPrefix(address: Uint32Array, words: readonly number[], bits: number): boolean {
  return words.every((word, index) => {
    const shift = Math.max(0, 32 * (index + 1) - bits);
    return address[index]! >>> shift === word >>> shift;
  });
}

/** The last address of a network. */
function lastOf(start: Uint32Array, prefix: number): Uint32Array {
  return start.map((word, index) => {
    const fixed = Math.min(32, Math.max(0, prefix - 32 * index));
    return fixed === 32 ? word : word | (0xffffffff >>> fixed);
  });
}

function textOf(address: Uint32Array): string {
  return Array.from(address, (word) => `${(word >>> 16).toString(16)}:${(word & 0xffff).toString(16)}`).join(
    ':',
  );
}

/**
 * A table from a text file, one range a line:
 *
 *   start,end,country,region,city
 *   1.0.0.0,1.0.0.255,AU,Queensland,Brisbane
 *   2001:db8::,2001:db8::ffff,US,California,"Oakland, downtown"
 *
 * UTF-8. Start and end are addresses of one kind and both belong to the range. Country is ISO 3166-1 alpha-2; region and city may be
 * empty or left out. A field may be quoted, with `""` for a quote; no field spans lines. Empty lines, lines that begin with `#`, and a first line that
 * begins with `start,` are skipped. Ranges may come in any order; sorted ones load faster.
 */
import { createReadStream } from 'node:fs';

import { isMappedV4, parseV4, parseV6 } from './address.js';
import { RangeTableError } from './errors.js';
import { Places } from './places.js';
import { RangeTableBuilder } from './range-table-builder.js';
import type { RangeTable } from './range-table.js';

const MAX_FIELD_BYTES = 255;
const MAX_LINE_LENGTH = 4_096;
const COUNTRY = /^[A-Z]{2}$/;
const BLOCK_BYTES = 1_048_576;

/** Reads a file of ranges. Throws RangeTableError for lines in another format, with the number of the line, and for ranges that overlap. */
export async function readRangeCsv(path: string): Promise<RangeTable> {
  return parseRangeCsv(createReadStream(path, { highWaterMark: BLOCK_BYTES }));
}

/** The same from blocks of the file, which may end anywhere. */
export async function parseRangeCsv(blocks: AsyncIterable<Uint8Array>): Promise<RangeTable> {
  const parser = new CsvParser();
  const decoder = new TextDecoder('utf-8');
  let rest = '';
  for await (const block of blocks) {
    const lines = (rest + decoder.decode(block, { stream: true })).split('\n');
    rest = lines.pop()!;
    for (const line of lines) parser.add(line);
    if (rest.length > MAX_LINE_LENGTH) parser.add(rest);
  }
  parser.add(rest + decoder.decode());
  return parser.build();
}

class CsvParser {
  readonly #places = new Places();
  readonly #builder = new RangeTableBuilder(this.#places);
  readonly #bytes = Buffer.alloc(MAX_LINE_LENGTH);
  readonly #start = new Uint32Array(4);
  readonly #end = new Uint32Array(4);
  #line = 0;

  add(text: string): void {
    this.#line += 1;
    const line = text.endsWith('\r') ? text.slice(0, -1) : text;
    if (line === '' || line.startsWith('#') || (this.#line === 1 && line.startsWith('start,'))) return;
    try {
      this.#addRange(line);
    } catch (error) {
      if (error instanceof RangeTableError) throw new RangeTableError(`line ${this.#line}: ${error.message}`);
      throw error;
    }
  }

  build(): RangeTable {
    return this.#builder.build();
  }

  #addRange(line: string): void {
    if (line.length > MAX_LINE_LENGTH) throw new RangeTableError('the line is too long');
    const fields = line.includes('"') ? quotedFields(line) : line.split(',');
    if (fields.length < 3 || fields.length > 5) {
      throw new RangeTableError(`there must be 3 to 5 fields, got ${fields.length}`);
    }
    const [start, end, country, region = '', city = ''] = fields as [string, string, string, ...string[]];
    if (!COUNTRY.test(country)) throw new RangeTableError('the country must be two letters A to Z');
    for (const field of [region, city]) {
      if (field.length > MAX_FIELD_BYTES || Buffer.byteLength(field) > MAX_FIELD_BYTES) {
        throw new RangeTableError(`region and city must have at most ${MAX_FIELD_BYTES} bytes`);
      }
    }
    const place = this.#places.add({ country, region, city });
    const isV6 = start.includes(':');
    if (isV6 !== end.includes(':')) throw new RangeTableError('start and end must be of one kind');
    if (isV6) {
      this.#readV6(start, this.#start);
      this.#readV6(end, this.#end);
      if (isMappedV4(this.#start) || isMappedV4(this.#end)) {
        throw new RangeTableError('a mapped address must be written as IPv4');
      }
      this.#builder.add6(this.#start, this.#end, place);
    } else {
      this.#builder.add4(this.#readV4(start), this.#readV4(end), place);
    }
  }

  #readV4(text: string): number {
    const address = parseV4(this.#bytes, 0, this.#bytes.write(text, 'latin1'));
    if (address < 0) throw new RangeTableError('start and end must be addresses');
    return address;
  }

  #readV6(text: string, words: Uint32Array): void {
    if (!parseV6(this.#bytes, 0, this.#bytes.write(text, 'latin1'), words)) {
      throw new RangeTableError('start and end must be addresses');
    }
  }
}

const QUOTED_LINE = /^(?:"(?:[^"]|"")*"|[^",]*)(?:,(?:"(?:[^"]|"")*"|[^",]*))*$/;
const FIELD = /(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g;

function quotedFields(line: string): string[] {
  if (!QUOTED_LINE.test(line)) throw new RangeTableError('a quote stands where none may be');
  return Array.from(line.matchAll(FIELD), ([, quoted, plain]) =>
    quoted === undefined ? plain! : quoted.replaceAll('""', '"'),
  );
}

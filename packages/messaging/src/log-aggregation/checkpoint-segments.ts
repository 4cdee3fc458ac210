/** The counters of a day as segments for the scripts: one call adds a segment, and takes some ms of Redis at most. */
import type { DayCounts } from './day-counts.js';
import type { Places } from './places.js';

/** As daily.add.part.lua numbers them. */
const COUNTRY = 1;
const REGION = 2;
const CITY = 3;
/** Dimension, lines and length before each member. */
const HEAD_BYTES = 7;
/** About 3 ms of Redis. */
export const SEGMENT_MEMBERS = 1_000;

/** At least one segment, which may be empty. */
export function segmentsOfDay({ counts, touched, touchedCount }: DayCounts, places: Places): Buffer[] {
  const countries = new Map<number, number>();
  const regions = new Map<number, number>();
  const writer = new SegmentWriter();
  for (let index = 0; index < touchedCount; index += 1) {
    const place = touched[index]!;
    const lines = counts[place]!;
    writer.add(CITY, lines, places.cities[place]!);
    const region = places.regionOf[place]!;
    regions.set(region, (regions.get(region) ?? 0) + lines);
    const country = places.countryOf[place]!;
    countries.set(country, (countries.get(country) ?? 0) + lines);
  }
  for (const [region, lines] of regions) writer.add(REGION, lines, places.regions[region]!);
  for (const [country, lines] of countries) writer.add(COUNTRY, lines, places.countries[country]!);
  return writer.end();
}

class SegmentWriter {
  readonly #segments: Buffer[] = [];
  #items: Buffer[] = [];

  add(dimension: number, lines: number, member: string): void {
    if (this.#items.length === SEGMENT_MEMBERS) this.#close();
    const length = Buffer.byteLength(member);
    const item = Buffer.allocUnsafe(HEAD_BYTES + length);
    item.writeUInt8(dimension, 0);
    item.writeUInt32BE(lines, 1);
    item.writeUInt16BE(length, 5);
    item.write(member, HEAD_BYTES);
    this.#items.push(item);
  }

  end(): Buffer[] {
    if (this.#items.length > 0 || this.#segments.length === 0) this.#close();
    return this.#segments;
  }

  #close(): void {
    this.#segments.push(Buffer.concat(this.#items));
    this.#items = [];
  }
}

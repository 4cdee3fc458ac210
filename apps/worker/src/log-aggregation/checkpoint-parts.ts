/** The counters of a day as parts that the scripts take: each is added in one call, which takes some ms of Redis at most. */
import type { DayCounts } from './day-counts.js';
import type { Places } from './places.js';

/** As daily.add.part.lua numbers them. */
const COUNTRY = 1;
const REGION = 2;
const CITY = 3;
/** Dimension, lines and length in front of each member. */
const HEAD_BYTES = 7;
/** About 3 ms of Redis. */
export const PART_MEMBERS = 1_000;

/** At least one part, which may be empty. */
export function partsOfDay({ counts, touched, touchedCount }: DayCounts, places: Places): Buffer[] {
  const countries = new Map<number, number>();
  const regions = new Map<number, number>();
  const writer = new PartWriter();
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

class PartWriter {
  readonly #parts: Buffer[] = [];
  #items: Buffer[] = [];

  add(dimension: number, lines: number, member: string): void {
    if (this.#items.length === PART_MEMBERS) this.#close();
    const length = Buffer.byteLength(member);
    const item = Buffer.allocUnsafe(HEAD_BYTES + length);
    item.writeUInt8(dimension, 0);
    item.writeUInt32BE(lines, 1);
    item.writeUInt16BE(length, 5);
    item.write(member, HEAD_BYTES);
    this.#items.push(item);
  }

  end(): Buffer[] {
    if (this.#items.length > 0 || this.#parts.length === 0) this.#close();
    return this.#parts;
  }

  #close(): void {
    this.#parts.push(Buffer.concat(this.#items));
    this.#items = [];
  }
}

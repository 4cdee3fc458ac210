/** Lines of access logs, the table of their addresses, and the counts that they must have. Each file has places of its own. */
import type * as Logs from '@mortise/messaging/log-aggregation';
import type { Random } from '../random.js';

/** Each has a country, a region and a city of its own. */
export const PLACES = 512;
export const DAYS = ['2027-01-14', '2027-01-15'];
/** 10.0.0.0 */
const FIRST_ADDRESS = 0x0a000000;
const LETTERS = 26;
const LETTER_A = 65;
const LONGEST_EVENT = 80;
/** Of a thousand lines so many can't be counted, and so many come from nowhere. */
const BROKEN = 0.03;
const UNKNOWN = 0.03;
const OLD_DAY = '2020-01-01';

/** By day, and then by member of each dimension. */
export type Counts = Map<string, number>;

interface Shape {
  readonly count: number;
  /** The first of its places, and how many it has. */
  readonly firstPlace: number;
  readonly places: number;
  /** Whether each line is as short as it may be, and from another place than the one before. */
  readonly isWide: boolean;
}

export function contentOf(random: Random, { count, firstPlace, places, isWide }: Shape): string {
  const lines = Array.from({ length: count }, (_, index) => {
    const chance = random.next();
    if (chance < BROKEN) return `broken ${'x'.repeat(random.below(LONGEST_EVENT))}`;
    const place = firstPlace + (isWide ? index % places : random.below(places));
    const address = chance < BROKEN + UNKNOWN && !isWide ? '192.0.2.1' : `10.0.${place >> 8}.${place & 255}`;
    const day = random.isTrue(0.02) ? OLD_DAY : random.pick(DAYS);
    const event = isWide ? 'e' : 'e'.repeat(1 + random.below(LONGEST_EVENT));
    return `${address} ${day} 08:00:00 ${event}`;
  });
  return lines.map((line) => `${line}\n`).join('');
}

/** Keys are day and member, such as `2027-01-15 AA/R0/C0`. */
export function countsOf(content: string): Counts {
  const counts: Counts = new Map();
  for (const [, first, second, day = ''] of content.matchAll(/^10\.0\.(\d+)\.(\d+) (\S+) /gm)) {
    if (!DAYS.includes(day)) continue;
    const [country, region, city] = namesOf(Number(first) * 256 + Number(second));
    for (const member of [country, `${country}/${region}`, `${country}/${region}/${city}`])
      counts.set(`${day} ${member}`, (counts.get(`${day} ${member}`) ?? 0) + 1);
  }
  return counts;
}

export function tableOf({ Places, RangeTableBuilder }: typeof Logs): Logs.RangeTable {
  const places = new Places();
  const builder = new RangeTableBuilder(places);
  for (let place = 0; place < PLACES; place += 1) {
    const [country, region, city] = namesOf(place);
    const address = FIRST_ADDRESS + place;
    builder.add4(address, address, places.add({ country, region, city }));
  }
  return builder.build();
}

function namesOf(place: number): [country: string, region: string, city: string] {
  const [first, second] = [Math.floor(place / LETTERS), place % LETTERS];
  return [String.fromCharCode(LETTER_A + first, LETTER_A + second), `R${place}`, `C${place}`];
}

import type { Place } from './place.js';
import { memberOf, UNKNOWN } from './place.js';

/** Every place of a table, once, by a number; 0 is the unknown place. Counting needs numbers only. */
export class Places {
  readonly #ids = new Map<string, number>();
  readonly #regionIds = new Map<string, number>();
  readonly #countryIds = new Map<string, number>();
  /** Members of the aggregates, by number. */
  readonly cities: string[] = [];
  readonly regions: string[] = [];
  readonly countries: string[] = [];
  /** Numbers of region and country, by place. */
  readonly regionOf: number[] = [];
  readonly countryOf: number[] = [];

  constructor() {
    this.add(UNKNOWN);
  }

  get size(): number {
    return this.cities.length;
  }

  /** The number of a place; the first call gives it one. A place without a country is unknown. */
  add({ country, region, city }: Place): number {
    const member = country === '' ? memberOf(...Object.values(UNKNOWN)) : memberOf(country, region, city);
    const known = this.#ids.get(member);
    if (known !== undefined) return known;
    const place = this.cities.push(member) - 1;
    this.#ids.set(member, place);
    this.countryOf.push(number(this.#countryIds, this.countries, memberOf(country)));
    this.regionOf.push(number(this.#regionIds, this.regions, memberOf(country, region)));
    return place;
  }
}

function number(ids: Map<string, number>, members: string[], member: string): number {
  let id = ids.get(member);
  if (id === undefined) {
    id = members.push(member) - 1;
    ids.set(member, id);
  }
  return id;
}

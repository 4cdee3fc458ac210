import type { RedisClient } from '@mortise/redis';
import {
  ArgumentRangeError,
  requireClient,
  requireInteger,
  requireName,
  requireOneOf,
  requireOptions,
  shownValue,
} from '@mortise/redis';

import { aggregatesTop } from '../scripts.gen.js';
import { isDay } from './day.js';
import type { Dimension } from './keys.js';
import { dayKeys, DIMENSIONS } from './keys.js';
import type { Place } from './place.js';
import { partsOf } from './place.js';

/** Maximum of members in one answer. */
export const MAX_TOP = 200;
export const DEFAULT_TOP = 10;

/** A place, down to the requested dimension, and the number of lines from there. */
export interface PlaceCount extends Partial<Place> {
  readonly country: string;
  readonly count: number;
}

export interface DailyTop {
  readonly day: string;
  readonly dimension: Dimension;
  /** All lines of the day, wherever they came from. */
  readonly total: number;
  /** How many countries, regions or cities they came from. */
  readonly places: number;
  /** The places, the most frequent first. */
  readonly items: readonly PlaceCount[];
}

const OPTIONS: ReadonlySet<string> = new Set<keyof DailyAggregatesOptions>(['prefix']);
const TOP_OPTIONS: ReadonlySet<string> = new Set(['limit']);

export interface DailyAggregatesOptions {
  /** Keeps applications apart in one Redis. 1 to 1,024 bytes. Default `mortise`. */
  readonly prefix?: string | undefined;
}

/** Reads what a `LogAggregator` has counted in access logs: lines by day and country, region or city. */
export class DailyAggregates {
  readonly #redis: RedisClient;
  readonly #prefix: string | undefined;

  /** Sends nothing. Throws TypeError or RangeError for invalid options. */
  constructor(redis: RedisClient, options: DailyAggregatesOptions = {}) {
    this.#redis = requireClient(redis);
    const { prefix } = requireOptions('DailyAggregates', options, OPTIONS);
    this.#prefix = prefix === undefined ? undefined : requireName('prefix', prefix);
  }

  /**
   * Returns the places with the most lines of a day; a day without lines has no items. One read-only script, O(log n + limit).
   * Counts of a checkpoint that is being added come in parts, so `total` may be ahead of their sum for some ms.
   *
   * @param day `2026-11-20`, in the time zone of the logs. Throws RangeError for a text that is no day.
   * @param options.limit 1 to 200, default 10.
   */
  async top(
    dimension: Dimension,
    day: string,
    options: { readonly limit?: number | undefined } = {},
  ): Promise<DailyTop> {
    const { limit = DEFAULT_TOP } = requireOptions('top', options, TOP_OPTIONS);
    requireOneOf('dimension', dimension, DIMENSIONS);
    if (!isDay(day))
      throw new ArgumentRangeError(`day must be a day such as 2026-11-20, got ${shownValue(day)}`);
    requireInteger('limit', limit, { min: 1, max: MAX_TOP });
    const { [dimension]: counts, total } = dayKeys(this.#prefix, day);
    const [lines, places, flat] = (await aggregatesTop.run(this.#redis, { counts, total }, { limit })) as [
      string | null,
      number,
      string[],
    ];
    const items = Array.from({ length: flat.length / 2 }, (_, index) =>
      placeCount(flat[2 * index]!, Number(flat[2 * index + 1])),
    );
    return { day, dimension, total: Number(lines), places, items };
  }
}

function placeCount(member: string, count: number): PlaceCount {
  const [country = '', region, city] = partsOf(member);
  return { country, ...(region !== undefined && { region }), ...(city !== undefined && { city }), count };
}

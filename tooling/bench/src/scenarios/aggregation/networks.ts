/**
 * A made-up internet: all of IPv4 cut into so many networks, each with one of 100,000 cities, as a binary tree. A MaxMind database is that tree;
 * a table of ranges are its leaves, from left to right.
 */
import { Places, RangeTableBuilder, type RangeTable } from '@mortise/messaging/log-aggregation';
import { randomNumbers } from './random.js';

export const CITIES = 100_000;
const REGIONS = 3_000;
const COUNTRIES = 240;

/** Nodes of the tree, two sides each: the number of another node, or `-1 - city`. The first node is the root. */
export interface Networks {
  readonly sides: Int32Array;
  readonly nodes: number;
}

export interface City {
  readonly country: string;
  readonly region: string;
  readonly city: string;
}

export function cityOf(number: number): City {
  const region = number % REGIONS;
  const country = region % COUNTRIES;
  return {
    country: String.fromCharCode(65 + Math.floor(country / 26), 65 + (country % 26)),
    region: `Region ${region}`,
    city: `City ${number}`,
  };
}

/** Sides of a node get shares of its networks from 3 : 7 to 7 : 3, so there are large and small networks. */
export function makeNetworks(count: number): Networks {
  const random = randomNumbers(1);
  const sides = new Int32Array(2 * (count - 1));
  let nodes = 0;
  const grow = (leaves: number, depth: number): number => {
    if (leaves === 1) return -1 - (random() % CITIES);
    const node = nodes++;
    const room = 2 ** (31 - depth);
    const share = Math.round(leaves * (0.3 + (0.4 * random()) / 2 ** 32));
    const left = Math.min(room, leaves - 1, Math.max(1, leaves - room, share));
    sides[2 * node] = grow(left, depth + 1);
    sides[2 * node + 1] = grow(leaves - left, depth + 1);
    return node;
  };
  grow(count, 0);
  return { sides, nodes };
}

export function tableOf({ sides }: Networks): RangeTable {
  const places = new Places();
  const builder = new RangeTableBuilder(places);
  const numbers = Array.from({ length: CITIES }, (_, city) => places.add(cityOf(city)));
  const walk = (side: number, start: number, depth: number): void => {
    const size = 2 ** (32 - depth);
    if (side < 0) {
      builder.add4(start, start + size - 1, numbers[-1 - side]!);
      return;
    }
    walk(sides[2 * side]!, start, depth + 1);
    walk(sides[2 * side + 1]!, start + size / 2, depth + 1);
  };
  walk(0, 0, 0);
  return builder.build();
}

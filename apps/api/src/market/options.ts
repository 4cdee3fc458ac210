import { DEFAULT_PREFIX, requireInteger } from '@mortise/redis';

export interface MarketOptions {
  /** First part of every key. Default `mortise`. */
  readonly prefix?: string | undefined;
  /** The most players. Default 1,000,000. */
  readonly maxPlayers?: number | undefined;
  /** The most items, those that are listed included. Default 10,000,000. */
  readonly maxItems?: number | undefined;
  /** How many of the newest receipts, and the request keys that led to them, are kept. Default 100,000. */
  readonly maxSales?: number | undefined;
}

export const DEFAULTS = {
  prefix: DEFAULT_PREFIX,
  maxPlayers: 1_000_000,
  maxItems: 10_000_000,
  maxSales: 100_000,
};

/** The most coins that anything costs and that anybody has: exact in Lua's numbers, thirteen digits in the indexes. */
export const MAX_COINS = 1_000_000_000_000;
export const MAX_PAGE = 200;
export const DEFAULT_PAGE = 50;

const MAX_COUNT = 1_000_000_000;

/** Throws TypeError or RangeError for a limit that is no whole number from 1 to 10^9. */
export function resolveMarketOptions(options: MarketOptions): Required<typeof DEFAULTS> {
  const limit = (name: 'maxPlayers' | 'maxItems' | 'maxSales'): number =>
    requireInteger(name, options[name] ?? DEFAULTS[name], { min: 1, max: MAX_COUNT });
  return {
    prefix: options.prefix ?? DEFAULTS.prefix,
    maxPlayers: limit('maxPlayers'),
    maxItems: limit('maxItems'),
    maxSales: limit('maxSales'),
  };
}

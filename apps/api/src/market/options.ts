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
  /** How long a listing stays locked when the process that trades by lock dies, ms: 10 to 60,000. Default 2,000. */
  readonly lockLeaseMs?: number | undefined;
  /** How long a trade by lock waits for its listing, ms: 1 to 60,000. Default 800. */
  readonly lockWaitMs?: number | undefined;
}

export type ResolvedMarketOptions = Readonly<typeof DEFAULTS>;

export const DEFAULTS = {
  prefix: DEFAULT_PREFIX,
  maxPlayers: 1_000_000,
  maxItems: 10_000_000,
  maxSales: 100_000,
  lockLeaseMs: 2_000,
  lockWaitMs: 800,
};

/** The most coins that anything costs and that anybody has: exact in Lua's numbers, thirteen digits in the indexes. */
export const MAX_COINS = 1_000_000_000_000;
/** How far ahead a listing may open, and how long it may stand, ms. */
export const MAX_TERM_MS = 365 * 86_400_000;
export const MIN_TERM_MS = 1_000;
/** How long a withdrawal may be repeated after its listing is gone, ms. */
export const WITHDRAWN_MS = 3_600_000;
export const MAX_PAGE = 200;
export const DEFAULT_PAGE = 50;

const MAX_COUNT = 1_000_000_000;
const MAX_LOCK_MS = 60_000;

/** Throws TypeError or RangeError for a limit that is no whole number from 1 to 10^9, or another time than it may be. */
export function resolveMarketOptions(options: MarketOptions): ResolvedMarketOptions {
  const limit = (name: 'maxPlayers' | 'maxItems' | 'maxSales'): number =>
    requireInteger(name, options[name] ?? DEFAULTS[name], { min: 1, max: MAX_COUNT });
  const ms = (name: 'lockLeaseMs' | 'lockWaitMs', min: number): number =>
    requireInteger(name, options[name] ?? DEFAULTS[name], { min, max: MAX_LOCK_MS });
  return {
    prefix: options.prefix ?? DEFAULTS.prefix,
    maxPlayers: limit('maxPlayers'),
    maxItems: limit('maxItems'),
    maxSales: limit('maxSales'),
    lockLeaseMs: ms('lockLeaseMs', 10),
    lockWaitMs: ms('lockWaitMs', 1),
  };
}

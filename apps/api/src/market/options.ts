import { DEFAULT_PREFIX, requireInteger } from '@mortise/redis';

export interface MarketOptions {
  /** First part of every key. Default `mortise`. */
  readonly prefix?: string | undefined;
  /** The most players. Default 1,000,000. */
  readonly maxPlayers?: number | undefined;
  /** The most items, including listed ones. Default 10,000,000. */
  readonly maxItems?: number | undefined;
  /** How many of the newest receipts are kept, with their request keys. Default 100,000. */
  readonly maxSales?: number | undefined;
  /** How long a listing stays locked after the process that trades by lock dies, ms: 10 to 60,000. Default 2,000. */
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

/** The highest price, and the most coins of a player: exact in Lua's numbers, thirteen digits in the indexes. */
export const MAX_COINS = 1_000_000_000_000;
/** How far ahead a listing may open, and how long it may stand, ms. */
export const MAX_TERM_MS = 365 * 86_400_000;
export const MIN_TERM_MS = 1_000;
/** How long a withdrawal may be repeated after its listing is gone, ms. */
export const WITHDRAWN_MS = 3_600_000;

const MAX_COUNT = 1_000_000_000;
const MAX_LOCK_MS = 60_000;

/** Throws TypeError or RangeError for a count outside 1 to 10^9 or a time outside its bounds. */
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

import type { RedisAddress } from '../locks/config.js';

/** The settings of a trader, as JSON in its only argument. */
export interface TraderConfig {
  /** Begins the ids of its items and listings; no other process has it. */
  readonly name: string;
  /** Gets a line of JSON for each gift, sale and refusal. */
  readonly file: string;
  readonly redis: RedisAddress;
  readonly prefix: string;
  /** Between two trades. */
  readonly pauseMs: number;
}

export const PLAYERS: readonly string[] = Array.from({ length: 10 }, (_, n) => `player${n}`);
export const FUNDS = 1_000;

interface Timed {
  /** When the first request for it began, µs. */
  readonly calledAt: number;
  /** When its answer came, µs. */
  readonly answeredAt: number;
}

interface Gift extends Timed {
  readonly type: 'given';
  readonly itemId: string;
}

interface Sold extends Timed {
  readonly type: 'sold';
  readonly id: string;
  readonly itemId: string;
  readonly buyerId: string;
}

/** The market didn't know what it had accepted before. */
interface Refused extends Timed {
  readonly type: 'refused';
  readonly what: string;
}

export type TraderRecord = Gift | Sold | Refused;

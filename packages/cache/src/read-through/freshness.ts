/**
 * When a value is loaded again. It is fresh for `ttlMs`. For `staleMs` after that it is served while one process refreshes
 * it. A value without `staleMs` is refreshed before its end, if it is read then. The lead is the duration of its load, plus a
 * random time of that length on average. Each process draws this once for each value. So the new value is ready in time, and
 * the processes don't all request the lease at once.
 *
 * This is XFetch (Vattani, Chierichetti, Lowenstein: Optimal Probabilistic Cache Stampede Prevention, PVLDB 8(8), 2015) with
 * one draw for each value and process. XFetch draws at each read, so the lead grows with the logarithm of the number of
 * reads. It is 760 ms at 20,000 reads/s and a load of 100 ms. Caches without leases need that many draws. Without the
 * constant part, one draw would leave no time for the load in 63 of 100 cases.
 */
import type { Entry } from './envelope.js';

/** The part of `ttlMs` in which a value may be refreshed early; a value with a slow load would be loaded all the time otherwise. */
const EARLY_PART = 0.5;
const SALT = Math.floor(Math.random() * 2 ** 32);

type Timing = Pick<Entry, 'storedAt' | 'ttlMs' | 'staleMs' | 'loadMs'>;

/** The instant on the server's clock at which the value is to be refreshed. @param drawn From 0 (excluded) to 1. */
export function dueFrom({ storedAt, ttlMs, staleMs, loadMs }: Timing, beta: number, drawn: number): number {
  const earlyMs = staleMs > 0 ? 0 : Math.min(loadMs * beta * (1 - Math.log(drawn)), ttlMs * EARLY_PART);
  return storedAt + ttlMs - earlyMs;
}

/** A number from 0 (excluded) to 1: constant for a token in this process, and different in each process. */
export function drawFor(token: number): number {
  // The last steps of MurmurHash3 spread consecutive tokens.
  let bits = token ^ SALT;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (((bits ^ (bits >>> 16)) >>> 0) + 1) / 2 ** 32;
}

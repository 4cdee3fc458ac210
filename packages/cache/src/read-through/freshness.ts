/**
 * When a value is loaded again. Up to `ttlMs` it is fresh. Then, for `staleMs`, it is served while one process loads it. A
 * value without `staleMs` is loaded a little earlier instead, if anybody reads it then: before its end by the time that its load
 * took, and by a time at random, of that length on average, which each process draws for itself. So the new value is
 * there in time, and processes don't ask for the lease all at once.
 *
 * It is XFetch (Vattani, Chierichetti, Lowenstein: Optimal Probabilistic Cache Stampede Prevention, PVLDB 8(8), 2015) with one
 * draw for each value and process. There, each read draws, so what is early grows with the logarithm of the number of
 * reads: with 20,000 reads/s and a load of 100 ms it is 760 ms. That many draws are for caches without leases; and without the
 * constant part, one draw would leave no time for the load in 63 of 100 cases.
 */
import type { Entry } from './envelope.js';

/** The part of `ttlMs` in which a value may be loaded early: one whose load takes long would be loaded all the time otherwise. */
const EARLY_PART = 0.5;
const SALT = Math.floor(Math.random() * 2 ** 32);

type Timing = Pick<Entry, 'storedAt' | 'ttlMs' | 'staleMs' | 'loadMs'>;

/** The instant, on the server's clock, from which on the value is to be loaded again. @param drawn From 0, without it, to 1. */
export function dueFrom({ storedAt, ttlMs, staleMs, loadMs }: Timing, beta: number, drawn: number): number {
  const earlyMs = staleMs > 0 ? 0 : Math.min(loadMs * beta * (1 - Math.log(drawn)), ttlMs * EARLY_PART);
  return storedAt + ttlMs - earlyMs;
}

/** From 0, without it, to 1: the same for one token in this process, and as if at random in each other one. */
export function drawFor(token: number): number {
  // The last steps of MurmurHash3, which spread tokens that follow each other.
  let bits = token ^ SALT;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (((bits ^ (bits >>> 16)) >>> 0) + 1) / 2 ** 32;
}

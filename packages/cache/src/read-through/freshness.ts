/**
 * When a value is loaded again. Up to `ttlMs` it is fresh. Then, for `staleMs`, it is served while one process loads it. A
 * value without `staleMs` may be loaded a little earlier instead, by the rule of XFetch: a reader goes ahead with a
 * probability that grows towards the end, and the earlier the longer the load took, so that on average one does so just in
 * time, however many read (Vattani, Chierichetti, Lowenstein: Optimal Probabilistic Cache Stampede Prevention, PVLDB 8(8),
 * 2015). Here the draw only decides who asks for the lease, so a second winner costs a round trip, not a load.
 */
import type { Entry } from './envelope.js';

/** The part of `ttlMs` in which no value is loaded early: a busy key would be loaded all the time otherwise. */
const QUIET_PART = 0.5;

type Timing = Pick<Entry, 'storedAt' | 'ttlMs' | 'staleMs' | 'loadMs'>;

/** The instant, on the server's clock, from which on a draw may win; `freshUntil` where there is none. */
export function earlyFrom({ storedAt, ttlMs, staleMs, loadMs }: Timing, beta: number): number {
  return staleMs > 0 || loadMs * beta === 0 ? storedAt + ttlMs : storedAt + ttlMs * QUIET_PART;
}

/** Draws for one reader, `leftMs` before the end. */
export function isEarly(leftMs: number, loadMs: number, beta: number): boolean {
  return -loadMs * beta * Math.log(Math.random()) >= leftMs;
}

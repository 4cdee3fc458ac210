/** A producer at a fixed rate, and a worker some of whose handlers fail; both on the machine's monotonic clock, which all processes share. */
import { setTimeout as sleep } from 'node:timers/promises';
import { queueKind } from './kinds/index.js';
import type { Payload } from './payload.js';
import type { Counts } from './tail-histogram.js';
import { Histogram } from './tail-histogram.js';

export interface Producing {
  readonly url: string;
  readonly kind: string;
  /** Tasks a second, however long Redis takes to accept one; without it, `callers` store one after the other. */
  readonly perSecond?: number;
  readonly callers: number;
  readonly seconds: number;
}

export interface Serving {
  readonly url: string;
  readonly kind: string;
  readonly concurrency: number;
  /** The share of the handlers that throw. */
  readonly failing: number;
}

/** Each task says when it was enqueued. */
interface Stamped extends Payload {
  readonly at: number;
}

const TICK_MS = 2;

let waits = new Histogram();

/** ms */
function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Resolves with how many were stored. */
async function produce({ url, kind, perSecond, callers, seconds }: Producing): Promise<number> {
  const producer = await queueKind(kind).producer(url);
  let stored = 0;
  const store = async (): Promise<void> => {
    // The time stands for as many bytes of the data.
    const payload: Stamped = { n: stored, data: 'x'.repeat(64), at: monotonic() };
    stored += 1;
    await producer.enqueue(payload);
  };
  const startedAt = monotonic();
  const elapsed = (): number => (monotonic() - startedAt) / 1000;
  if (perSecond === undefined) {
    const call = async (): Promise<void> => {
      while (elapsed() < seconds) await store();
    };
    await Promise.all(Array.from({ length: callers }, call));
    return stored;
  }
  const pending = new Set<Promise<void>>();
  while (elapsed() < seconds) {
    for (let due = Math.floor(elapsed() * perSecond) - stored; due > 0; due -= 1) {
      const storing = store().finally(() => pending.delete(storing));
      pending.add(storing);
    }
    await sleep(TICK_MS);
  }
  await Promise.all(pending);
  return stored;
}

/** Starts a worker; resolves when it takes tasks. */
async function serve({ url, kind, concurrency, failing }: Serving): Promise<void> {
  await queueKind(kind).work({ url, concurrency }, (payload, isFirst = true) => {
    if (isFirst) waits.add(monotonic() - (payload as Stamped).at);
    if (Math.random() < failing) throw new Error('one of the failing handlers');
  });
}

/** From enqueue to the first start, of the tasks that have started since the last call. */
function taken(): Promise<Counts> {
  const counts = waits.counts();
  waits = new Histogram();
  return Promise.resolve(counts);
}

const actions = { produce, serve, taken };

export type TailActions = typeof actions;
export default actions;

/** One process that stores tasks and runs them, so that both are seen on one clock. */
import { setTimeout as sleep } from 'node:timers/promises';
import { queueKind } from './kinds/index.js';
import { indexOf, payloadOf } from './payload.js';

export interface Pacing {
  readonly url: string;
  readonly kind: string;
  readonly tasks: number;
  readonly perSecond: number;
}

export interface Delaying {
  readonly url: string;
  readonly kind: string;
  /** One task for each, ms. */
  readonly delays: readonly number[];
  /** All are stored at once, by a producer that has not stored any before; false: one after the other. */
  readonly isBurst: boolean;
}

const CONCURRENCY = 10;
const DEADLINE_MS = 20_000;

/** From each call of enqueue until its handler started, ms. */
async function pace({ url, kind, tasks, perSecond }: Pacing): Promise<number[]> {
  const producer = await queueKind(kind).producer(url);
  const enqueuedAt: number[] = [];
  const starts = await starting(url, kind, tasks);
  const firstAt = performance.now();
  for (let index = 0; index < tasks; index += 1) {
    await sleep(Math.max(0, firstAt + (index * 1000) / perSecond - performance.now()));
    enqueuedAt.push(performance.now());
    await producer.enqueue(payloadOf(index));
  }
  return (await starts.all()).map((at, index) => at - enqueuedAt[index]!);
}

/** From when each task was due until its handler started, ms. */
async function delay({ url, kind, delays, isBurst }: Delaying): Promise<number[]> {
  const producer = await queueKind(kind).producer(url);
  const starts = await starting(url, kind, delays.length);
  const dueAt = delays.map(() => 0);
  const stored: Promise<unknown>[] = [];
  for (const [index, delayMs] of delays.entries()) {
    dueAt[index] = performance.now() + delayMs;
    const storing = producer.enqueueDelayed!(payloadOf(index), delayMs);
    if (isBurst) stored.push(storing);
    else await storing;
  }
  await Promise.all(stored);
  return (await starts.all()).map((at, index) => at - dueAt[index]!);
}

/** A worker that notes when each task first started. */
async function starting(
  url: string,
  kind: string,
  tasks: number,
): Promise<{ all(): Promise<readonly number[]> }> {
  const startedAt: number[] = Array.from({ length: tasks });
  let left = tasks;
  let finish: () => void;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const stop = await queueKind(kind).work({ url, concurrency: CONCURRENCY }, (payload) => {
    const index = indexOf(payload);
    if (startedAt[index] !== undefined) return;
    startedAt[index] = performance.now();
    left -= 1;
    if (left === 0) finish();
  });
  return {
    all: async () => {
      const late = new AbortController();
      await Promise.race([finished, sleep(DEADLINE_MS, undefined, { signal: late.signal, ref: false })]);
      late.abort();
      if (left > 0) throw new Error(`${kind} has not run ${left} of ${tasks} tasks`);
      await stop();
      return startedAt;
    },
  };
}

const actions = { pace, delay };

export type TimingActions = typeof actions;
export default actions;

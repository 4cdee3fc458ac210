/** Work of a process that has an end: tasks stored, and tasks run, each of which is known by its number. */
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import type { QueueKind } from './kind.js';
import { queueKind } from './kinds/index.js';
import type { Payload } from './payload.js';
import { indexOf, payloadOf } from './payload.js';

export interface Filling {
  readonly url: string;
  readonly kind: string;
  readonly tasks: number;
  readonly callers: number;
  /** Tasks of one call. */
  readonly batch: number;
  /** How long a caller waits after each call. */
  readonly pauseMs?: number;
}

export interface Draining {
  readonly url: string;
  readonly kind: string;
  readonly tasks: number;
  readonly concurrency: number;
}

export interface Drained {
  /** From the start of the first handler until the last task was settled. */
  readonly seconds: number;
  /** Handled again; every task was handled. */
  readonly repeated: number;
}

const DEADLINE_MS = 60_000;

async function fill({ url, kind, tasks, callers, batch, pauseMs }: Filling): Promise<void> {
  const producer = await queueKind(kind).producer(url);
  let next = 0;
  const payloads = (): Payload[] =>
    Array.from({ length: Math.min(batch, tasks - next) }, () => payloadOf(next++));
  const call = async (): Promise<void> => {
    while (next < tasks) {
      await (batch === 1 ? producer.enqueue(payloadOf(next++)) : producer.enqueueMany(payloads()));
      if (pauseMs !== undefined) await sleep(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
}

async function drain({ url, kind, tasks, concurrency }: Draining): Promise<Drained> {
  const redis = new Redis(url);
  const seen = new Uint8Array(tasks);
  let left = tasks;
  let repeated = 0;
  let startedAt = 0;
  let finish: () => void;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const stop = await queueKind(kind).work({ url, concurrency }, (payload) => {
    startedAt ||= performance.now();
    const index = indexOf(payload);
    repeated += seen[index]!;
    left -= 1 - seen[index]!;
    seen[index] = 1;
    if (left === 0) finish();
  });
  const late = new AbortController();
  await Promise.race([finished, sleep(DEADLINE_MS, undefined, { signal: late.signal, ref: false })]);
  late.abort();
  if (left > 0) throw new Error(`${kind} has not run ${left} of ${tasks} tasks`);
  await settled(queueKind(kind), redis);
  const seconds = (performance.now() - startedAt) / 1000;
  await stop();
  redis.disconnect();
  return { seconds, repeated };
}

/** Runs so many of the tasks that wait. Some more may be under way at the end. */
async function take({ url, kind, tasks, concurrency }: Draining): Promise<void> {
  let left = tasks;
  let finish: () => void;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const stop = await queueKind(kind).work({ url, concurrency }, () => {
    left -= 1;
    if (left === 0) finish();
  });
  await finished;
  await stop();
}

/** Handlers have run; what is left is to tell Redis. */
async function settled(kind: QueueKind, redis: Redis): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    const left = await kind.unfinished(redis);
    if (left === 0) return;
    if (performance.now() > deadline) throw new Error(`${kind.name} has not settled ${left} tasks`);
  }
}

const actions = { fill, drain, take };

export type TaskActions = typeof actions;
export default actions;

import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { Worker } from '@mortise/queues';
import { connect, gate, interposed } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import * as scripts from '../../src/scripts.gen.js';
import { launch } from '../fixture/launch.js';
import type { Tasks } from '../fixture/launch.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import { heldOverdue, heldRechecks } from '../fixture/paused-timers.js';
import { counted, until } from '../fixture/until.js';

const MUCH_MS = 30_000;
/** Longer than a busy machine holds up a call. */
const LITTLE_MS = 20_000;

const rechecks = heldRechecks();
const overdue = heldOverdue();

const now = performance.now.bind(performance);
let passedMs = 0;
/** Moves the clock of the process on. */
const pass = (): void => void (passedMs += MUCH_MS);

beforeEach(() => {
  passedMs = 0;
  // Not of the object itself: the held timers replace that one.
  const prototype = Object.getPrototypeOf(performance) as typeof performance;
  jest.spyOn(prototype, 'now').mockImplementation(() => now() + passedMs);
});
afterEach(() => {
  jest.restoreAllMocks();
});

interface Gated {
  readonly client: Redis;
  /** How many calls that fetch tasks it has made. */
  readonly calls: () => number;
  /** The next calls get no reply until they are released. */
  hold: (count?: number) => void;
  /** Those that are held, in their order. */
  readonly held: { readonly release: () => void }[];
  /** Releases them all, and holds no more. */
  release: () => void;
}

function gated(): Gated {
  const held: { readonly release: () => void }[] = [];
  let sent = 0;
  let left = 0;
  const client = interposed(connect(), async (_, send, args) => {
    if (!args.includes(scripts.fetcherFetchAndAck.sha1)) return send();
    sent += 1;
    if (left > 0) {
      left -= 1;
      await new Promise<void>((release) => held.push({ release }));
    }
    return send();
  });
  return {
    client,
    calls: () => sent,
    hold: (count = Infinity) => void (left = count),
    held,
    release: () => {
      left = 0;
      for (const call of held) call.release();
    },
  };
}

const isSilent = (worker: Worker<Tasks>): boolean => worker.silentMs >= LITTLE_MS;

test('an idle worker is silent until its recheck', async () => {
  const { keys, work } = newQueue();
  const worker = await work({ t: () => 1 });
  await until(async () => (await redis.zcard(keys.of.idle)) === 1);
  pass();
  expect(isSilent(worker)).toBe(true);
  await until(() => rechecks.fire() > 0);
  await until(() => !isSilent(worker));
});

test('a worker is silent while a call gets no reply', async () => {
  const { prefix } = newQueue();
  const { client, calls, hold, held, release } = gated();
  const worker = await launch(client, 'q', { t: () => 1 }, { prefix });
  await until(() => calls() > 0);
  hold();
  await until(() => rechecks.fire() > 0);
  await until(() => held.length > 0);
  expect(isSilent(worker)).toBe(false);
  pass();
  expect(isSilent(worker)).toBe(true);
  release();
  await until(() => !isSilent(worker));
});

test('a reply ends the silence, though another call is under way', async () => {
  const { queue, prefix } = newQueue();
  const { client, hold, held, release } = gated();
  const door = gate();
  const worker = await launch(client, 'q', { t: () => door.passed }, { prefix });
  await queue.enqueue('t', 1);
  await until(() => worker.running === 1);
  hold();
  await until(() => rechecks.fire() > 0);
  await until(() => held.length === 1);
  door.open();
  await until(() => held.length === 2);
  pass();
  expect(isSilent(worker)).toBe(true);
  held[0]!.release();
  await until(() => !isSilent(worker));
  expect(held.length).toBeGreaterThan(1);
  release();
});

test('a reply to a later call does not end the silence of an overdue one', async () => {
  const { queue, prefix } = newQueue();
  const { client, calls, hold, held, release } = gated();
  const worker = await launch(client, 'q', { t: () => 1 }, { prefix });
  await until(() => calls() > 0);
  hold(1);
  await queue.enqueue('t', 1, { attempts: 1 });
  await until(() => held.length === 1);
  await until(() => overdue.fire() > 0);
  pass();
  const before = calls();
  await until(() => calls() > before + 2);
  expect(isSilent(worker)).toBe(true);
  release();
  await counted(queue, { succeeded: 1 });
  await until(() => !isSilent(worker));
});

test('an error ends the silence', async () => {
  const { prefix } = newQueue();
  let failed = 0;
  const failing = interposed(connect(), async (_, send, args) => {
    if (!args.includes(scripts.fetcherFetchAndAck.sha1)) return send();
    failed += 1;
    throw new Error('not now');
  });
  const worker = await launch(failing, 'q', { t: () => 1 }, { prefix, onError: () => undefined });
  await until(() => failed > 0);
  pass();
  const before = failed;
  await until(() => failed > before + 1);
  expect(isSilent(worker)).toBe(false);
});

test('a full worker is not silent, nor when a slot is free again', async () => {
  const { queue, prefix } = newQueue();
  const { client, hold, held, release } = gated();
  const door = gate();
  const worker = await launch(client, 'q', { t: () => door.passed }, { prefix, concurrency: 1 });
  await queue.enqueue('t', 1);
  await until(() => worker.running === 1);
  await until(async () => (await queue.counts()).active === 1);
  pass();
  expect(worker.silentMs).toBe(0);
  hold();
  door.open();
  await until(() => held.length > 0);
  expect(worker.running).toBe(0);
  expect(isSilent(worker)).toBe(false);
  pass();
  expect(isSilent(worker)).toBe(true);
  release();
});

test('a worker that is paused or does not run is not silent', async () => {
  const { work } = newQueue();
  const worker = await work({ t: () => 1 });
  worker.pause();
  pass();
  expect(worker.silentMs).toBe(0);
  worker.resume();
  await until(() => !isSilent(worker));
  await worker.stop();
  pass();
  expect(worker.silentMs).toBe(0);
});

test('a queue is not silent while an earlier one has the slots', async () => {
  const { queue, prefix } = newQueue();
  const seen: boolean[] = [];
  const t = (): void => void seen.push(isSilent(worker));
  const options = { prefix, concurrency: 2, prefetch: 0 };
  const worker: Worker<Tasks> = await launch(connect(), ['q', 'later'], { t }, options);
  const enqueue = () => queue.enqueueMany(Array.from({ length: 100 }, () => ({ name: 't', payload: 1 })));
  await enqueue();
  await until(() => seen.length > 10);
  pass();
  const before = seen.length;
  await enqueue();
  await until(() => seen.length === 200);
  expect(seen.slice(before + 20).filter(Boolean)).toEqual([]);
});

import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Shard } from '../src/shard/shard.js';
import { decodeTaskId, encodeTaskId } from '../src/task/task-id.js';
import type { Exchanged } from '../src/work/exchange.js';
import { exchange } from '../src/work/exchange.js';
import { encodeAck, GIVEN_BACK, SUCCEEDED } from '../src/work/completion.js';

const redis = connect();
const KEEP = { keepSucceeded: 100, keepSucceededMs: 60_000, keepDead: 100 };

function newQueue(): {
  queue: Queue;
  shard: Shard;
  take: (want: number, leaseMs?: number, settled?: Exchanged) => Promise<Exchanged>;
} {
  const prefix = freshPrefix();
  const queue = new Queue(redis, 'q', { prefix });
  const shard = new Shard(redis, 'q', prefix);
  const take = (want: number, leaseMs = 60_000, settled?: Exchanged): Promise<Exchanged> => {
    const acks = (settled?.taken ?? []).map(({ storedId, token }) => ({
      storedId,
      encoded: encodeAck(token, SUCCEEDED),
    }));
    const channel = shard.keys.wakeChannel('w');
    return exchange(shard, KEEP, { channel, want, leaseMs, parkMs: 1_000, acks });
  };
  return { queue, shard, take };
}

const ids = ({ taken }: Exchanged): string[] => taken.map(({ storedId }) => decodeTaskId(storedId));

function names(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `task ${index}`);
}

test('an id whose record somebody has deleted is dropped', async () => {
  const { queue, shard, take } = newQueue();
  await queue.enqueueMany(names(3).map((id) => ({ name: 't', payload: 1, options: { id } })));
  await redis.hdel(shard.keys.of.tasks, encodeTaskId('task 1'));
  expect(ids(await take(10))).toEqual(['task 0', 'task 2']);
  expect(await queue.counts()).toMatchObject({ ready: 0, active: 2 });
});

test('big records end a reply early; the others stay in their order', async () => {
  const { queue, take } = newQueue();
  const all = names(40);
  const payload = 'x'.repeat(250_000);
  await queue.enqueueMany(all.map((id) => ({ name: 't', payload, options: { id } })));
  const replies: Exchanged[] = [];
  const given = (): string[] => replies.flatMap((reply) => ids(reply));
  while (given().length < all.length && replies.length < 10) replies.push(await take(40));
  expect(given()).toEqual(all);
  expect(replies.length).toBeGreaterThan(1);
  expect(replies[0]).toMatchObject({ sleepMs: 0 });
});

test('a task whose lease has ended is given to the next but one who asks, at the latest', async () => {
  const { queue, take } = newQueue();
  await queue.enqueue('t', 1, { id: 'lost' });
  expect(ids(await take(1, 0))).toEqual(['lost']);
  const next = await take(1);
  // Nobody looks with each call, but it says that there is something to look for.
  expect(next.taken.length === 1 || next.sleepMs === 0).toBe(true);
  const again = next.taken.length === 0 ? await take(1) : next;
  expect(ids(again)).toEqual(['lost']);
  expect(again.taken[0]!.attempt).toBe(2);
});

test('small hashes are no lists, which Redis would go through for each task', async () => {
  const { queue, shard, take } = newQueue();
  const { tasks, attempts } = shard.keys.of;
  await queue.enqueueMany(names(5).map((id) => ({ name: 't', payload: 1, options: { id } })));
  const first = await take(3);
  expect(await redis.object('ENCODING', tasks)).toBe('hashtable');
  expect(await redis.object('ENCODING', attempts)).toBe('hashtable');
  await take(2, 60_000, first);
  // Nothing is left of how it was brought about.
  expect([await redis.hlen(tasks), await redis.hlen(attempts)]).toEqual([5, 5]);
});

test('what goes back at once keeps its order, whatever the ids are, and goes before what stands behind it', async () => {
  const { queue, shard, take } = newQueue();
  const all = Array.from({ length: 300 }, (_, index) => `task ${(7 * index) % 300}`);
  await queue.enqueueMany(all.map((id) => ({ name: 't', payload: 1, options: { id } })));
  const giveBack = async (...replies: Exchanged[]): Promise<void> => {
    const acks = replies
      .flatMap(({ taken }) => taken)
      .map(({ storedId, token }) => ({ storedId, encoded: encodeAck(token, GIVEN_BACK) }));
    const channel = shard.keys.wakeChannel('w');
    await exchange(shard, KEEP, { channel, want: 0, leaseMs: 60_000, parkMs: 1_000, acks });
  };
  const [first, second, third] = [await take(8), await take(150), await take(8)];
  await Promise.all([giveBack(first), giveBack(second), giveBack(third)]);
  const listed: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof queue.list>> = await queue.list('ready', { cursor, limit: 3 });
    listed.push(...page.tasks.map(({ id }) => id));
    cursor = page.cursor;
  } while (cursor !== null);
  expect(listed).toEqual(all);
  const again = await take(300);
  expect(ids(again)).toEqual(all);
  expect(new Set(again.taken.map(({ attempt }) => attempt))).toEqual(new Set([1]));
});

test.each([
  ['of a queue that holds nothing else', 0],
  ['beside delayed ones', 3_600_000],
])('beyond the free slots no last attempt is taken, nor what is behind it: %s', async (_, delayMs) => {
  const { queue, shard } = newQueue();
  if (delayMs > 0) await queue.enqueue('t', 1, { delayMs });
  const only = [false, true, false, true, false, false];
  await queue.enqueueMany(
    only.map((isOnly, index) => ({
      name: 't',
      payload: 1,
      options: { id: `task ${index}`, attempts: isOnly ? 1 : 5 },
    })),
  );
  const channel = shard.keys.wakeChannel('w');
  const most = { channel, leaseMs: 60_000, parkMs: 1_000, acks: [] };
  const takings: string[][] = [];
  for (const slots of [1, 1, 2, 0, 1]) {
    takings.push(ids(await exchange(shard, KEEP, { ...most, want: 8, slots })));
  }
  expect(takings).toEqual([['task 0'], ['task 1', 'task 2'], ['task 3', 'task 4', 'task 5'], [], []]);
  expect(await queue.counts()).toMatchObject({ ready: 0, active: 6 });
});

test('what falls due is asked for as long before it as the call was on its way', async () => {
  const prefix = freshPrefix();
  await new Queue(redis, 'q', { prefix }).enqueue('t', 1, { delayMs: 10_000 });
  const SLOW_MS = 50;
  const slow = new Proxy(redis, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]) => {
        const sentAt = performance.now();
        const reply: unknown = await value.apply(target, args);
        while (performance.now() < sentAt + SLOW_MS);
        return reply;
      };
    },
  });
  const shard = new Shard(slow, 'q', prefix);
  const channel = shard.keys.wakeChannel('w');
  const request = { channel, want: 1, leaseMs: 60_000, parkMs: 1_000, acks: [] };
  const { sleepMs } = await exchange(shard, KEEP, request);
  expect(sleepMs).toBeGreaterThan(0);
  expect(sleepMs).toBeLessThanOrEqual(10_000 - SLOW_MS);
});

test('a delayed task is not taken before its µs', async () => {
  const { queue, shard, take } = newQueue();
  for (let round = 0; round < 20; round += 1) {
    const { id } = await queue.enqueue('t', 1, { delayMs: 2 });
    const dueUs = Math.round(
      1_000 * Number(await redis.zscore(shard.keys.priorityKeys(3)[4]!, encodeTaskId(id))),
    );
    let taken: Exchanged['taken'] = [];
    while (taken.length === 0) ({ taken } = await take(1));
    // Tokens are the server's time in µs, modulo 2^32.
    expect((taken[0]!.token - (dueUs % 2 ** 32) + 2 ** 32) % 2 ** 32).toBeLessThan(60_000_000);
  }
});

import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Shard } from '../../src/shard/shard.js';
import { decodeTaskId, encodeTaskId } from '../../src/task/task-id.js';
import type { FetchReply } from '../../src/work/fetch-and-ack.js';
import { fetchAndAck } from '../../src/work/fetch-and-ack.js';
import { maintain } from '../../src/work/maintainer.js';
import { died, encodeAck, GIVEN_BACK, SUCCEEDED } from '../../src/work/completion.js';

const redis = connect();
const KEEP = { keepSucceeded: 100, keepSucceededMs: 60_000, keepDead: 100 };

function newQueue(): {
  queue: Queue;
  shard: Shard;
  take: (want: number, leaseMs?: number, settled?: FetchReply) => Promise<FetchReply>;
} {
  const prefix = freshPrefix();
  const queue = new Queue(redis, 'q', { prefix });
  const shard = new Shard(redis, 'q', prefix);
  const take = (want: number, leaseMs = 60_000, settled?: FetchReply): Promise<FetchReply> => {
    const acks = (settled?.fetched ?? []).map((task) => ({
      storedId: task.storedId,
      encoded: encodeAck(task, SUCCEEDED),
    }));
    const member = shard.keys.idleMember('w');
    return fetchAndAck(shard, KEEP, {
      member,
      want,
      leaseMs,
      idleMs: 1_000,
      recheckMs: 1_000,
      keepsTime: true,
      acks,
    });
  };
  return { queue, shard, take };
}

const ids = ({ fetched }: FetchReply): string[] => fetched.map(({ storedId }) => decodeTaskId(storedId));

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
  const replies: FetchReply[] = [];
  const given = (): string[] => replies.flatMap((reply) => ids(reply));
  while (given().length < all.length && replies.length < 10) replies.push(await take(40));
  expect(given()).toEqual(all);
  expect(replies.length).toBeGreaterThan(1);
  expect(replies[0]).toMatchObject({ sleepMs: 0 });
});

test('an idle worker learns that a lease has ended; maintenance puts the task back', async () => {
  const { queue, shard, take } = newQueue();
  await queue.enqueue('t', 1, { id: 'lost' });
  expect(ids(await take(1, 0))).toEqual(['lost']);
  expect(await take(1)).toMatchObject({ fetched: [], maintenance: 4 });
  expect(await maintain(shard, KEEP, false)).toEqual({ putBack: 1, maintenance: 0 });
  const again = await take(1);
  expect(ids(again)).toEqual(['lost']);
  expect(again.fetched[0]!.attempt).toBe(2);
  expect(await maintain(shard, KEEP, false)).toEqual({ putBack: 0, maintenance: 0 });
});

test('an ack learns that the settings have changed since the task was fetched', async () => {
  const { queue, shard, take } = newQueue();
  await queue.enqueue('t', 1);
  const held = await take(1);
  await queue.pause();
  expect(String((await take(1, 60_000, held)).answers)).toBe('1');
  expect(shard.settings.values.isPaused).toBe(true);
});

test('an ack that is sent again, since its reply was lost, counts as before', async () => {
  const { queue, shard, take } = newQueue();
  await queue.enqueueMany(names(4).map((id) => ({ name: 't', payload: 1, options: { id } })));
  const taken = await take(4);
  const [one, two, three, lost] = taken.fetched;
  const acks = [
    { storedId: one!.storedId, encoded: encodeAck(one!, SUCCEEDED) },
    { storedId: two!.storedId, encoded: encodeAck(two!, died(new Error('no'))) },
    { storedId: three!.storedId, encoded: encodeAck({ ...three!, attempt: 7 }, SUCCEEDED) },
    { storedId: lost!.storedId, encoded: encodeAck({ ...lost!, token: lost!.token - 1 }, SUCCEEDED) },
  ];
  const member = shard.keys.idleMember('w');
  const call = { member, want: 0, leaseMs: 60_000, idleMs: 1_000, recheckMs: 1_000, keepsTime: true, acks };
  const answers = async (): Promise<string> =>
    (await fetchAndAck(shard, KEEP, { ...call, slots: 0 })).answers.toString();
  expect(await answers()).toBe('1110');
  // The third end has the number of the attempt that the task had.
  expect(await answers()).toBe('1100');
  expect(await queue.counts()).toMatchObject({ succeeded: 2, dead: 1, active: 1 });
});

test('small hashes are no lists, which Redis would scan for each task', async () => {
  const { queue, shard, take } = newQueue();
  const { tasks, attempts } = shard.keys.of;
  await queue.enqueueMany(names(5).map((id) => ({ name: 't', payload: 1, options: { id } })));
  const first = await take(3);
  await maintain(shard, KEEP, false);
  expect(await redis.object('ENCODING', tasks)).toBe('hashtable');
  expect(await redis.object('ENCODING', attempts)).toBe('hashtable');
  await take(2, 60_000, first);
  // Nothing is left of how it was brought about.
  expect([await redis.hlen(tasks), await redis.hlen(attempts)]).toEqual([5, 5]);
});

test('tasks that go back at once keep their order, for any ids, and go before the tasks after them', async () => {
  const { queue, shard, take } = newQueue();
  const all = Array.from({ length: 300 }, (_, index) => `task ${(7 * index) % 300}`);
  await queue.enqueueMany(all.map((id) => ({ name: 't', payload: 1, options: { id } })));
  const giveBack = async (...replies: FetchReply[]): Promise<void> => {
    const acks = replies
      .flatMap(({ fetched }) => fetched)
      .map((task) => ({ storedId: task.storedId, encoded: encodeAck(task, GIVEN_BACK) }));
    const member = shard.keys.idleMember('w');
    await fetchAndAck(shard, KEEP, {
      member,
      want: 0,
      leaseMs: 60_000,
      idleMs: 1_000,
      recheckMs: 1_000,
      keepsTime: true,
      acks,
    });
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
  expect(new Set(again.fetched.map(({ attempt }) => attempt))).toEqual(new Set([1]));
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
  const member = shard.keys.idleMember('w');
  const most = { member, leaseMs: 60_000, idleMs: 1_000, recheckMs: 1_000, keepsTime: true, acks: [] };
  const takings: string[][] = [];
  for (const slots of [1, 1, 2, 0, 1]) {
    takings.push(ids(await fetchAndAck(shard, KEEP, { ...most, want: 8, slots })));
  }
  expect(takings).toEqual([['task 0'], ['task 1', 'task 2'], ['task 3', 'task 4', 'task 5'], [], []]);
  expect(await queue.counts()).toMatchObject({ ready: 0, active: 6 });
});

test('the call for due tasks is sent ahead by the time of its way', async () => {
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
  const member = shard.keys.idleMember('w');
  const request = {
    member,
    want: 1,
    leaseMs: 60_000,
    idleMs: 1_000,
    recheckMs: 1_000,
    keepsTime: true,
    acks: [],
  };
  const { sleepMs } = await fetchAndAck(shard, KEEP, request);
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
    let taken: FetchReply['fetched'] = [];
    while (taken.length === 0) ({ fetched: taken } = await take(1));
    // Tokens are the server's time in µs, modulo 2^32.
    expect((taken[0]!.token - (dueUs % 2 ** 32) + 2 ** 32) % 2 ** 32).toBeLessThan(60_000_000);
  }
});

test('a completion without data takes 15 bytes', () => {
  const bytes = encodeAck({ token: 4_294_967_295, attempt: 258 }, SUCCEEDED);
  expect(bytes.toString('hex')).toBe(`53ffffffff0102${'00'.repeat(8)}`);
  const retry = encodeAck({ token: 1 }, { verdict: 'R', delayMs: 1_500, data: 'é' });
  expect([retry.toString('latin1', 0, 1), retry.readDoubleBE(7), retry.toString('utf8', 15)]).toEqual([
    'R',
    1_500,
    'é',
  ]);
});

test.each([
  [Number.NaN, 0],
  [Infinity, 0],
  [-5, 0],
  [0.2, 1],
])('a delay of %p becomes %p, since the script could not refuse it any more', (delayMs, stored) => {
  expect(encodeAck({ token: 1 }, { verdict: 'L', delayMs, data: '' }).readDoubleBE(7)).toBe(stored);
});

test('the thrown error is the reason of death', () => {
  expect(died('because')).toEqual({ verdict: 'D', delayMs: 0, data: '\u0002Error\nbecause' });
});

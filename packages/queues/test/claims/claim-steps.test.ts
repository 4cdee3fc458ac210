/** Steps and waits of claimed tasks. */
import { afterEach, expect, test } from '@jest/globals';
import { Claims } from '@mortise/queues';
import type { Tasks } from '../fixture/launch.js';
import type { NewQueue } from '../fixture/new-queue.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import { reached } from '../fixture/until.js';

const WAIT = { step: 'approval', event: 'approved', timeoutMs: 3_600_000 };
let open: Claims<Tasks>[] = [];

afterEach(async () => {
  await Promise.all(open.map((claims) => claims.stop()));
  open = [];
});

async function newClaimed(): Promise<NewQueue & { claims: Claims<Tasks>; id: string; lease: string }> {
  const bench = newQueue();
  const claims = new Claims<Tasks>(redis, 'q', { prefix: bench.prefix });
  open.push(claims);
  const { id } = await bench.queue.enqueue('t', 1, { attempts: 1 });
  const [task] = await claims.claim();
  return { ...bench, claims, id, lease: task!.lease };
}

async function claimedAgain(claims: Claims<Tasks>): Promise<string> {
  const [task] = await claims.claim({ waitMs: 5_000 });
  return task!.lease;
}

test('a step keeps its first result, whoever stores it again', async () => {
  const { claims, id, lease } = await newClaimed();
  expect(await claims.steps(id, lease)).toEqual({ steps: [] });
  expect(await claims.storeStep(id, lease, 'charge', { at: new Date(0) })).toEqual({
    at: '1970-01-01T00:00:00.000Z',
  });
  expect(await claims.storeStep(id, lease, 'mail')).toBeUndefined();
  const both = ['one', 'two'].map((text) => claims.storeStep(id, lease, 'same', text));
  expect(await Promise.all(both)).toEqual(['one', 'one']);
  await claims.setCursor(id, lease, 7);
  await claims.giveBack(id, lease);
  const again = await claimedAgain(claims);
  expect(await claims.storeStep(id, again, 'charge', 'other')).toEqual({ at: '1970-01-01T00:00:00.000Z' });
  expect(await claims.steps(id, again)).toEqual({
    steps: [
      { name: 'charge', result: { at: '1970-01-01T00:00:00.000Z' } },
      { name: 'mail' },
      { name: 'same', result: 'one' },
    ],
    cursor: 7,
  });
});

test('a claim without its lease stores nothing, and enables no optional features', async () => {
  const { claims, queue, keys, id, lease } = await newClaimed();
  await claims.complete(id, lease);
  const calls = [
    claims.steps(id, lease),
    claims.storeStep(id, lease, 'a'),
    claims.setCursor(id, lease, 1),
    claims.waitFor(id, lease, WAIT),
  ];
  for (const { status, reason } of (await Promise.allSettled(calls)) as PromiseRejectedResult[])
    expect([status, (reason as { code: string }).code]).toEqual(['rejected', 'ERR_LEASE_LOST']);
  expect(await redis.exists(keys.of.steps, keys.of.features)).toBe(0);
  // With the features on, the scripts refuse it.
  await queue.deliver('unknown', 'a');
  await expect(claims.storeStep(id, lease, 'a')).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
  await expect(claims.waitFor(id, lease, WAIT)).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
});

test('a wait ends the claim, and the event brings the task back', async () => {
  const { claims, queue, id, lease } = await newClaimed();
  expect(await claims.waitFor(id, lease, WAIT)).toBeNull();
  expect((await reached(queue, id, 'retrying')).waitsFor).toBe('approved');
  await expect(claims.complete(id, lease)).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
  const claimed = claimedAgain(claims);
  await queue.deliver(id, 'approved', { by: 'ann' });
  const again = await claimed;
  // A repeated call gets the same event, and not the next one.
  await queue.deliver(id, 'approved', 'next');
  for (let call = 0; call < 2; call += 1)
    expect(await claims.waitFor(id, again, WAIT)).toEqual({ payload: { by: 'ann' } });
  expect(await claims.waitFor(id, again, { ...WAIT, step: 'second' })).toEqual({ payload: 'next' });
  await claims.complete(id, again);
  expect((await queue.get(id))!.attempt).toBe(1);
});

test('a wait of no time is over at once, and stays over', async () => {
  const { claims, queue, id, lease } = await newClaimed();
  for (let call = 0; call < 2; call += 1) {
    await expect(claims.waitFor(id, lease, { ...WAIT, timeoutMs: 0 })).rejects.toMatchObject({
      code: 'ERR_EVENT_TIMEOUT',
    });
    await queue.deliver(id, 'approved');
  }
  expect(await claims.steps(id, lease)).toEqual({ steps: [] });
});

test('steps of claims have limits', async () => {
  const { claims, id, lease } = await newClaimed();
  await Promise.all(Array.from({ length: 1_000 }, (_, n) => claims.storeStep(id, lease, `s${n}`, n)));
  expect(await claims.storeStep(id, lease, 's999', 'other')).toBe(999);
  await expect(claims.storeStep(id, lease, 'one more')).rejects.toMatchObject({
    code: 'ERR_TOO_MANY_STEPS',
  });
  await expect(claims.storeStep(id, lease, '')).rejects.toThrow(RangeError);
  await expect(claims.storeStep(id, lease, 'a', 'x'.repeat(270_000))).rejects.toThrow(RangeError);
  await expect(claims.waitFor(id, lease, { ...WAIT, timeoutMs: -1 })).rejects.toThrow(RangeError);
});

/** Fields of the replies of a read-write lock that its users don't see. */
import { expect, test } from '@jest/globals';
import { connect, freshPrefix } from '@mortise/test-kit';
import { ReadWriteLockKeys } from '../../src/keys.js';
import { ReadWriteGate } from '../../src/read-write-lock/read-write-gate.js';
import type { AcquireMode, AcquireReply } from '../../src/acquire/gate.js';

const redis = connect();

interface Scene {
  readonly gate: ReadWriteGate;
  readonly ask: (member: string, mode: AcquireMode, leaseMs?: number) => Promise<AcquireReply>;
  readonly recheckMs: () => Promise<number>;
}

function fresh(): Scene {
  const gate = new ReadWriteGate(redis, new ReadWriteLockKeys('lock', freshPrefix()), 60_000);
  return {
    gate,
    ask: (name, mode, leaseMs = 60_000) =>
      gate.acquire({
        member: `nobody.${name.slice(0, -1)}.1000.${name.at(-1)}`,
        leaseMs,
        mode,
        isFenced: true,
      }),
    recheckMs: async () => (await gate.recheck([], 0)).remainingMs,
  };
}

test('a waiter after a writer learns the end of its lease', async () => {
  const { ask, recheckMs } = fresh();
  expect((await ask('1w', 'try', 30_000)).outcome).toBe('held');
  for (const name of ['2r', '3w']) {
    const { outcome, remainingMs } = await ask(name, 'try');
    expect(outcome).toBe('refused');
    expect(remainingMs).toBeGreaterThan(25_000);
    expect(remainingMs).toBeLessThanOrEqual(30_000);
  }
  expect(await recheckMs()).toBeGreaterThan(25_000);
});

test('a writer that waits for readers learns when the first of their leases ends', async () => {
  const { ask, recheckMs } = fresh();
  for (const [name, leaseMs] of [
    ['1r', 40_000],
    ['2r', 20_000],
    ['3r', 50_000],
  ] as const) {
    expect((await ask(name, 'try', leaseMs)).outcome).toBe('held');
  }
  for (const [name, mode] of [
    ['4w', 'try'],
    ['5w', 'wait'],
    ['6r', 'try'],
  ] as const) {
    const { outcome, remainingMs } = await ask(name, mode);
    expect(outcome).toBe(mode === 'wait' ? 'queued' : 'refused');
    expect(remainingMs).toBeGreaterThan(15_000);
    expect(remainingMs).toBeLessThanOrEqual(20_000);
  }
  const remainingMs = await recheckMs();
  expect(remainingMs).toBeGreaterThan(15_000);
  expect(remainingMs).toBeLessThanOrEqual(20_000);
});

test('nobody is in the way when a reader is first in the queue and no writer holds the lock', async () => {
  const { gate, ask, recheckMs } = fresh();
  expect((await ask('1r', 'try')).outcome).toBe('held');
  expect((await ask('2w', 'wait')).outcome).toBe('queued');
  expect((await ask('3r', 'wait')).outcome).toBe('queued');
  await gate.forget(['nobody.2.1000.w']);
  expect(await ask('4r', 'try')).toMatchObject({ outcome: 'refused', remainingMs: -2 });
  // The one that is first is dead: nobody listens.
  expect(await recheckMs()).toBeGreaterThan(50_000);
  expect((await ask('4r', 'try')).outcome).toBe('held');
});

test('repeating a request is safe: a holder gets a greater token, a waiter keeps its place', async () => {
  const { gate, ask } = fresh();
  const readers = [await ask('1r', 'wait'), await ask('1r', 'wait')];
  expect(readers.map(({ outcome }) => outcome)).toEqual(['held', 'held']);
  expect(readers[1]!.value).toBeGreaterThan(readers[0]!.value);
  expect((await gate.inspect(10)).readers).toBe(1);
  const waiters = [
    await ask('2w', 'wait'),
    await ask('3r', 'wait'),
    await ask('2w', 'wait'),
    await ask('3r', 'wait'),
  ];
  expect(waiters.map(({ outcome }) => outcome)).toEqual(['queued', 'queued', 'queued', 'queued']);
  expect(waiters[2]!.value).toBe(waiters[0]!.value);
  expect(waiters[3]!.value).toBe(waiters[1]!.value);
  // A holder is one also while a writer waits.
  expect(await ask('1r', 'wait')).toMatchObject({ outcome: 'held' });
  const { queueLength, fencingToken } = await gate.inspect(10, 'nobody.3.1000.r');
  expect([queueLength, fencingToken > readers[1]!.value]).toEqual([2, true]);
});

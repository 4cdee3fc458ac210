/** Faults of the server or its memory in the middle of 100 waiters, for each kind of lock. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { freshPrefix, runServer, until } from '@mortise/test-kit';
import { LockRun } from '../../src/locks/lock-run.js';
import { Crowd, LEASE_MS, PERMITS } from './crowd.js';

const TIMES = 3;

const { server } = await runServer({ isCluster: true });

describe('in the middle of 100 waiters', () => {
  let crowd: Crowd;

  async function start({ protocol = 3 }: { protocol?: 2 | 3 } = {}): Promise<void> {
    crowd = await Crowd.at({ url: server.url, protocol }, freshPrefix());
  }

  afterEach(() => crowd?.dispose());

  test('a server that stands still for longer than a lease', async () => {
    await start();
    for (let time = 0; time < TIMES; time += 1) {
      server.pause();
      try {
        // The lease passes here, on everybody's clock.
        await pause(LEASE_MS * 1.4);
      } finally {
        server.resume();
      }
      await crowd.movesOn();
    }
    expect(await crowd.verdict()).toEqual({ violations: [], failures: 0 });
  });

  // A caller that asks then for the first time cannot know that somebody holds the lock whom Redis has forgotten.
  test('FLUSHALL: who held it then is excluded by the token, everybody else as ever', async () => {
    await start();
    for (let time = 0; time < TIMES; time += 1) {
      await crowd.losing(() => server.command('FLUSHALL'));
      await crowd.movesOn();
    }
    expect(await crowd.verdict()).toEqual({ violations: [], failures: 0 });
  });

  test('SCRIPT FLUSH', async () => {
    await start();
    for (let time = 0; time < TIMES; time += 1) {
      await server.command('SCRIPT', 'FLUSH');
      await crowd.movesOn();
    }
    expect(await crowd.verdict()).toEqual({ violations: [], failures: 0 });
  });

  // With RESP3 a client has one connection, which is of type pubsub when it is subscribed.
  test.each([
    { protocol: 3, type: 'pubsub' },
    { protocol: 2, type: 'pubsub' },
    { protocol: 2, type: 'normal' },
  ] as const)('CLIENT KILL TYPE $type, RESP$protocol', async ({ protocol, type }) => {
    await start({ protocol });
    crowd.repeats();
    const killed: unknown[] = [];
    for (let time = 0; time < TIMES; time += 1) {
      killed.push(await server.command('CLIENT', 'KILL', 'TYPE', type));
      await crowd.movesOn();
    }
    expect((await crowd.verdict()).violations).toEqual([]);
    // One for each process.
    expect(killed[0]).toBeGreaterThanOrEqual(2 * crowd.runs.length);
  });
});

describe('FLUSHALL while some hold the lock and all others wait for it', () => {
  test.each(['mutex', 'semaphore', 'read-write'] as const)('%s: they are alone to the end', async (kind) => {
    const options = { kind, permits: PERMITS, prefix: freshPrefix(), leaseMs: LEASE_MS, contenders: 25 };
    // One turn for each, so nobody asks after it; long enough that some hold it then.
    const run = await LockRun.on({ url: server.url }, { ...options, turns: 25, holdMs: 60 });
    try {
      await run.fleet.start(4);
      await until('all to have asked', () => run.fleet.turns === 100, 20_000);
      await server.command('FLUSHALL');
      const { violations, counts } = await run.verdict({ mayGoOn: true });
      expect(violations).toEqual([]);
      expect(counts['acquire acquired']).toBe(100);
    } finally {
      await run.dispose();
    }
  });
});

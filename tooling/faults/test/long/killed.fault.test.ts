/** Processes that are killed while they hold, wait and release. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import { connect, freshPrefix, runServer, until } from '@mortise/test-kit';
import { nowUs } from '../../src/locks/clock.js';
import type { Worker } from '../../src/locks/fleet.js';
import { LockRun } from '../../src/locks/lock-run.js';
import { movesOn } from './crowd.js';

const LEASE_MS = 1_000;
/** Of a grant that nobody has confirmed. */
const GRANT_MS = 1_000;
/** Waiters look after a holder that is gone at most once a second, and a tenth of one apart from each other. */
const RECHECK_MS = 1_100;
/** The delay of a loaded machine: less than a grant, so that a grant shows. */
const SLACK_MS = 900;
const FOR_EVER_MS = 1e9;

const { server } = await runServer({ isCluster: true });
let run: LockRun;
let prefix: string;
let observer: Mutex;

beforeEach(async () => {
  prefix = freshPrefix();
  observer = new Mutex(connect(server.url), 'lock', { prefix, leaseMs: LEASE_MS });
  run = await LockRun.on({ url: server.url }, { prefix, leaseMs: LEASE_MS, contenders: 1 });
});

afterEach(() => run?.dispose());

async function queued(length: number): Promise<void> {
  await until(`a queue of ${length}`, async () => (await observer.inspect()).queueLength === length);
}

/** How long after an instant somebody of this process was granted the lock, in ms. */
async function grantedAfter(fromUs: number, { name }: Worker): Promise<number> {
  const grantedAt = await until(
    `a grant to ${name}`,
    () =>
      run.fleet
        .operations()
        .find(
          ({ id, op, outcome, returnedAt }) =>
            id.startsWith(`${name}.`) && op === 'acquire' && outcome === 'acquired' && returnedAt! >= fromUs,
        )?.returnedAt,
    10_000,
  );
  return (grantedAt - fromUs) / 1_000;
}

describe('the queue moves on when', () => {
  test('the holder is killed: within its lease and a re-check', async () => {
    for (let time = 0; time < 3; time += 1) {
      const holder = await run.fleet.add({ holdMs: FOR_EVER_MS });
      await until('the holder', async () => (await observer.inspect()).holder !== null);
      const waiters = await run.fleet.add({ contenders: 5 });
      await queued(5);
      // Somewhere between two renewals.
      await pause(Math.random() * 400);
      const killedAt = nowUs();
      await holder.kill();
      const waitedMs = await grantedAfter(killedAt, waiters);
      expect(waitedMs).toBeLessThan(LEASE_MS + RECHECK_MS + SLACK_MS);
      waiters.stop();
      await waiters.hasEnded;
    }
    expect((await run.verdict()).violations).toEqual([]);
  });

  test('the head waiter is killed: at once', async () => {
    const holder = await observer.acquire();
    const head = await run.fleet.add();
    await queued(1);
    const next = await run.fleet.add();
    await queued(2);
    await head.kill();
    const releasedAt = nowUs();
    expect(await holder.release()).toBe(true);
    const waitedMs = await grantedAfter(releasedAt, next);
    expect(waitedMs).toBeLessThan(SLACK_MS);
    expect((await run.verdict()).violations).toEqual([]);
  });

  test('the head waiter is granted the lock and killed before it knows: within its grant and a re-check', async () => {
    const holder = await observer.acquire();
    const head = await run.fleet.add();
    await queued(1);
    const next = await run.fleet.add();
    await queued(2);
    // It keeps its connection, so the server takes it for alive.
    await head.pause();
    const releasedAt = nowUs();
    expect(await holder.release()).toBe(true);
    expect((await observer.inspect()).holder).not.toBeNull();
    await head.kill();
    const waitedMs = await grantedAfter(releasedAt, next);
    expect(waitedMs).toBeLessThan(GRANT_MS + RECHECK_MS + SLACK_MS);
    expect((await run.verdict()).violations).toEqual([]);
  });

  test('the head waiter stands still: within its grant and a re-check; it learns later that it was not granted the lock', async () => {
    // Chance decides whether its timers or its messages come first when it goes on.
    for (let time = 0; time < 3; time += 1) {
      const holder = await observer.acquire();
      const head = await run.fleet.add();
      await queued(1);
      const next = await run.fleet.add();
      await queued(2);
      await head.pause();
      const releasedAt = nowUs();
      expect(await holder.release()).toBe(true);
      const waitedMs = await grantedAfter(releasedAt, next);
      expect(waitedMs).toBeLessThan(GRANT_MS + RECHECK_MS + SLACK_MS);
      head.resume();
      await movesOn(run, 20);
      for (const worker of [head, next]) worker.stop();
      await Promise.all([head.hasEnded, next.hasEnded]);
    }
    expect((await run.verdict()).violations).toEqual([]);
  });

  test('the releaser is killed: at once if its command was sent, else within its lease and a re-check', async () => {
    const waiters = await run.fleet.add({ contenders: 5 });
    for (let time = 0; time < 8; time += 1) {
      const releaser = await run.fleet.add({ diesAtRelease: 1 + time });
      await releaser.hasEnded;
      const killedAt = nowUs();
      const waitedMs = await grantedAfter(killedAt, waiters);
      expect(waitedMs).toBeLessThan(LEASE_MS + RECHECK_MS + SLACK_MS);
    }
    expect((await run.verdict()).violations).toEqual([]);
  });
});

test('processes that are killed and replaced all the time', async () => {
  const options = { contenders: 8, overstayPart: 0.005 };
  await run.fleet.start(4, () => options);
  for (let time = 0; time < 10; time += 1) {
    await pause(100 + Math.random() * 200);
    const running = run.fleet.workers.filter(({ isRunning }) => isRunning);
    const victim = running[Math.floor(Math.random() * running.length)]!;
    await Promise.all([victim.kill(), run.fleet.add(options)]);
  }
  await movesOn(run, 150);
  const { violations, counts } = await run.verdict();
  expect(violations).toEqual([]);
  expect(counts['acquire failed']).toBeUndefined();
});

/** Histories of 100,000 calls and returns and more, without a fault but those that clients are: slow, impatient, skewed. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { freshPrefix, runServer } from '@mortise/test-kit';
import type { LockRunOptions, Verdict } from '../../src/locks/lock-run.js';
import { LockRun } from '../../src/locks/lock-run.js';

const EVENTS = 100_000;
const NAMES = Array.from({ length: 12 }, (_, index) => `lock ${index}`);

const { server } = await runServer({ isCluster: true });
let run: LockRun;

afterEach(() => run?.dispose());

const MANY: LockRunOptions = {
  names: NAMES,
  contenders: 8,
  leaseMs: 300,
  impatientPart: 0.02,
  holdMs: 1,
  overstayPart: 0.000_5,
  recordsCalls: false,
};

describe('100,000 events', () => {
  test('of mutexes: one holder at a time, rising tokens, no lost update', async () => {
    const { violations, operations, counts } = await many({ kind: 'mutex', turns: EVENTS / 11 });
    expect(violations).toEqual([]);
    expect(2 * operations.length).toBeGreaterThanOrEqual(2 * EVENTS);
    expect(counts['acquire failed']).toBeUndefined();
    expect(await counted()).toBe(counts['section written']);
  });

  test('of semaphores: never more than the limit', async () => {
    const { violations, operations, counts } = await many({
      kind: 'semaphore',
      permits: 5,
      names: NAMES.slice(0, 3),
      // There is no section to count in: two operations a turn.
      turns: EVENTS / 15,
      holdMs: 3,
    });
    expect(violations).toEqual([]);
    expect(2 * operations.length).toBeGreaterThanOrEqual(EVENTS);
    expect(counts['acquire failed']).toBeUndefined();
  });

  test('of read-write locks: a writer alone or readers together, no lost update, no torn read', async () => {
    const { violations, operations, counts } = await many({ kind: 'read-write', turns: EVENTS / 22 });
    expect(violations).toEqual([]);
    expect(2 * operations.length).toBeGreaterThanOrEqual(EVENTS);
    expect(counts['acquire failed']).toBeUndefined();
    expect(await counted()).toBe(counts['section written']);
  });

  async function many(options: LockRunOptions): Promise<Verdict> {
    run = await LockRun.on({ url: server.url }, { ...MANY, ...options, prefix: freshPrefix() });
    // Half of them let their leases run out when they overstay.
    await run.fleet.start(4, (index) => ({ renew: index % 2 === 0 }));
    return run.verdict({ mayGoOn: true, withinMs: 250_000 });
  }

  /** The sum of all counters. */
  async function counted(): Promise<number> {
    const values = await Promise.all(NAMES.map((name) => run.resource.command('HGET', name, 'value')));
    return values.reduce((sum: number, value) => sum + Number(value), 0);
  }
});

describe('processes whose time of day is 10 s ahead or behind', () => {
  test('change nothing', async () => {
    run = await LockRun.on(
      { url: server.url },
      { ...MANY, names: ['lock'], prefix: freshPrefix(), turns: 1_000 },
    );
    await run.fleet.start(3, (index) => ({ skewMs: (index - 1) * 10_000 }));
    const { violations, counts } = await run.verdict({ mayGoOn: true });
    expect(violations).toEqual([]);
    expect(counts['acquire failed']).toBeUndefined();
    expect(counts['acquire acquired']).toBeGreaterThan(2_500);
  });
});

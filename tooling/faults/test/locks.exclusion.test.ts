/**
 * Processes contend for locks and record the replies; the checker reads them. The second half breaks the
 * release script on purpose: a checker that doesn't find that would prove nothing in the first half. The long
 * suite (`npm run faults`) does the same with 100,000 calls and returns for each kind of lock, and with faults.
 */
import { afterEach, describe, expect, test } from '@jest/globals';
import { runServer } from '@mortise/test-kit';
import type { Sabotage } from '../src/locks/config.js';
import type { LockRunOptions } from '../src/locks/lock-run.js';
import { LockRun } from '../src/locks/lock-run.js';

const { server } = await runServer({ isCluster: true });
let run: LockRun;

afterEach(() => run?.dispose());

const SHORT: LockRunOptions = {
  names: ['one', 'two'],
  contenders: 8,
  turns: 400,
  leaseMs: 300,
  waitMs: 10_000,
  impatientPart: 0.05,
  holdMs: 1,
};

test('a mutex excludes, its tokens rise, and no update is lost', async () => {
  run = await LockRun.on({ url: server.url }, { ...SHORT, prefix: 'whole' });
  await run.fleet.start(2);
  const { violations, counts } = await run.verdict({ mayGoOn: true });
  expect(violations).toEqual([]);
  expect(counts['acquire acquired']).toBeGreaterThan(500);
  const counters = await Promise.all(SHORT.names!.map((name) => run.resource.command('HGET', name, 'value')));
  const total = counters.reduce((sum: number, value) => sum + Number(value), 0);
  expect(total).toBe(counts['section written']);
});

describe('a broken release script is found when', () => {
  test.each<[Sabotage, LockRunOptions, readonly string[]]>([
    ['release ignores the owner', { impatientPart: 0.5 }, ['linearizability', 'lost update', 'validity']],
    ['grant is not recorded', {}, ['linearizability', 'lost update', 'validity']],
    ['token does not rise', {}, ['linearizability', 'token order']],
  ])('its %s', async (sabotage, options, rules) => {
    const prefix = sabotage.replaceAll(' ', '-');
    // The resource must not hide what the lock lets through.
    const broken = { prefix, sabotage, turns: 80, waitMs: 400, isFenced: false };
    run = await LockRun.on({ url: server.url }, { ...SHORT, ...options, ...broken });
    await run.fleet.start(2);
    const { violations } = await run.verdict({ mayGoOn: true });
    expect(violations.map(({ rule }) => rule)).toEqual(expect.arrayContaining([...rules]));
  });
});

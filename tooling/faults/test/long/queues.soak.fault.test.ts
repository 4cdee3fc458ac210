/** `MORTISE_SOAK_TASKS=1000000 npm run faults -- soak` runs it with a million tasks; 20,000 without. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { RedisServer } from '@mortise/redis-server';
import { startSingle } from '@mortise/redis-server';
import { freshPrefix } from '@mortise/test-kit';
import { describeReport, Soak } from '../../src/queues/soak.js';

const TASKS = Number(process.env['MORTISE_SOAK_TASKS'] ?? 20_000);
const MOST_MS = 120_000 + 3 * TASKS;

let server: RedisServer;
let soak: Soak;

beforeEach(async () => {
  server = await startSingle({ appendFsync: 'always' });
});

afterEach(async () => {
  await soak?.dispose();
  await server?.stop();
});

test(
  `${TASKS.toLocaleString('en')} tasks under random kills: each is accounted for`,
  async () => {
    soak = new Soak(server, { prefix: freshPrefix(), tasks: TASKS });
    const report = await soak.run();
    process.stdout.write(`\n${describeReport(report)}\n`);
    const { violations, tasks } = report.account;
    expect(violations.slice(0, 20)).toEqual([]);
    const { succeeded, dead, cancelled, ...others } = tasks;
    expect(succeeded + dead + cancelled).toBe(TASKS);
    expect(Object.values(others).every((count) => count === 0)).toBe(true);
    expect(dead).toBeGreaterThan(TASKS / 200);
    expect(cancelled).toBeGreaterThan(0);
    expect([report.kills + report.stops > 0, report.restarts]).toEqual([true, 2]);
  },
  MOST_MS,
);

import { expect, test } from '@jest/globals';
import { migrateUnderKills } from './migration.js';

const JOBS = 10_000;
const KILLS = 20;

test(`${JOBS} jobs of BullMQ are moved under ${KILLS} kills: none is lost, and none runs twice without a reason`, async () => {
  const { accepted, ends, explained, ...found } = await migrateUnderKills('bullmq', JOBS, KILLS);
  expect(found).toEqual({ lost: [], repeated: [], kills: KILLS, remaining: 0 });
  // A killed producer may have stored its last batch.
  expect(accepted).toBeGreaterThan(JOBS - KILLS * 20);
  // Both libraries took part.
  expect(Math.min(ends.old, ends.mortise)).toBeGreaterThan(JOBS / 100);
  // Each kill of a worker concerns the tasks that it had.
  expect(explained).toBeLessThan(KILLS * 40);
}, 300_000);

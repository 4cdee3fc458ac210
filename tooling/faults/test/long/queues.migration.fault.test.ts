import { expect, test } from '@jest/globals';
import { migrateUnderKills } from '../migration.js';

const KILLS = 20;

test.each([
  ['bullmq', 100_000],
  ['bee-queue', 10_000],
] as const)(
  'jobs of %s are moved under kills: none of %i is lost, and none runs twice without a reason',
  async (library, jobs) => {
    const findings = await migrateUnderKills(library, jobs, KILLS);
    const { lost, repeated, ...others } = findings;
    console.log(JSON.stringify({ library, lost: lost.length, repeated: repeated.length, ...others }));
    expect(findings).toMatchObject({ lost: [], repeated: [], kills: KILLS, remaining: 0 });
  },
  600_000,
);

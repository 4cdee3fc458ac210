import { expect, test } from '@jest/globals';
import { migrateUnderKills } from '../migration.js';

test('a hundred thousand jobs of BullMQ are moved under kills', async () => {
  const findings = await migrateUnderKills(100_000, 20);
  console.log(
    JSON.stringify({ ...findings, lost: findings.lost.length, repeated: findings.repeated.length }),
  );
  expect(findings).toMatchObject({ lost: [], repeated: [], kills: 20, remaining: 0 });
}, 600_000);

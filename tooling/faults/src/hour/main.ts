/** `npm run hour -- [--minutes 60] [--seed 1] [--on cluster|sentinel] [--every 20] [--only locks,queues]`; see docs/TESTING.md. */
import { parseArgs } from 'node:util';
import type { Deployment } from './draw.js';
import { FAULTS } from './draw.js';
import { Hour } from './hour.js';
import { describe, problemsOf } from './report.js';
import type { WorkloadName } from './workload.js';
import { WORKLOADS } from './workloads/index.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    on: { type: 'string' },
    every: { type: 'string', default: '20' },
    only: { type: 'string' },
  },
});
const [minutes, seed, everySeconds] = [values.minutes, values.seed, values.every].map(Number);
if (!(minutes! > 0) || !Number.isInteger(seed) || !(everySeconds! > 0))
  fail('--minutes, --seed and --every are numbers');
const deployments = values.on === undefined ? Object.keys(FAULTS) : [values.on];
for (const on of deployments) if (!Object.hasOwn(FAULTS, on)) fail(`--on is cluster or sentinel, not ${on}`);
const only = values.only?.split(',');
for (const name of only ?? []) if (!Object.hasOwn(WORKLOADS, name)) fail(`there is no workload ${name}`);

// Its parent is gone.
process.on('disconnect', () => process.exit(1));

let isWell = true;
for (const on of deployments as Deployment[]) {
  console.log(`\n▸ ${on}, seed ${seed}, ${minutes} min`);
  const hour = new Hour({
    on,
    seed: seed!,
    minutes: minutes!,
    everySeconds: everySeconds!,
    ...(only && { workloads: only as WorkloadName[] }),
    onProgress: (line) => console.log(`  ${line}`),
  });
  try {
    const report = await hour.run();
    console.log(`\n${describe(report)}`);
    isWell &&= problemsOf(report).length === 0;
  } finally {
    await hour.dispose();
  }
}
process.exit(isWell ? 0 : 1);

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

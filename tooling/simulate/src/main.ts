/**
 * `npm run simulate -- --package locks --seeds 10000 [--seed 1]`: runs so many seeds, from the given one on. The first seed that breaks a
 * rule is repeated, shrunk and printed, and ends the run with code 1. `--mutations` plants defects, and prints which seed found each;
 * `--mutation <name>` plants one. `--replay` runs the plans of seeds.json.
 */
import { parseArgs } from 'node:util';
import { findMutations } from './find-mutations.js';
import { mutationOf } from './mutations.js';
import { planOf } from './plan.js';
import { replay } from './replay.js';
import { report } from './report.js';
import { Runner } from './run.js';
import type { Workload } from './workload.js';
import { WORKLOADS, workloadOf } from './workloads/index.js';

const HOUR_MS = 3_600_000;
const US_OF_MS = 1_000;
const SEEDS = 1_000;

const { values } = parseArgs({
  options: {
    package: { type: 'string' },
    seeds: { type: 'string' },
    seed: { type: 'string' },
    mutations: { type: 'boolean', default: false },
    mutation: { type: 'string' },
    replay: { type: 'boolean', default: false },
  },
});

process.exitCode = (await main()) ? 0 : 1;

async function main(): Promise<boolean> {
  if (values.mutations) return findMutations(values.package);
  if (values.replay) return replay();
  const mutation = values.mutation === undefined ? undefined : mutationOf(values.mutation);
  const named = values.package ?? mutation?.workload;
  const workloads = named === undefined ? WORKLOADS : [workloadOf(named)];
  const first = wholeOf('--seed', values.seed ?? '1');
  // One seed alone is one that somebody wants to see.
  const count = wholeOf('--seeds', values.seeds ?? (values.seed === undefined ? String(SEEDS) : '1'));
  let isGood = true;
  for (const workload of workloads) {
    const runner = new Runner(mutation ? [mutation] : []);
    if (!(await simulate(runner, workload, first, count))) isGood = false;
  }
  return isGood;
}

async function simulate(runner: Runner, workload: Workload, first: number, count: number): Promise<boolean> {
  const before = process.cpuUsage();
  let steps = 0;
  let digest = '';
  for (let seed = first; seed < first + count; seed += 1) {
    const plan = planOf(seed, workload.shape);
    const verdict = await runner.run(workload, plan);
    steps += verdict.stepCount;
    digest = verdict.digest;
    if (verdict.violations.length === 0) continue;
    await report(runner, workload, plan, verdict);
    return false;
  }
  const { user, system } = process.cpuUsage(before);
  const ms = (user + system) / US_OF_MS;
  const cost = `${(ms / count).toFixed(1)} ms of CPU and ${Math.round(steps / count)} steps each`;
  const rate = `${Math.round((count * HOUR_MS) / ms)} an hour on a core`;
  console.log(`${workload.name}: ${count} seeds from ${first}, no rule broken; ${cost}, ${rate}`);
  if (count === 1) console.log(`history ${digest}`);
  return true;
}

function wholeOf(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new RangeError(`${name} must be a whole number from 1, got ${text}`);
  return value;
}

/**
 * `npm run simulate -- --package locks --seeds 10000 [--seed 1]`: runs so many seeds, from the given one on. The first seed that breaks a
 * rule is repeated, shrunk and printed, and ends the run with code 1. `--mutations` plants defects, and prints which seed found each;
 * `--mutation <name>` plants one. `--replay` runs the plans of seeds.json. `--engine redis` runs on a real server in place of the one in
 * memory, and `--engine both` on each, whose histories must be the same.
 */
import { parseArgs } from 'node:util';
import { compare } from './compare.js';
import { findMutations } from './find-mutations.js';
import { mutationOf } from './mutations.js';
import { planOf } from './plan.js';
import { replay } from './replay.js';
import { report } from './report.js';
import { Runner } from './run.js';
import type { Workload } from './workload.js';
import { WORKLOADS, workloadOf } from './workloads/index.js';
import type { Engines } from './world/engine.js';
import { RedisEngines } from './world/redis-engine.js';

const HOUR_MS = 3_600_000;
const US_OF_MS = 1_000;
const SEEDS = 1_000;

const { values } = parseArgs({
  options: {
    package: { type: 'string' },
    seeds: { type: 'string' },
    seed: { type: 'string' },
    engine: { type: 'string', default: 'memory' },
    mutations: { type: 'boolean', default: false },
    mutation: { type: 'string' },
    replay: { type: 'boolean', default: false },
  },
});

const { engine } = values;
if (!['memory', 'redis', 'both'].includes(engine))
  throw new RangeError(`--engine is one of memory, redis, both, got ${engine}`);
const redis = engine === 'memory' ? undefined : await RedisEngines.start();
try {
  process.exitCode = (await main(redis)) ? 0 : 1;
} finally {
  await redis?.stop();
}

async function main(engines: Engines | undefined): Promise<boolean> {
  if (values.mutations) return findMutations(values.package, engines);
  if (values.replay) return replay(engines);
  const mutation = values.mutation === undefined ? undefined : mutationOf(values.mutation);
  const named = values.package ?? mutation?.workload;
  const workloads = named === undefined ? WORKLOADS : [workloadOf(named)];
  const first = wholeOf('--seed', values.seed ?? '1');
  // One seed alone is one that somebody wants to see.
  const count = wholeOf('--seeds', values.seeds ?? (values.seed === undefined ? String(SEEDS) : '1'));
  let isGood = true;
  for (const workload of workloads) {
    const changes = mutation ? [mutation] : [];
    const runner = new Runner(changes, engines);
    if (engine === 'both') {
      const seeds = Array.from({ length: count }, (_, index) => first + index);
      if (!(await compare(new Runner(changes), runner, workload, seeds))) isGood = false;
    } else if (!(await simulate(runner, workload, first, count))) isGood = false;
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

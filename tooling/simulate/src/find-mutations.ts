/** Plants each defect alone, and runs seeds until one of them breaks a rule. */
import type { Mutation } from './mutations.js';
import { MUTATIONS } from './mutations.js';
import { planOf } from './plan.js';
import { Runner } from './run.js';
import { workloadOf } from './workloads/index.js';
import type { Engines } from './world/engine.js';

const MOST_SEEDS = 5_000;
const MS_OF_SECOND = 1_000;

/** @param only A workload; default all. Resolves to whether each defect was found. */
export async function findMutations(only?: string, engines?: Engines): Promise<boolean> {
  const mutations = MUTATIONS.filter(({ workload }) => only === undefined || workload === only);
  const startedAt = performance.now();
  let found = 0;
  for (const mutation of mutations) if (await find(mutation, engines)) found += 1;
  const seconds = ((performance.now() - startedAt) / MS_OF_SECOND).toFixed(0);
  console.log(`\n${found} of ${mutations.length} planted defects found in ${seconds} s`);
  return found === mutations.length;
}

async function find(mutation: Mutation, engines: Engines | undefined): Promise<boolean> {
  const workload = workloadOf(mutation.workload);
  const runner = new Runner([mutation], engines);
  const startedAt = performance.now();
  for (let seed = 1; seed <= MOST_SEEDS; seed += 1) {
    const { violations } = await runner.run(workload, planOf(seed, workload.shape));
    if (runner.unused.length > 0) throw new Error(`nothing in ${mutation.package} fits "${mutation.name}"`);
    const [first] = violations;
    if (first === undefined) continue;
    const seconds = ((performance.now() - startedAt) / MS_OF_SECOND).toFixed(1);
    console.log(`✓ ${mutation.workload}, ${mutation.invariant}: ${mutation.name}`);
    console.log(`  seed ${seed}, after ${seconds} s: ${first.slice(0, 160)}`);
    return true;
  }
  console.log(
    `✗ ${mutation.workload}, ${mutation.invariant}: ${mutation.name}\n  not found in ${MOST_SEEDS} seeds`,
  );
  return false;
}

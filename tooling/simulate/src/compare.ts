/** Runs seeds on the server in memory and on a real one: the same plan must give the same history. */
import { planOf } from './plan.js';
import type { Runner } from './run.js';
import { lineOf } from './report.js';
import type { Workload } from './workload.js';

const LINES_BEFORE = 8;

/** Resolves to whether all histories are the same. Prints the first steps that differ. */
export async function compare(
  memory: Runner,
  redis: Runner,
  workload: Workload,
  seeds: readonly number[],
): Promise<boolean> {
  for (const seed of seeds) {
    const plan = planOf(seed, workload.shape);
    const one = await memory.run(workload, plan, true);
    const other = await redis.run(workload, plan, true);
    const [ours, theirs] = [one, other].map(({ steps, violations }) => [...steps, ...violations].map(sorted));
    const at = ours!.findIndex((step, index) => step !== theirs![index]);
    if (at < 0 && ours!.length === theirs!.length) continue;
    console.log(`${workload.name}, seed ${seed}: the histories differ from step ${at} on`);
    for (const step of one.steps.slice(Math.max(0, at - LINES_BEFORE), at)) console.log(`  ${lineOf(step)}`);
    console.log(`  memory: ${lineOf(one.steps[at] ?? one.violations.join())}`);
    console.log(`  Redis:  ${lineOf(other.steps[at] ?? other.violations.join())}`);
    return false;
  }
  console.log(
    `${workload.name}: ${seeds.length} seeds from ${seeds[0]}, the same histories in memory and on Redis`,
  );
  return true;
}

/** The members of a set have no order. A script joins them by commas. */
function sorted(step: string): string {
  return step
    .replaceAll(/\d+(?:,\d+)+/g, (list) => list.split(',').toSorted().join(','))
    .replace(/(?<=← smembers \[)[^\]]*/, (list) => list.split(' ').toSorted().join(' '));
}

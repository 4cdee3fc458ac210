/** Runs the plans of seeds.json: each has found a defect once, and none may break a rule today. */
import { readFileSync } from 'node:fs';
import type { Plan } from './plan.js';
import { Runner } from './run.js';
import { workloadOf } from './workloads/index.js';
import type { Engines } from './world/engine.js';

interface Recorded {
  readonly package: string;
  /** The defect that the plan has found. */
  readonly found: string;
  readonly plan: Plan;
}

export async function replay(engines?: Engines): Promise<boolean> {
  const file = new URL('../seeds.json', import.meta.url);
  const recorded = JSON.parse(readFileSync(file, 'utf8')) as Recorded[];
  const runner = new Runner([], engines);
  let broken = 0;
  for (const { package: name, found, plan } of recorded) {
    const { violations } = await runner.run(workloadOf(name), plan);
    if (violations.length === 0) continue;
    broken += 1;
    console.log(`${name}, again: ${found}\n  ${violations.join('\n  ')}`);
  }
  console.log(`${recorded.length - broken} of ${recorded.length} recorded plans break no rule`);
  return broken === 0;
}

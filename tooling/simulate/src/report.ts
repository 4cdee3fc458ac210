/** The report about a seed that breaks a rule. */
import type { Plan } from './plan.js';
import type { Runner, Verdict } from './run.js';
import { shrink } from './shrink.js';
import type { Workload } from './workload.js';

const REPLAYS = 100;
const MOST_CHARACTERS = 220;

export async function report(
  runner: Runner,
  workload: Workload,
  plan: Plan,
  { violations, digest }: Verdict,
): Promise<void> {
  console.log(`${workload.name}, seed ${plan.seed}: ${violations.length} broken rules`);
  for (const violation of violations) console.log(`  ${violation}`);
  let same = 0;
  for (let run = 0; run < REPLAYS; run += 1)
    if ((await runner.run(workload, plan)).digest === digest) same += 1;
  console.log(`  ${same} of ${REPLAYS} replays had the same history, ${digest.slice(0, 16)}`);
  const { plan: smallest, verdict, runs } = await shrink(runner, workload, plan);
  console.log(
    `\nShrunk in ${runs} runs. For seeds.json:\n${JSON.stringify({ package: workload.name, plan: smallest })}\n`,
  );
  for (const step of verdict.steps) console.log(lineOf(step));
  for (const violation of verdict.violations) console.log(`✗ ${violation}`);
}

/** Payloads are bytes, and scripts have many lines. */
export function lineOf(step: string): string {
  const line = step.replaceAll(/[^\x20-\x7e←→…–]+/g, ' ');
  return line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line;
}

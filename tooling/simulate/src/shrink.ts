/**
 * Makes a failing plan smaller by leaving out parts of it, as long as it still fails: halves first, then single ones
 * (A. Zeller, Delta debugging, 1999). A smaller plan has another order of events, so each is tried in several orders.
 */
import type { Plan } from './plan.js';
import type { Runner, Verdict } from './run.js';
import type { Workload } from './workload.js';

/** Orders of events for each smaller plan. */
const ORDERS = 12;

export interface Shrunk {
  readonly plan: Plan;
  readonly verdict: Verdict;
  readonly runs: number;
}

/** @param mostRuns Then the smallest plan so far is the result. */
export async function shrink(
  runner: Runner,
  workload: Workload,
  plan: Plan,
  mostRuns = 2_000,
): Promise<Shrunk> {
  const shrinking = new Shrinking(runner, workload, plan, mostRuns);
  await shrinking.shrink();
  return {
    plan: shrinking.plan,
    verdict: await runner.run(workload, shrinking.plan, true),
    runs: shrinking.runs,
  };
}

type Segment = 'processes' | 'faults' | 'operations';

class Shrinking {
  plan: Plan;
  runs = 0;
  readonly #runner: Runner;
  readonly #workload: Workload;
  readonly #mostRuns: number;

  constructor(runner: Runner, workload: Workload, plan: Plan, mostRuns: number) {
    this.#runner = runner;
    this.#workload = workload;
    this.plan = plan;
    this.#mostRuns = mostRuns;
  }

  async shrink(): Promise<void> {
    let size: number;
    do {
      size = sizeOf(this.plan);
      for (const segment of ['processes', 'faults', 'operations'] as const) await this.#leaveOut(segment);
    } while (sizeOf(this.plan) < size && this.runs < this.#mostRuns);
  }

  async #leaveOut(segment: Segment): Promise<void> {
    let size = Math.ceil(this.plan[segment].length / 2);
    while (size >= 1) {
      for (let at = 0; at < this.plan[segment].length;) {
        const smaller = without(this.plan, segment, at, size);
        if (!(await this.#stillFails(smaller))) at += size;
        if (this.runs >= this.#mostRuns) return;
      }
      size = size === 1 ? 0 : Math.ceil(size / 2);
    }
  }

  async #stillFails(plan: Plan): Promise<boolean> {
    for (let order = 0; order < ORDERS; order += 1) {
      const candidate = { ...plan, order };
      this.runs += 1;
      const { violations } = await this.#runner.run(this.#workload, candidate);
      if (violations.length === 0) continue;
      this.plan = candidate;
      return true;
    }
    return false;
  }
}

function sizeOf({ processes, operations, faults }: Plan): number {
  return processes.length + operations.length + faults.length;
}

function without(plan: Plan, segment: Segment, at: number, size: number): Plan {
  const rest = { ...plan, [segment]: plan[segment].toSpliced(at, size) };
  const kept = new Set(rest.processes);
  return { ...rest, operations: rest.operations.filter(({ process }) => kept.has(process)) };
}

/** One run of a plan, from its start to its verdict. */
import type { Plan } from './plan.js';
import type { Workload } from './workload.js';
import type { Engines } from './world/engine.js';
import { MemoryEngines } from './world/memory-engine.js';
import type { Change } from './world/realm.js';
import { Sources } from './world/realm.js';
import { World } from './world/world.js';

export interface Verdict {
  /** Broken rules; none if all is well. */
  readonly violations: readonly string[];
  /** SHA-256 of all steps. */
  readonly digest: string;
  readonly stepCount: number;
  /** The text of each step, if asked for. */
  readonly steps: readonly string[];
}

/** Far more than a run needs that doesn't hang. */
const MAX_STEPS = 20_000;
const MAX_MS = 600_000;

/** Runs plans with one text of the packages. One run at a time. */
export class Runner {
  readonly #sources: Sources;
  readonly #engines: Engines;
  readonly #rejections: string[] = [];

  /** @param engines Default: servers in memory. */
  constructor(changes: readonly Change[] = [], engines?: Engines) {
    this.#sources = new Sources(changes);
    this.#engines = engines ?? new MemoryEngines(this.#sources);
  }

  /** Changes that found nothing to change in the files that were loaded so far. */
  get unused(): Change[] {
    return this.#sources.unused;
  }

  async run(workload: Workload, plan: Plan, keepsSteps = false): Promise<Verdict> {
    const onRejection = (reason: unknown): void =>
      void this.#rejections.push(`unhandled rejection: ${String(reason)}`);
    this.#rejections.length = 0;
    process.on('unhandledRejection', onRejection);
    try {
      return await this.#run(workload, plan, keepsSteps);
    } finally {
      process.off('unhandledRejection', onRejection);
    }
  }

  async #run(workload: Workload, plan: Plan, keepsSteps: boolean): Promise<Verdict> {
    const programs = workload.begin(plan);
    const world = new World({
      plan,
      sources: this.#sources,
      engines: this.#engines,
      keepsSteps,
      isInOrder: programs.isInOrder ?? false,
      start: (process, number) => programs.start(process, number),
    });
    const violations: string[] = [];
    await world.runUntil(() => programs.isDone(), workload.shape.steps);
    world.heal();
    if (!(await world.runUntil(() => programs.isDone(), MAX_STEPS, MAX_MS)))
      violations.push(`progress: after ${world.count} steps some operations have not ended`);
    violations.push(...(await programs.check(world)), ...world.problems, ...this.#rejections);
    const { digest, count, steps } = world;
    return { violations, digest, stepCount: count, steps };
  }
}

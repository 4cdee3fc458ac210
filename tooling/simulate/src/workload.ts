import type { Plan, Shape } from './plan.js';
import type { World } from './world/world.js';
import type { VirtualProcess } from './world/process.js';

/** The programs of a package, and the rules that its histories keep. */
export interface Workload {
  readonly name: string;
  readonly shape: Shape;
  begin(plan: Plan): Programs;
}

/** One run of a workload. */
export interface Programs {
  /**
   * Whether the commands of a lost connection come before those of the next connection of the process. Default false: late
   * commands may come in any order.
   */
  readonly isInOrder?: boolean;
  /** Starts the program of a process, with the operations of its number that no earlier life has begun. */
  start(process: VirtualProcess, number: number): void;
  /** Whether every operation has ended. */
  isDone(): boolean;
  /** After the end: examines the history, and reads from Redis. Returns broken rules. */
  check(world: World): Promise<readonly string[]> | readonly string[];
}

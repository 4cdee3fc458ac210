/** The content of a run, made from its seed. A failing plan is shrunk by leaving out parts of it. */
import { Random } from './random.js';

type FaultKind =
  | 'cut'
  | 'crash'
  | 'pause'
  | 'clock'
  | 'stall'
  | 'flush scripts'
  | 'flush all'
  | 'failover'
  | 'server clock'
  | 'server drift';

/** Those that every package has to bear without an excuse. */
export const FAULTS: readonly FaultKind[] = ['cut', 'crash', 'pause', 'clock', 'stall', 'flush scripts'];
export const SERVER_CLOCK: readonly FaultKind[] = ['server clock', 'server drift'];
export const LOSSES: readonly FaultKind[] = ['flush all', 'failover'];

export interface Fault {
  /** The step of the world before which it comes. */
  readonly atStep: number;
  readonly kind: FaultKind;
  /** Chooses the process or connection, from 0, below 1. */
  readonly target: number;
  /** How long it lasts, or by how much the clock jumps. */
  readonly ms: number;
  /** Of the commands that a cut or a crash finds on the wire, this part reaches the server. */
  readonly arrives: number;
}

export interface Operation {
  /** The number of the process that carries it out. */
  readonly process: number;
  /** Each operation draws its own numbers, so leaving one out changes no other. */
  readonly seed: number;
}

export interface Plan {
  readonly seed: number;
  /** Varies the order of events of the same plan. */
  readonly order: number;
  readonly processes: readonly number[];
  readonly operations: readonly Operation[];
  readonly faults: readonly Fault[];
}

/** The sizes and faults that a workload allows. */
export interface Shape {
  readonly processes: readonly [least: number, most: number];
  readonly operations: readonly [least: number, most: number];
  readonly faults: readonly FaultKind[];
  readonly mostFaults: number;
  /** Faults come before this step. */
  readonly steps: number;
  /** The longest pause of a process, ms. */
  readonly longestMs: number;
}

/** So many faults are long ones, longer than a lease; of the others, short ones are as likely as long ones. */
const LONG_PART = 0.3;

export function planOf(seed: number, shape: Shape): Plan {
  const random = new Random(seed);
  const count = wholeBetween(random, shape.processes);
  const processes = Array.from({ length: count }, (_, index) => index);
  const operations = Array.from({ length: wholeBetween(random, shape.operations) }, () => ({
    process: random.below(count),
    seed: random.uint32(),
  }));
  // Each seed has a mix of its own (A. Groce, Swarm testing, 2012): some faults hide others.
  const kinds = shape.faults.filter(() => random.isTrue(0.5));
  const size = kinds.length === 0 ? 0 : random.below(shape.mostFaults + 1);
  const faults = Array.from({ length: size }, () => faultOf(random, kinds, shape));
  return { seed, order: 0, processes, operations, faults };
}

function faultOf(random: Random, kinds: readonly FaultKind[], { steps, longestMs }: Shape): Fault {
  return {
    atStep: random.below(steps),
    kind: random.pick(kinds),
    target: random.next(),
    ms: Math.ceil(
      random.isTrue(LONG_PART) ? random.between(longestMs / 3, longestMs) : longestMs ** random.next(),
    ),
    arrives: random.pick([0, 1, random.next()]),
  };
}

function wholeBetween(random: Random, [least, most]: readonly [number, number]): number {
  return least + random.below(most - least + 1);
}

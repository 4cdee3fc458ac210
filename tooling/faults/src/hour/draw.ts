/** The faults of a run, drawn from its seed. */
import { Random } from '../autocomplete/random.js';

export type Deployment = 'cluster' | 'sentinel';

const ON_BOTH = [
  'a process is killed',
  'a process is stopped',
  'a master is killed',
  'a master restarts at once',
  'a replica is killed',
  'a master is stopped',
  'a master stands still',
  'half-open links',
  'delayed links',
  'lost replies',
  'FLUSHALL',
  'SCRIPT FLUSH',
  'CLIENT KILL',
  'failover',
  'full memory',
  'full disk',
] as const;

export type FaultName = (typeof ON_BOTH)[number] | 'a slot moves';

export interface DrawnFault {
  readonly name: FaultName;
  /** From 0, below 1: decides the workload, server or slot that the fault hits. */
  readonly random: number;
}

export const FAULTS: Readonly<Record<Deployment, readonly FaultName[]>> = {
  cluster: [...ON_BOTH, 'a slot moves'],
  sentinel: ON_BOTH,
};

/** Numbers to skip: the first ones of neighbouring seeds are similar. */
const WARM_UP = 20;

/** The first `count` faults of a sequence: all faults of a deployment in random order, then all in another order, and so on. */
export function drawFaults(seed: number, on: Deployment, count: number): DrawnFault[] {
  const random = new Random(seed);
  for (let skipped = 0; skipped < WARM_UP; skipped += 1) random.fraction();
  const drawn: DrawnFault[] = [];
  let left: FaultName[] = [];
  while (drawn.length < count) {
    if (left.length === 0) left = [...FAULTS[on]];
    const [name] = left.splice(random.below(left.length), 1);
    drawn.push({ name: name!, random: random.fraction() });
  }
  return drawn;
}

import type { FetchedTask } from '../work/fetch-and-ack.js';
import type { Job } from './job.js';
import type { Lock } from './locks.js';

/** The run of a fetched task: a field costs less than a map. */
export const RUN: unique symbol = Symbol('run');
export type Tracked = FetchedTask & { [RUN]?: Run };

export interface Run {
  readonly job: Job;
  readonly lock: Lock;
  end: 'completed' | 'failed' | undefined;
  value: unknown;
}

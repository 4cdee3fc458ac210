import type { Job } from './job.js';
import type { Lock } from './locks.js';

/** The run of a fetched task, which keeps it as its context. It is the lock of its job, so most jobs need no other object. */
export interface Run extends Lock {
  readonly job: Job;
  end: 'completed' | 'failed' | undefined;
  value: unknown;
}

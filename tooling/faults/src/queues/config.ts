import type { WorkerOptions } from '@mortise/queues';
import type { RedisAddress } from '../locks/config.js';

/** The settings of a worker process, as JSON in its only argument. */
export interface WorkerConfig {
  /** Its number in the run, from 0. */
  readonly worker: number;
  /** Gets what its handlers do; see records.ts. */
  readonly file: string;
  readonly redis: RedisAddress;
  readonly queues: readonly string[];
  readonly options: Omit<WorkerOptions, 'onError' | 'schemas' | 'telemetry' | 'backoff'> & {
    readonly backoff?: { readonly type: 'fixed'; readonly delayMs: number };
  };
  readonly sabotage?: Sabotage;
}

/** The defect in the scripts of a process; see sabotage.ts. */
export type Sabotage =
  | 'completion without a look at the token'
  | 'tasks of dead workers stay'
  | 'renewal is not stored'
  | 'taken tasks stay in the list'
  | 'succeeded tasks are lost'
  | 'groups take no turns';

/** The order to a worker over IPC. */
export type Order = { readonly type: 'stop'; readonly graceMs: number };

/** Its messages. */
export type WorkerMessage = { readonly type: 'ready' | 'stopped' };

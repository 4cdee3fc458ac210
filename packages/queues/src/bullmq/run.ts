import type { Attempt } from '../work/attempt.js';
import { fetchedJob } from './fetched-job.js';
import type { JobHost } from './host.js';
import type { Job } from './job.js';
import type { Lock } from './locks.js';
import { setLock } from './locks.js';
import { decodeDetails, PLAIN } from './stored-job.js';
import type { WorkerOptions } from './types.js';

/** The run of a fetched task, which keeps it as its context. It is the lock of its job, so most jobs need no other object. */
export interface Run extends Lock {
  readonly job: Job;
  /** The first start of a job without options. */
  readonly isPlain: boolean;
  end: 'completed' | 'failed' | undefined;
  value: unknown;
}

export interface WorkerRun<Data, Result, Name extends string> extends Run {
  readonly job: Job<Data, Result, Name>;
}

const MAX_RESULT_BYTES = 64 * 1024 * 1024;
/** Of a UTF-16 unit. */
const MAX_BYTES = 3;

/** '' for none. A value that isn't JSON, or is too large, fails the job. */
export function resultJson(result: unknown): string {
  if (result === undefined) return '';
  const json = JSON.stringify(result) ?? '';
  if (json.length * MAX_BYTES > MAX_RESULT_BYTES && Buffer.byteLength(json) > MAX_RESULT_BYTES) {
    throw new RangeError(`a result may have ${MAX_RESULT_BYTES} bytes`);
  }
  return json;
}

/** Throws for a job that cannot be read. */
export function beginRun<Data, Result, Name extends string>(
  host: JobHost,
  attempt: Attempt,
  token: string,
): WorkerRun<Data, Result, Name> {
  const { record, id, fetched } = attempt;
  const details = decodeDetails(record.extras.headers);
  const job = fetchedJob<Data, Result, Name>(host, attempt, details);
  const { name } = host.opts as WorkerOptions;
  job.token = token;
  job.processedOn = Date.now();
  job.delay = 0;
  if (name !== undefined) job.processedBy = name;
  const run: WorkerRun<Data, Result, Name> = {
    id,
    token,
    lease: fetched.token,
    isMoved: false,
    hasChildren: false,
    place: -1,
    number: 0,
    job,
    isPlain: details === PLAIN && attempt.attempt === 1,
    end: undefined,
    value: undefined,
  };
  setLock(host.qualifiedName, run);
  fetched.context = run;
  return run;
}

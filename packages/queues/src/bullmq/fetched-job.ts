/** The job of a fetched task. */
import type { Attempt } from '../work/attempt.js';
import type { JobHost } from './host.js';
import { Job } from './job.js';
import { JobScheduler } from './job-scheduler.js';
import type { JobDetails } from './stored-job.js';
import { PLAIN } from './stored-job.js';

export function fetchedJob<Data, Result, Name extends string>(
  host: JobHost,
  { id, record, attempt }: Attempt,
  details: JobDetails,
): Job<Data, Result, Name> {
  const { name, enqueuedAt, priorityIndex: level } = record;
  const data = JSON.parse(record.payload) as Data;
  if (details === PLAIN) {
    // Most jobs: without options.
    const job = new Job<Data, Result, Name>(host, name as Name, data, undefined, id, enqueuedAt);
    job.attemptsStarted = 1;
    job.stacktrace = [];
    return job;
  }
  const stored = { id, name, data: '', details, enqueuedAt, level, attempt, extras: '' };
  return Job.fromStored<Data, Result, Name>(host, { ...stored, state: 'active' }, data);
}

/** Adds the next job of a job scheduler when one starts. */
export async function scheduleNext(host: JobHost, job: Job): Promise<void> {
  try {
    await new JobScheduler(host).next(job);
  } catch (error) {
    const { message } = error as Error;
    host.emit('error', new Error(`Failed to add repeatable job for next iteration: ${message}`));
  }
}

/** The checks of BullMQ for the options of a job, with its messages. */
import type { JobLike } from './host.js';

const MAX_PRIORITY = 2 ** 21 - 1;
const EXCLUSIVE = [
  'removeDependencyOnFailure',
  'failParentOnFailure',
  'continueParentOnFailure',
  'ignoreDependencyOnFailure',
] as const;
/** Of an id of a job scheduler: `repeat:<scheduler>:<ms>`. */
const ID_PARTS = 3;

export function checkOptions({ name, data, opts, parentKey }: JobLike): void {
  if (opts.sizeLimit && Buffer.byteLength(JSON.stringify(data === undefined ? {} : data)) > opts.sizeLimit) {
    throw new Error(`The size of job ${name} exceeds the limit ${opts.sizeLimit} bytes`);
  }
  const chosen = EXCLUSIVE.filter((option) => opts[option]);
  if (chosen.length > 1) {
    throw new Error(`The following options cannot be used together: ${chosen.join(', ')}`);
  }
  checkId(opts.jobId);
  const { priority, deduplication, backoff } = opts;
  if (priority) {
    if (Math.trunc(priority) !== priority) throw new Error('Priority should not be float');
    if (priority > MAX_PRIORITY) throw new Error(`Priority should be between 0 and ${MAX_PRIORITY}`);
  }
  if (deduplication) {
    if (!deduplication.id) throw new Error('Deduplication id must be provided');
    if (parentKey) throw new Error('Deduplication and parent options cannot be used together');
  }
  if (Object.hasOwn(opts, 'debounce')) {
    throw new Error('Debounce option has been removed. Use deduplication option instead');
  }
  const jitter = typeof backoff === 'object' ? backoff.jitter : undefined;
  if (typeof jitter === 'number' && (jitter < 0 || jitter > 1)) {
    throw new Error('Jitter should be between 0 and 1');
  }
}

function checkId(jobId: string | undefined): void {
  if (!jobId) return;
  if (String(Number.parseInt(jobId, 10)) === jobId) throw new Error('Custom Id cannot be integers');
  if (jobId.includes(':') && jobId.split(':').length !== ID_PARTS) {
    throw new Error('Custom Id cannot contain :');
  }
}

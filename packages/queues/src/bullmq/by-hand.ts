/** Jobs without a processor: `worker.getNextJob(token)`, then `job.moveToCompleted` or `job.moveToFailed` with that token. */
import { LeaseLostError } from '@mortise/redis';
import { Claims } from '../claims/claims.js';
import type { ClaimedTask } from '../claims/claimed-task.js';
import { readLease, writeLease } from '../claims/lease.js';
import { announceValue } from './announced-values.js';
import { refusalOf } from './errors.js';
import { JobScheduler } from './job-scheduler.js';
import type { EndByHand, JobHost, JobLike } from './host.js';
import { Job, NO_CHECK } from './job.js';
import { dropLock, lockOf, newLock, setLock } from './locks.js';
import { applyRetention, completed, KEEP_ALL } from './retention.js';
import type { Store } from './store.js';
import { decodeDetails, encodeDetails } from './stored-job.js';

const MIN_LEASE_MS = 1_000;
const MAX_WAIT_MS = 30_000;
const SECOND_MS = 1_000;
const claimsOf = new WeakMap<Store, Claims>();

function claims(store: Store): Claims {
  let found = claimsOf.get(store);
  if (!found) {
    const { redis, queue, prefix } = store;
    found = new Claims(redis, queue, { prefix, ...KEEP_ALL, onError: () => undefined });
    claimsOf.set(store, found);
  }
  return found;
}

/** Ends the waiting claims of a closed worker. */
export async function stopClaims(store: Store): Promise<void> {
  await claimsOf.get(store)?.stop();
}

/** The next job, active under a lease of the token. */
export async function claimNext(
  host: JobHost,
  token: string,
  leaseMs: number,
  waitSeconds: number,
): Promise<Job | undefined> {
  await host.store.ready();
  const [task] = await claims(host.store).claim({
    limit: 1,
    waitMs: Math.min(MAX_WAIT_MS, waitSeconds * SECOND_MS),
    leaseMs: Math.max(MIN_LEASE_MS, leaseMs),
  });
  if (!task) return undefined;
  const job = jobOf(host, task);
  job.token = token;
  job.processedOn = Date.now();
  const { token: lease } = readLease(task.lease);
  // Of an earlier claim that nobody has ended.
  const before = lockOf(host.qualifiedName, task.id);
  if (before) dropLock(host.qualifiedName, before);
  setLock(host.qualifiedName, newLock(task.id, token, lease));
  if (job.repeatJobKey !== undefined) await new JobScheduler(host).next(job);
  host.emit('active', job, 'waiting');
  return job;
}

function jobOf(host: JobHost, task: ClaimedTask): Job {
  const details = decodeDetails(task.headers);
  const stored = {
    id: task.id,
    name: task.name,
    data: '',
    details,
    enqueuedAt: task.enqueuedAt,
    level: 0,
    state: 'active' as const,
    attempt: task.attempt,
    extras: encodeDetails(details),
  };
  return Job.fromStored(host, stored, task.payload);
}

/** Resolves to the instant of the end. */
export async function endByHand(job: JobLike, token: string, end: EndByHand): Promise<number> {
  const { store } = job.queue;
  const { queueQualifiedName: queue, id = '' } = job;
  const lock = lockOf(queue, id);
  if (!lock || (lock.token !== token && token !== NO_CHECK)) {
    const stored = await store.get(job.id!);
    let code = lock ? -6 : -2;
    if (!stored) code = -1;
    else if (stored.state !== 'active' && token === NO_CHECK) code = -3;
    throw refusalOf(code, job.id!, 'moveToFinished', 'active');
  }
  const lease = writeLease({ shard: 0, token: lock.lease });
  try {
    if (end.verdict === 'S') {
      const json = JSON.stringify(end.value ?? null);
      if (completed(job, json, job.queue.opts).keepsNone) await announceValue(job, json);
      await claims(store).complete(job.id!, lease, end.value ?? null);
    } else await claims(store).fail(job.id!, lease, { error: end.error, retry: false });
  } catch (error) {
    if (error instanceof LeaseLostError) throw refusalOf(-2, job.id!, 'moveToFinished');
    throw error;
  }
  dropLock(queue, lock);
  await applyRetention(job, end.verdict === 'S' ? 'completed' : 'failed', job.queue.opts);
  return Date.now();
}

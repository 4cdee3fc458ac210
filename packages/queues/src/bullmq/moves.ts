/** Changes of stored jobs, for the calls of `Job`: their refusals have the texts of BullMQ. */
import { layerProgress, layerRenew } from '../scripts.gen.js';
import { encodeTaskId } from '../task/task-id.js';
import { refusalOf } from './errors.js';
import type { JobLike } from './host.js';
import { delayOf, frontOf, placeOf } from './places.js';
import type { Store } from './store.js';
import type { JobDetails } from './stored-job.js';
import type { FinishedStatus, RetryOptions } from './types.js';

export async function setProgress(store: Store, id: string, value: unknown): Promise<void> {
  await store.shards.open();
  const shard = store.shards.first;
  await shard.enableOptional();
  const json = JSON.stringify(value);
  const answer = await shard.call((keys, common) =>
    layerProgress.run(store.redis, keys, {
      ...common,
      id: encodeTaskId(id),
      value: json,
      event: JSON.stringify({ event: 'progress', data: value }),
    }),
  );
  if (answer === -1) throw refusalOf(-1, id, 'updateProgress');
}

export async function renew(store: Store, id: string, lease: number, leaseMs: number): Promise<boolean> {
  const { active } = store.shards.first.keys.of;
  const args = { id: encodeTaskId(id), token: lease, leaseMs };
  return (await layerRenew.run(store.redis, { active }, args)) === 1;
}

function withDelay({ d: _d, ...details }: JobDetails, delay: number): JobDetails {
  return { ...details, ...(delay > 0 && { d: delay }) };
}

export async function changeDelay(store: Store, job: JobLike, delay: number): Promise<void> {
  const stored = await store.get(job.id!);
  if (!stored) throw refusalOf(-1, job.id!, 'changeDelay');
  if (stored.state !== 'delayed') throw refusalOf(-3, job.id!, 'changeDelay', 'delayed');
  const { p = 0 } = stored.details;
  const code = await store.move(job.id!, 'R', {
    level: p > 0 ? 1 : 0,
    where: delayOf(delay, p),
    details: withDelay(stored.details, delay),
    event: { event: 'delayed', delay: Date.now() + delay },
  });
  if (code < 0) throw refusalOf(code, job.id!, 'changeDelay', 'delayed');
}

export async function promote(store: Store, job: JobLike): Promise<void> {
  const stored = await store.get(job.id!);
  if (!stored) throw refusalOf(-1, job.id!, 'promote');
  if (stored.state !== 'delayed') throw refusalOf(-3, job.id!, 'promote', 'delayed');
  const { p = 0, o } = stored.details;
  const code = await store.move(job.id!, 'R', {
    level: p > 0 ? 1 : 0,
    where: placeOf(p, o?.lifo),
    details: withDelay(stored.details, 0),
    event: { event: 'waiting', prev: 'delayed' },
  });
  if (code < 0) throw refusalOf(code, job.id!, 'promote', 'delayed');
}

export async function changePriority(
  store: Store,
  job: JobLike,
  priority: number,
  lifo: boolean,
): Promise<void> {
  const stored = await store.get(job.id!);
  if (!stored) throw refusalOf(-1, job.id!, 'changePriority');
  const { p: _, ...others } = stored.details;
  const details = { ...others, ...(priority > 0 && { p: priority }) };
  const level = priority > 0 ? 1 : 0;
  const where = lifo ? frontOf(priority) : placeOf(priority);
  if (stored.state === 'delayed') {
    await store.move(job.id!, 'R', { level, where: `=${where}`, details });
    return;
  }
  if (stored.state !== 'waiting' && stored.state !== 'prioritized') {
    await store.setDetails(job.id!, () => details);
    return;
  }
  await store.move(job.id!, 'R', { level, where, details });
}

export async function retry(
  store: Store,
  job: JobLike,
  state: FinishedStatus,
  { resetAttemptsMade = false, resetAttemptsStarted = false }: RetryOptions,
): Promise<void> {
  const stored = await store.get(job.id!);
  if (!stored) throw refusalOf(-1, job.id!, 'reprocessJob');
  const { a = 0, s = 0, fr: _fr, po: _po, ...others } = stored.details;
  // A completed attempt is counted by its state alone.
  const ended = stored.state === 'completed' ? 1 : 0;
  const made = resetAttemptsMade ? 0 : a + ended;
  const started = resetAttemptsStarted ? 0 : s + ended;
  const { p = 0, o } = others;
  const code = await store.move(job.id!, state === 'failed' ? 'D' : 'S', {
    level: p > 0 ? 1 : 0,
    where: placeOf(p, o?.lifo),
    details: { ...others, ...(made > 0 && { a: made }), ...(started > 0 && { s: started }) },
    event: { event: 'waiting', prev: state },
  });
  if (code < 0) throw refusalOf(code, job.id!, 'reprocessJob', state);
}

/** Resolves to whether the job had the deduplication id; any job for ''. */
export async function freeDeduplication(store: Store, dedup: string, jobId: string): Promise<boolean> {
  const { layerDedup } = store.layerKeys;
  const holder = await deduplicationHolder(store, dedup);
  if (holder === null || (jobId !== '' && holder !== jobId)) return false;
  return Number(await store.command('HDEL', layerDedup, dedup)) > 0;
}

export async function deduplicationHolder(store: Store, dedup: string): Promise<string | null> {
  return store.dedupHolder(dedup);
}

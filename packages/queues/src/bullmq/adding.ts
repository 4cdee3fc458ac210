/** Stores a new job: by the engine's enqueue if it waits at the end of the queue, else by a script of the layer. */
import { BullmqUnsupportedError } from './errors.js';
import { adopt, adoptStored } from './family.js';
import type { JobLike } from './host.js';
import { freeDeduplication } from './moves.js';
import { delayOf, placeOf } from './places.js';
import { removeJob } from './removing.js';
import type { AddRules, NewJob } from './store.js';

export interface NewJobRules extends AddRules {
  /** The keys of its children: it waits for them. */
  readonly children?: readonly string[];
  /** Called when another process has changed the job scheduler: nothing was stored. */
  readonly onChanged?: (() => void) | undefined;
}

function newJobOf(job: JobLike): NewJob {
  const { priority, delay, opts } = job;
  const where = delay > 0 ? delayOf(delay, priority) : placeOf(priority, opts.lifo);
  const placed =
    delay > 0
      ? { event: 'delayed', delay: job.timestamp + delay, isNew: true }
      : { event: 'waiting', isNew: true };
  return {
    id: job.id!,
    name: job.name,
    data: JSON.stringify(job.data === undefined ? {} : job.data),
    details: job.details,
    level: priority > 0 ? 1 : 0,
    where,
    placed,
  };
}

/** Sets the id of the job: its own, a new one, or that of the job that has its deduplication id. */
export async function addJob(
  job: JobLike,
  { children, scheduler, onChanged }: NewJobRules = {},
): Promise<boolean> {
  const { store } = job.queue;
  if (children) job.setHasChildren();
  await store.ready();
  job.id ??= await store.newId();
  await adopt(job);
  const { deduplication } = job.opts;
  const made = newJobOf(job);
  if (!children && !scheduler && !deduplication && made.where === 'F') {
    const isNew = await store.enqueue(made);
    if (isNew) return true;
    await store.publish(job.id, { event: 'duplicated' });
    await adoptStored(job);
    return false;
  }
  if (deduplication?.keepLastIfActive) {
    throw new BullmqUnsupportedError('deduplication.keepLastIfActive', 'use ttl with replace');
  }
  const waiting = children && {
    ...made,
    // A parent runs before the jobs that wait when its children have ended.
    where: `W${made.where === 'F' ? 'L' : made.where}`,
    placed: { event: 'waiting-children', isNew: true },
  };
  const rules: AddRules = {
    ...(children && { children }),
    ...(scheduler && { scheduler }),
    ...(deduplication && {
      dedup: {
        id: deduplication.id,
        ttl: deduplication.ttl ?? 0,
        extend: deduplication.extend ?? false,
      },
    }),
  };
  const isNew = await settle(job, waiting || made, rules, onChanged);
  if (!isNew) await adoptStored(job);
  return isNew;
}

async function settle(
  job: JobLike,
  made: NewJob,
  rules: AddRules,
  onChanged: (() => void) | undefined,
): Promise<boolean> {
  const { store } = job.queue;
  const answer = await store.add(made, rules);
  if (answer === -1) onChanged?.();
  if (typeof answer !== 'string') return answer === 1;
  const { deduplication } = job.opts;
  const holder = await store.get(answer);
  if (deduplication?.replace && (holder?.state === 'delayed' || !holder)) {
    if (holder) await removeJob(store, answer, true);
    await freeDeduplication(store, deduplication.id, answer);
    return settle(job, made, rules, onChanged);
  }
  await store.publish(answer, {
    event: 'deduplicated',
    deduplicationId: deduplication!.id,
    deduplicatedJobId: job.id,
  });
  job.id = answer;
  return false;
}

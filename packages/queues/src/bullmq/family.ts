/** Parents and children: a child tells its parent of its end before it ends, so a crash in between repeats the report. */
import { refusalOf } from './errors.js';
import type { JobLike } from './host.js';
import { lockOf } from './locks.js';
import type { ChildReport } from './store.js';

export function childKeyOf(job: JobLike): string {
  return `${job.queueQualifiedName}:${job.id}`;
}

/** Resolves to whether the parent had the child. */
export async function reportEnd(
  job: JobLike,
  report: Omit<ChildReport, 'parentId' | 'child'>,
  command: string,
): Promise<boolean> {
  const { parent } = job;
  if (!parent) return false;
  const store = job.queue.storeOfQueue(parent.queueKey);
  const answer = await store.report({ ...report, parentId: parent.id, child: childKeyOf(job) });
  if (answer < 0 && command !== 'moveToFinished') throw refusalOf(-5, job.parentKey!, command);
  return answer > 0;
}

/** Adds a child to its parent before the child is stored. */
export async function adopt(job: JobLike): Promise<void> {
  const { parent } = job;
  if (!parent) return;
  const store = job.queue.storeOfQueue(parent.queueKey);
  const answer = await store.report({ parentId: parent.id, child: childKeyOf(job), outcome: '+' });
  if (answer < 0) throw refusalOf(-5, job.parentKey!, 'addJob');
  const lock = lockOf(parent.queueKey, parent.id);
  if (lock) lock.hasChildren = true;
}

/** A job that was stored before gets the parent of the new one, or reports its result at once. */
export async function adoptStored(job: JobLike): Promise<void> {
  const { parent, id } = job;
  const { store } = job.queue;
  const stored = parent && (await store.get(id!));
  if (!stored) return;
  const { pa: before } = stored.details;
  if (before && (before.id !== parent.id || before.queueKey !== parent.queueKey)) {
    await reportEnd(job, { outcome: 'x' }, 'moveToFinished');
    const key = `${before.queueKey}:${before.id}`;
    throw Object.assign(new Error(`The parent job ${key} cannot be replaced. addJob`), { code: -7 });
  }
  await store.setDetails(id!, (details) => ({ ...details, pa: parent }));
  // It may have ended meanwhile.
  const { state, returnvalue } = (await store.get(id!)) ?? {};
  if (state !== 'completed') return;
  await reportEnd(job, { outcome: 's', value: returnvalue || 'null' }, 'moveToFinished');
}

/** A job with children that have not ended, or one that has failed, cannot complete. */
export async function requireChildrenEnded(job: JobLike): Promise<void> {
  const { '#': left = '0', '!': reason, ...ends } = await job.queue.store.children(job.id!);
  if (reason !== undefined || Object.values(ends).some((end) => end.startsWith('f'))) {
    throw refusalOf(-9, job.id!, 'moveToFinished');
  }
  if (Number(left) > 0) throw refusalOf(-4, job.id!, 'moveToFinished');
}

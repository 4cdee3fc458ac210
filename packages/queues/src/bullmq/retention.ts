/** `removeOnComplete` and `removeOnFail`: BullMQ keeps all ended jobs unless they say otherwise. */
import { layerTrim } from '../scripts.gen.js';
import type { Completion } from '../work/completion.js';
import { SUCCEEDED } from '../work/completion.js';
import type { JobLike } from './host.js';
import type { Store } from './store.js';
import type { FinishedStatus, KeepJobs, QueueBaseOptions } from './types.js';

const MOST = 10_000_000;
const TEN_YEARS_MS = 10 * 365 * 86_400_000;
const MOST_AT_ONCE = 1_000;
const MS = 1_000;

/** The engine removes nothing by itself. */
export const KEEP_ALL = { keepSucceeded: MOST, keepSucceededMs: TEN_YEARS_MS, keepDead: MOST } as const;

/** That of the job, or of the worker; undefined for none. */
export function keepOf(
  job: JobLike,
  state: FinishedStatus,
  opts: QueueBaseOptions,
): boolean | number | KeepJobs | undefined {
  return state === 'completed'
    ? (job.opts.removeOnComplete ?? (opts['removeOnComplete'] as KeepJobs | undefined))
    : (job.opts.removeOnFail ?? (opts['removeOnFail'] as KeepJobs | undefined));
}

/** The end of a job with its result as JSON. The ack may remove the job, unless it has a list of children. */
export function completed(job: JobLike, json: string, opts: QueueBaseOptions): Completion {
  const keep = keepOf(job, 'completed', opts);
  const isRemoved = keep === true || keep === 0 || (typeof keep === 'object' && keep.count === 0);
  if (isRemoved && !job.isParent) return { ...SUCCEEDED, data: json, keepsNone: true };
  return json === '' ? SUCCEEDED : { ...SUCCEEDED, data: json };
}

export async function applyRetention(
  job: JobLike,
  state: FinishedStatus,
  opts: QueueBaseOptions,
): Promise<void> {
  const keep = keepOf(job, state, opts);
  const { store } = job.queue;
  if (keep === undefined || keep === false) {
    if (job.isParent) await store.expireChildren(job.id!);
    return;
  }
  const kept: KeepJobs = typeof keep === 'object' ? keep : { count: keep === true ? 0 : keep };
  if (kept.count === 0) {
    if (state === 'failed') await leaveParent(job);
    await store.remove(job.id!);
  } else await trim(store, state, kept);
}

/** A failed child that is removed must not keep its parent waiting. */
async function leaveParent({ parent, queue, queueQualifiedName, id }: JobLike): Promise<void> {
  if (!parent || parent.fpof || parent.idof || parent.cpof || parent.rdof) return;
  const store = queue.storeOfQueue(parent.queueKey);
  await store.report({ parentId: parent.id, child: `${queueQualifiedName}:${id}`, outcome: 'x' });
}

const trims = new WeakMap<Store, Map<string, Promise<unknown>>>();

/** Calls of one tick with the same rule share a script call, which removes as many as there are. */
function trim(store: Store, state: FinishedStatus, kept: KeepJobs): Promise<unknown> {
  if (kept.limit !== undefined) return trimNow(store, state, kept);
  let ofStore = trims.get(store);
  if (!ofStore) trims.set(store, (ofStore = new Map()));
  const rule = [state, kept.count, kept.age].join(' ');
  let shared = ofStore.get(rule);
  if (!shared) {
    shared = Promise.resolve().then(() => {
      ofStore.delete(rule);
      return trimNow(store, state, kept);
    });
    ofStore.set(rule, shared);
  }
  return shared;
}

function trimNow(store: Store, state: FinishedStatus, { count, age, limit }: KeepJobs): Promise<unknown> {
  const { tasks, attempts, succeeded, dead, progress } = store.shards.first.keys.of;
  const { layerLogs } = store.layerKeys;
  return layerTrim.run(
    store.redis,
    { tasks, attempts, succeeded, dead, progress, layerLogs },
    {
      state,
      keep: count ?? -1,
      olderThan: age === undefined ? -1 : age * MS,
      most: Math.min(limit ?? MOST_AT_ONCE, MOST_AT_ONCE),
    },
  );
}

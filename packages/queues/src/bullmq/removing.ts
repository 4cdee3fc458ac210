/** Removes a job, with its children that have not ended, and tells its parent. */
import { refusalOf } from './errors.js';
import { storeOfKey, storeOfQueue } from './host.js';
import type { Store } from './store.js';

/** False: it runs. `isFree`: also one that belongs to a job scheduler. */
export async function removeJob(
  store: Store,
  id: string,
  withChildren: boolean,
  isFree = false,
): Promise<boolean> {
  const stored = await store.get(id);
  if (!stored) return true;
  if (await isLocked(store, id, withChildren)) return false;
  const { r: scheduler, pa: parent } = stored.details;
  if (!isFree && scheduler !== undefined && isWaiting(stored.state)) {
    if ((await store.nextOf(scheduler)) === id) throw refusalOf(-8, id, 'removeJob');
  }
  if (withChildren && stored.details.c) {
    for (const [key, end] of Object.entries(await store.children(id))) {
      if (key === '#' || key === '!' || key === '@') continue;
      const child = storeOfKey(store, key);
      if (end !== 'p') await removeJob(child.store, child.id, true, true).catch(() => true);
      else if (!(await removeJob(child.store, child.id, true, true))) return false;
    }
  }
  if (!(await store.remove(id))) return true;
  if (parent && stored.state !== 'completed') {
    const parents = storeOfQueue(store, parent.queueKey);
    await parents.report({ parentId: parent.id, child: `${store.qualifiedName}:${id}`, outcome: 'x' });
  }
  await store.publish(id, { event: 'removed', prev: stored.state });
  return true;
}

/** Whether it runs, or one of its children that have not ended does: then nothing of the tree is removed. */
async function isLocked(store: Store, id: string, withChildren: boolean): Promise<boolean> {
  const stored = await store.get(id);
  if (stored?.state === 'active') return true;
  if (!withChildren || !stored?.details.c) return false;
  for (const [key, end] of Object.entries(await store.children(id))) {
    if (end !== 'p') continue;
    const child = storeOfKey(store, key);
    if (await isLocked(child.store, child.id, true)) return true;
  }
  return false;
}

function isWaiting(state: string): boolean {
  return state === 'delayed' || state === 'waiting' || state === 'prioritized';
}

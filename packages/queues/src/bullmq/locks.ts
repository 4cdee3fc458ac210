/**
 * The leases behind the tokens of BullMQ: `job.moveToFailed(error, token)` names the token that the processor got.
 *
 * A queue has a list of them, and a lock has its place in it. In a map that changes with each job, V8 links each outgrown table to
 * the next one: once one of them is old, all jobs survive until a full collection. Lookups are those of moves and failed attempts. They look
 * at all running jobs: 2 µs among 100, 10 µs among 1,000, 75 µs among 10,000.
 */
export interface Lock {
  readonly id: string;
  readonly token: string;
  /** That of the lease, see fetcher.fetch-and-ack.lua. */
  readonly lease: number;
  /** The processor has moved its job, so its outcome no longer counts. */
  isMoved: boolean;
  /** A child was added while it ran. */
  hasChildren: boolean;
  /** -1: dropped. */
  place: number;
  /** Later locks of a job have higher numbers. */
  number: number;
}

const locks = new Map<string, Lock[]>();
let count = 0;

export function newLock(id: string, token: string, lease: number): Lock {
  return { id, token, lease, isMoved: false, hasChildren: false, place: -1, number: 0 };
}

/** `queue`: its qualified name. */
export function setLock(queue: string, lock: Lock): void {
  let ofQueue = locks.get(queue);
  if (!ofQueue) locks.set(queue, (ofQueue = []));
  count += 1;
  lock.number = count;
  lock.place = ofQueue.length;
  ofQueue.push(lock);
}

/** That of the last attempt which has begun in this process. */
export function lockOf(queue: string, id: string): Lock | undefined {
  let found: Lock | undefined;
  for (const lock of locks.get(queue) ?? []) {
    if (lock.id === id && (!found || lock.number > found.number)) found = lock;
  }
  return found;
}

export function dropLock(queue: string, lock: Lock): void {
  const ofQueue = locks.get(queue);
  if (!ofQueue || lock.place < 0) return;
  const last = ofQueue.pop()!;
  if (last !== lock) {
    ofQueue[lock.place] = last;
    last.place = lock.place;
  }
  lock.place = -1;
}

/** The leases behind the tokens of BullMQ: `job.moveToFailed(error, token)` names the token that the processor got. */
export interface Lock {
  readonly token: string;
  /** That of the lease, see fetcher.fetch-and-ack.lua. */
  readonly lease: number;
  /** The processor has moved its job, so its outcome no longer counts. */
  isMoved: boolean;
  /** A child was added while it ran. */
  hasChildren: boolean;
}

/** By queue, then by id: a key of both would cost each job a new string and its hash. */
const locks = new Map<string, Map<string, Lock>>();

/** `queue`: its qualified name. */
export function setLock(queue: string, id: string, lock: Lock): void {
  let ofQueue = locks.get(queue);
  if (!ofQueue) locks.set(queue, (ofQueue = new Map()));
  ofQueue.set(id, lock);
}

export function lockOf(queue: string, id: string): Lock | undefined {
  return locks.get(queue)?.get(id);
}

/** Unless another attempt of the job has begun in this process. */
export function dropLock(queue: string, id: string, lock: Lock): void {
  const ofQueue = locks.get(queue);
  if (ofQueue?.get(id) === lock) ofQueue.delete(id);
}

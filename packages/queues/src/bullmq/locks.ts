/** The leases behind the tokens of BullMQ: `job.moveToFailed(error, token)` names the token that the processor got. */
export interface Lock {
  readonly token: string;
  /** That of the lease, see fetcher.fetch-and-ack.lua. */
  readonly lease: number;
  /** The processor has moved its job, so its outcome no longer counts. */
  isMoved: boolean;
  /** A child was added while it ran. */
  hasChildren?: boolean;
}

const locks = new Map<string, Lock>();

export const lockKey = (qualifiedName: string, id: string): string => `${qualifiedName}:${id}`;

export function setLock(key: string, token: string, lease: number): Lock {
  const lock: Lock = { token, lease, isMoved: false };
  locks.set(key, lock);
  return lock;
}

export function lockOf(key: string): Lock | undefined {
  return locks.get(key);
}

/** Unless another attempt of the job has begun in this process. */
export function dropLock(key: string, lock: Lock): void {
  if (locks.get(key) === lock) locks.delete(key);
}

/** The kinds of locks that wait in a queue in Redis, each as a lock with one holder, so that one suite serves all. */
import { MultiLock, Mutex, ReadWriteLock, Semaphore } from '@mortise/locks';
import type { AcquireOptions, Lease, LeaseOptions, MultiLease } from '@mortise/locks';
import type { Redis } from 'ioredis';

export type AnyLease = Lease | MultiLease;

/** `permits` is for a Semaphore only. */
type Options = AcquireOptions & { readonly permits?: number };

interface Lock {
  acquire(options?: Options): Promise<AnyLease>;
  tryAcquire(): Promise<AnyLease | null>;
  using<Result>(
    section: (signal: AbortSignal, lease: AnyLease) => Promise<Result> | Result,
    options?: Options,
  ): Promise<Result>;
  renewFor(holder: string, leaseMs?: number): Promise<boolean>;
  releaseFor(holder: string): Promise<boolean>;
}

interface State {
  readonly holder: string | null;
  readonly remainingMs: number;
  readonly queueLength: number;
  readonly position: number | null;
}

/** A lock of any kind, and its state for the suite. */
export interface Subject extends Lock {
  inspect(): Promise<State>;
  /** Takes the lock away from its holder. */
  force(): Promise<boolean>;
}

export interface Kind {
  readonly kind: string;
  readonly make: (client: Redis, name: string, options: LeaseOptions) => Subject;
}

/** The highest of its fencing tokens. */
export function tokenOf(lease: AnyLease): number {
  return 'fencingToken' in lease ? lease.fencingToken : Math.max(...lease.fencingTokens.values());
}

function subject(lock: Lock, more: Pick<Subject, 'inspect' | 'force'>): Subject {
  return {
    acquire: (options) => lock.acquire(options),
    tryAcquire: () => lock.tryAcquire(),
    using: (section, options) => lock.using(section, options),
    renewFor: (holder, leaseMs) => lock.renewFor(holder, leaseMs),
    releaseFor: (holder) => lock.releaseFor(holder),
    ...more,
  };
}

function mutex(client: Redis, name: string, options: LeaseOptions): Subject {
  const lock = new Mutex(client, name, options);
  return subject(lock, { inspect: () => lock.inspect(), force: () => lock.forceRelease() });
}

/** Two locks. Waiters are in the queue of the first one, in the order of the MultiLock. */
function multiLock(client: Redis, name: string, options: LeaseOptions): Subject {
  const lock = new MultiLock(client, [name, `second ${name.slice(0, 1_000)}`], options);
  const mutexes = lock.names.map((each) => new Mutex(client, each, options));
  const force = async (): Promise<boolean> =>
    (await Promise.all(mutexes.map((each) => each.forceRelease()))).every(Boolean);
  return subject(lock, { inspect: () => mutexes[0]!.inspect(), force });
}

function writeSide(client: Redis, name: string, options: LeaseOptions): Subject {
  const { write } = new ReadWriteLock(client, name, options);
  const inspect = async (): Promise<State> => {
    const { writer: holder, ...state } = await write.inspect();
    return { ...state, holder };
  };
  return subject(write, { inspect, force: () => write.forceRelease() });
}

export function semaphoreOf(permits: number): Kind['make'] {
  return (client, name, options) => {
    const lock = new Semaphore(client, name, { ...options, permits });
    const inspect = async (): Promise<State> => {
      const { holders, queueLength, position } = await lock.inspect();
      const { holder = null, remainingMs = 0 } = holders[0] ?? {};
      return { holder, remainingMs, queueLength, position };
    };
    const force = async (): Promise<boolean> => {
      const { holder } = await inspect();
      return holder !== null && lock.releaseFor(holder);
    };
    return subject(lock, { inspect, force });
  };
}

export const KINDS: readonly Kind[] = [
  { kind: 'Mutex', make: mutex },
  { kind: 'MultiLock', make: multiLock },
  { kind: 'ReadWriteLock.write', make: writeSide },
  { kind: 'Semaphore of one permit', make: semaphoreOf(1) },
];

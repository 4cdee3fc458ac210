export type { LeaseEnd } from '@mortise/redis';
export { ClientClosedError, LeaseLostError } from '@mortise/redis';
export type { Telemetry } from '@mortise/redis';
export { CountDownLatch } from './count-down-latch/count-down-latch.js';
export {
  LatchLostError,
  LatchTimeoutError,
  LockReplicasError,
  LockSettingsError,
  LockTimeoutError,
} from './errors.js';
export type { Lease } from './lease/lease.js';
export type { MultiLease } from './multi-lock/multi-lease.js';
export { MultiLock } from './multi-lock/multi-lock.js';
export type { MutexState } from './mutex/mutex.js';
export { Mutex } from './mutex/mutex.js';
export type {
  AcquireOptions,
  AcquirePermitsOptions,
  CountDownLatchOptions,
  CountDownOptions,
  LatchWaitOptions,
  LeaseOptions,
  MultiLockOptions,
  MutexOptions,
  RateLimiterOptions,
  ReadWriteLockOptions,
  ReplicationOptions,
  SemaphoreOptions,
  TryAcquirePermitsOptions,
} from './options.js';
export type { RateLimiterInUse, RateLimiterState, TakeResult } from './rate-limiter/rate-limiter.js';
export { RateLimiter } from './rate-limiter/rate-limiter.js';
export type { LockSide, ReadWriteLockState } from './read-write-lock/lock-side.js';
export { ReadWriteLock } from './read-write-lock/read-write-lock.js';
export type { WriteLease } from './read-write-lock/write-lease.js';
export type { PermitHolder, SemaphoreState } from './semaphore/semaphore.js';
export { Semaphore } from './semaphore/semaphore.js';

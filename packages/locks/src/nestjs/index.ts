export type { LockedOptions } from './locked.js';
export { Locked } from './locked.js';
export type {
  LocksFeature,
  LocksModuleOptions,
  LocksOptionsFactory,
  NamedMultiLockOptions,
  NamedQuorumMutexOptions,
} from './locks.module.js';
export { LocksModule } from './locks.module.js';
export { Locks } from './locks.js';
export {
  getCountDownLatchToken,
  getLocksToken,
  getMultiLockToken,
  getMutexToken,
  getQuorumMutexToken,
  getRateLimiterToken,
  getReadWriteLockToken,
  getSemaphoreToken,
  InjectCountDownLatch,
  InjectLocks,
  InjectMultiLock,
  InjectMutex,
  InjectQuorumMutex,
  InjectRateLimiter,
  InjectReadWriteLock,
  InjectSemaphore,
} from './tokens.js';

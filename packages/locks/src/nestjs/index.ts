export type { LockedOptions } from './locked.js';
export { Locked } from './locked.js';
export type {
  LocksFeature,
  LocksModuleOptions,
  LocksOptionsFactory,
  NamedMultiLockOptions,
} from './locks.module.js';
export { LocksModule } from './locks.module.js';
export { Locks } from './locks.js';
export {
  getCountDownLatchToken,
  getLocksToken,
  getMultiLockToken,
  getMutexToken,
  getRateLimiterToken,
  getReadWriteLockToken,
  getSemaphoreToken,
  InjectCountDownLatch,
  InjectLocks,
  InjectMultiLock,
  InjectMutex,
  InjectRateLimiter,
  InjectReadWriteLock,
  InjectSemaphore,
} from './tokens.js';

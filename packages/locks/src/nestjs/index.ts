export type { LockedOptions } from './locked.js';
export { Locked } from './locked.js';
export type { LocksFeature, LocksModuleOptions, LocksOptionsFactory } from './locks.module.js';
export { LocksModule } from './locks.module.js';
export { Locks } from './locks.js';
export type { LockKind } from './tokens.js';
export {
  getLocksToken,
  getLockToken,
  InjectLocks,
  InjectMutex,
  InjectRateLimiter,
  InjectReadWriteLock,
  InjectSemaphore,
} from './tokens.js';

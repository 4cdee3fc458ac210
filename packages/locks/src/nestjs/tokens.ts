import { featureTokenOf, injectorOf, rootTokenOf } from '@mortise/redis/nestjs';
import { Locks } from './locks.js';

/** The token of a module's `Locks`: the class itself, unless the module has a name. */
export const getLocksToken = rootTokenOf('Locks', Locks);
/** The token of a Mutex of `LocksModule.forFeature`. */
export const getMutexToken = featureTokenOf('Locks', 'mutex');
/** The token of a MultiLock of `LocksModule.forFeature`. */
export const getMultiLockToken = featureTokenOf('Locks', 'multi-lock');
/** The token of a ReadWriteLock of `LocksModule.forFeature`. */
export const getReadWriteLockToken = featureTokenOf('Locks', 'read-write lock');
/** The token of a Semaphore of `LocksModule.forFeature`. */
export const getSemaphoreToken = featureTokenOf('Locks', 'semaphore');
/** The token of a RateLimiter of `LocksModule.forFeature`. */
export const getRateLimiterToken = featureTokenOf('Locks', 'rate limiter');
/** The token of a CountDownLatch of `LocksModule.forFeature`. */
export const getCountDownLatchToken = featureTokenOf('Locks', 'count-down latch');
/** The token of a QuorumMutex of `LocksModule.forFeature`. */
export const getQuorumMutexToken = featureTokenOf('Locks', 'quorum mutex');

/** Injects the `Locks` of a module. For a module without a name, the type `Locks` is enough. */
export const InjectLocks = injectorOf(getLocksToken);
/** Injects a Mutex of `LocksModule.forFeature`. */
export const InjectMutex = injectorOf(getMutexToken);
/** Injects a MultiLock of `LocksModule.forFeature`. */
export const InjectMultiLock = injectorOf(getMultiLockToken);
/** Injects a ReadWriteLock of `LocksModule.forFeature`. */
export const InjectReadWriteLock = injectorOf(getReadWriteLockToken);
/** Injects a Semaphore of `LocksModule.forFeature`. */
export const InjectSemaphore = injectorOf(getSemaphoreToken);
/** Injects a RateLimiter of `LocksModule.forFeature`. */
export const InjectRateLimiter = injectorOf(getRateLimiterToken);
/** Injects a CountDownLatch of `LocksModule.forFeature`. */
export const InjectCountDownLatch = injectorOf(getCountDownLatchToken);
/** Injects a QuorumMutex of `LocksModule.forFeature`. */
export const InjectQuorumMutex = injectorOf(getQuorumMutexToken);

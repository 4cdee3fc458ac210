import { featureToken, rootToken } from '@mortise/redis/nestjs';
import type { InjectionToken } from '@nestjs/common';
import { Inject } from '@nestjs/common';
import { Locks } from './locks.js';

type Decorator = PropertyDecorator & ParameterDecorator;

const token = (kind: string, name: string, module?: string): string =>
  featureToken('Locks', kind, name, module);

/** The token of a module's `Locks`: the class itself, unless the module has a name. */
export function getLocksToken(module?: string): InjectionToken<Locks> {
  return rootToken('Locks', Locks, module);
}

/** The token of a Mutex of `LocksModule.forFeature`. */
export function getMutexToken(name: string, module?: string): string {
  return token('mutex', name, module);
}

/** The token of a MultiLock of `LocksModule.forFeature`. */
export function getMultiLockToken(name: string, module?: string): string {
  return token('multi-lock', name, module);
}

/** The token of a ReadWriteLock of `LocksModule.forFeature`. */
export function getReadWriteLockToken(name: string, module?: string): string {
  return token('read-write lock', name, module);
}

/** The token of a Semaphore of `LocksModule.forFeature`. */
export function getSemaphoreToken(name: string, module?: string): string {
  return token('semaphore', name, module);
}

/** The token of a RateLimiter of `LocksModule.forFeature`. */
export function getRateLimiterToken(name: string, module?: string): string {
  return token('rate limiter', name, module);
}

/** The token of a CountDownLatch of `LocksModule.forFeature`. */
export function getCountDownLatchToken(name: string, module?: string): string {
  return token('count-down latch', name, module);
}

/** Injects the `Locks` of a module. Its type alone injects those of the module without a name. */
export function InjectLocks(module?: string): Decorator {
  return Inject(getLocksToken(module));
}

/** Injects a Mutex of `LocksModule.forFeature`. */
export function InjectMutex(name: string, module?: string): Decorator {
  return Inject(getMutexToken(name, module));
}

/** Injects a MultiLock of `LocksModule.forFeature`. */
export function InjectMultiLock(name: string, module?: string): Decorator {
  return Inject(getMultiLockToken(name, module));
}

/** Injects a ReadWriteLock of `LocksModule.forFeature`. */
export function InjectReadWriteLock(name: string, module?: string): Decorator {
  return Inject(getReadWriteLockToken(name, module));
}

/** Injects a Semaphore of `LocksModule.forFeature`. */
export function InjectSemaphore(name: string, module?: string): Decorator {
  return Inject(getSemaphoreToken(name, module));
}

/** Injects a RateLimiter of `LocksModule.forFeature`. */
export function InjectRateLimiter(name: string, module?: string): Decorator {
  return Inject(getRateLimiterToken(name, module));
}

/** Injects a CountDownLatch of `LocksModule.forFeature`. */
export function InjectCountDownLatch(name: string, module?: string): Decorator {
  return Inject(getCountDownLatchToken(name, module));
}

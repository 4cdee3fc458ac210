import type { InjectionToken } from '@nestjs/common';
import { Inject } from '@nestjs/common';
import { Locks } from './locks.js';

/** What `LocksModule.forFeature` provides. */
export type LockKind = 'mutex' | 'readWriteLock' | 'semaphore' | 'rateLimiter';

/** What the `Locks` of a module are provided as: the class itself, unless the module has a name. */
export function getLocksToken(module?: string): InjectionToken<Locks> {
  return module === undefined ? Locks : `Locks of LocksModule ${JSON.stringify(module)}`;
}

/** What a lock of `forFeature` is provided as; to put another one in its place in a test. Errors of NestJS show it. */
export function getLockToken(kind: LockKind, name: string, module?: string): string {
  const of = module === undefined ? '' : ` of ${JSON.stringify(module)}`;
  return `${kind} ${JSON.stringify(name)} of LocksModule.forFeature${of}`;
}

/** Injects the `Locks` of a module with a name; those of the one without are injected by their type alone. */
export function InjectLocks(module?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getLocksToken(module));
}

/** Injects a Mutex that `LocksModule.forFeature` names. */
export function InjectMutex(name: string, module?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getLockToken('mutex', name, module));
}

/** Injects a ReadWriteLock that `LocksModule.forFeature` names. */
export function InjectReadWriteLock(name: string, module?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getLockToken('readWriteLock', name, module));
}

/** Injects a Semaphore that `LocksModule.forFeature` names. */
export function InjectSemaphore(name: string, module?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getLockToken('semaphore', name, module));
}

/** Injects a RateLimiter that `LocksModule.forFeature` names. */
export function InjectRateLimiter(name: string, module?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getLockToken('rateLimiter', name, module));
}

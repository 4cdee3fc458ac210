import type { InjectionToken } from '@nestjs/common';
import { Inject } from '@nestjs/common';
import { featureToken, rootToken } from '@mortise/redis/nestjs';
import { Caches } from './caches.js';

type InjectDecorator = PropertyDecorator & ParameterDecorator;

/** The token of `Caches`. @param module The name given to `forRoot`. */
export function getCachesToken(module?: string): InjectionToken<Caches> {
  return rootToken('Caches', Caches, module);
}

/** The token of a cache of `forFeature`, for example to replace it in a test. */
export function getCacheToken(name: string, module?: string): string {
  return featureToken('Caches', 'cache', name, module);
}

/** The token of a row cache of `forFeature`. */
export function getRowCacheToken(table: string, module?: string): string {
  return featureToken('Caches', 'row cache', table, module);
}

/** The token of a refresher of `forFeature`. */
export function getRefresherToken(name: string, module?: string): string {
  return featureToken('Caches', 'refresher', name, module);
}

/** Injects `Caches` of a module with a name; without one the type alone injects it. */
export function InjectCaches(module?: string): InjectDecorator {
  return Inject(getCachesToken(module));
}

/** Injects a cache of `forFeature`. */
export function InjectCache(name: string, module?: string): InjectDecorator {
  return Inject(getCacheToken(name, module));
}

/** Injects a row cache of `forFeature`. */
export function InjectRowCache(table: string, module?: string): InjectDecorator {
  return Inject(getRowCacheToken(table, module));
}

/** Injects a refresher of `forFeature`. */
export function InjectRefresher(name: string, module?: string): InjectDecorator {
  return Inject(getRefresherToken(name, module));
}

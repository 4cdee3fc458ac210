import { Inject } from '@nestjs/common';

/** What a cache of `CachesModule` is provided as; to put another one in its place in a test. Errors of NestJS show it. */
export function getCacheToken(name: string): string {
  return `cache ${JSON.stringify(name)} of CachesModule`;
}

/** Injects a cache that `CachesModule` names. */
export function InjectCache(name: string): PropertyDecorator & ParameterDecorator {
  return Inject(getCacheToken(name));
}

/** Injection tokens. Errors of NestJS show them, so they read as descriptions. */
import type { InjectionToken, Type } from '@nestjs/common';

/**
 * The token of a class of `forRoot`: the class itself, so its type is enough to inject it; a text for a module with a name.
 *
 * @param shape The name of the module's class without `Module`: `Locks`.
 * @param module The name that `forRoot` was given.
 */
export function rootToken<Provided>(
  shape: string,
  type: Type<Provided>,
  module?: string,
): InjectionToken<Provided> {
  return module === undefined ? type : `${type.name} of ${moduleText(shape, module)}`;
}

/** The token of an item of `forFeature`, such as `mutex "invoices" of LocksModule`. */
export function featureToken(shape: string, kind: string, name: string, module?: string): string {
  return `${kind} ${JSON.stringify(name)} of ${moduleText(shape, module)}`;
}

/** `LocksModule`, or `LocksModule "billing"`. */
export function moduleText(shape: string, module: string | undefined): string {
  return `${shape}Module${module === undefined ? '' : ` ${JSON.stringify(module)}`}`;
}

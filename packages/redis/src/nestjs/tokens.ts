/** Injection tokens. Errors of NestJS show them, so they read as descriptions. */
import type { InjectionToken, Type } from '@nestjs/common';
import { Inject } from '@nestjs/common';

/**
 * Makes the `get…Token` of a class of `forRoot`. The token is the class itself, so its type is enough to inject it. For a
 * module with a name the token is a text.
 *
 * @param shape The name of the module's class without `Module`: `Locks`.
 */
export function rootTokenOf<Provided>(
  shape: string,
  type: Type<Provided>,
): (module?: string) => InjectionToken<Provided> {
  return (module) => (module === undefined ? type : `${type.name} of ${moduleText(shape, module)}`);
}

/** Makes the `get…Token` of a kind of things of `forFeature`: `mutex "invoices" of LocksModule`. */
export function featureTokenOf(shape: string, kind: string): (name: string, module?: string) => string {
  return (name, module) => `${kind} ${JSON.stringify(name)} of ${moduleText(shape, module)}`;
}

/** Makes the `Inject…` decorator of a `get…Token`; it takes the same arguments. */
export function injectorOf<Args extends (string | undefined)[]>(
  tokenOf: (...args: Args) => InjectionToken,
): (...args: Args) => PropertyDecorator & ParameterDecorator {
  return (...args) => Inject(tokenOf(...args));
}

/** `LocksModule`, or `LocksModule "billing"`. */
export function moduleText(shape: string, module: string | undefined): string {
  return `${shape}Module${module === undefined ? '' : ` ${JSON.stringify(module)}`}`;
}

import type { InjectionToken } from '@nestjs/common';
import { Inject } from '@nestjs/common';

type Method<Args extends unknown[], Result> = (...args: Args) => Promise<Result>;

/**
 * Makes a method decorator that calls `around` in place of the method, with a provider that NestJS injects into the class of
 * the method. `run` calls the method with its own `this` and arguments. The boot fails when no module provides the token. The
 * metadata of other decorators (a route, a guard, a schedule) moves to the new method.
 *
 * @param label Names the property that holds the provider, in errors of NestJS.
 */
export function injectingDecorator<Injected, Args extends unknown[]>(
  label: string,
  token: InjectionToken<Injected>,
  around: (injected: Injected, args: Args, run: () => Promise<unknown>) => Promise<unknown>,
) {
  const property = Symbol(label);
  return <More extends unknown[], Result>(
    prototype: object,
    _key: string | symbol,
    descriptor: TypedPropertyDescriptor<Method<[...Args, ...More], Result>>,
  ): void => {
    const method = descriptor.value!;
    Inject(token)(prototype, property);
    const wrapped = async function (
      this: { readonly [property]: Injected },
      ...args: [...Args, ...More]
    ): Promise<Result> {
      const run = (): Promise<unknown> => method.apply(this, args);
      return around(this[property], args as unknown as Args, run) as Promise<Result>;
    };
    for (const key of Reflect.getOwnMetadataKeys(method)) {
      Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, method), wrapped);
    }
    descriptor.value = Object.defineProperty(wrapped, 'name', { value: method.name });
  };
}

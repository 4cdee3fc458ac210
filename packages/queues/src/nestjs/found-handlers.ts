/** Finds the methods with `@TaskHandler` among the providers of the application. */
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { ContextIdFactory, ModuleRef } from '@nestjs/core';
import type { HandlerMark } from './task-handler.js';
import { marksOf } from './task-handler.js';

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];
/** Called with a payload and a context, or with the tasks of a batch. */
type Call = (...args: unknown[]) => unknown;
type Instance = Readonly<Record<string, Call>>;

export interface FoundHandler extends HandlerMark {
  /** The name in messages, such as `Mails.sold`. */
  readonly place: string;
  readonly call: Call;
}

export function findHandlers(discovery: DiscoveryService, scanner: MetadataScanner): FoundHandler[] {
  const seen = new Set<unknown>();
  return discovery.getProviders().flatMap((wrapper) => {
    const isLasting = !wrapper.isTransient && wrapper.isDependencyTreeStatic();
    // The result of a request-scoped factory has no class to inspect, nor does an alias of it.
    if (!isLasting && wrapper.isNotMetatype) return [];
    const instance = isLasting ? (wrapper.instance as Instance) : undefined;
    const prototype = (isLasting ? prototypeOf(instance) : wrapper.metatype!.prototype) as Instance | null;
    // An instance may be provided under several tokens (`useExisting`).
    const identity = instance ?? wrapper;
    if (!prototype || seen.has(identity)) return [];
    seen.add(identity);
    const callOf = (key: string): Call =>
      instance ? (...args) => instance[key]!(...args) : callAnew(wrapper, key);
    return scanner.getAllMethodNames(prototype).flatMap((key) =>
      marksOf(prototype[key]!).map((mark) => ({
        ...mark,
        place: `${prototype.constructor.name}.${key}`,
        call: callOf(key),
      })),
    );
  });
}

function prototypeOf(instance: unknown): unknown {
  return typeof instance === 'object' && instance !== null ? Object.getPrototypeOf(instance) : null;
}

/** Makes a transient or request-scoped provider for each call, in the module that provides it. */
function callAnew({ host, token }: Wrapper, key: string): Call {
  const moduleRef = host!.getProviderByKey<ModuleRef>(ModuleRef).instance;
  return async (...args) => {
    const contextId = ContextIdFactory.create();
    moduleRef.registerRequestByContextId(args.at(-1), contextId);
    const instance = await moduleRef.resolve<Instance>(token as string, contextId, { strict: true });
    return instance[key]!(...args);
  };
}

/**
 * The one shape of all NestJS modules of Mortise: `forRoot` and `forRootAsync` take the client and the options once and provide
 * their classes, and things by name, to the whole application; `forFeature` provides things by name to one module. A package writes
 *
 *     const feature: FeatureShape<LocksFeature, Locks> = {
 *       name: 'Locks',
 *       root: getLocksToken,
 *       kinds: { mutexes: { token: getMutexToken, make: (locks, name, options) => locks.mutex(name, options) } },
 *     };
 *
 *     \@Module({})
 *     export class LocksModule extends rootModule<LocksModuleOptions, 'Locks', LocksFeature, Locks>({ … }) {
 *       static forFeature(named: LocksFeature, module?: string): DynamicModule {
 *         return featureModule(LocksModule, feature, named, module);
 *       }
 *     }
 */
import type {
  ConfigurableModuleCls,
  DynamicModule,
  FactoryProvider,
  InjectionToken,
  ModuleMetadata,
  Type,
} from '@nestjs/common';
import { ConfigurableModuleBuilder } from '@nestjs/common';
import { ArgumentRangeError, ArgumentTypeError } from '../argument-error.js';
import { requireKnown, requireObject } from '../require.js';
import type { WithClient } from './module-client.js';
import { OpenedOptions } from './module-client.js';
import { moduleText } from './tokens.js';

/** Passed beside the options of `forRoot` and `forRootAsync`. */
export interface ModuleExtras<Feature> {
  /** Distinguishes several modules of an application; tokens and decorators take it. Default: none. */
  readonly name?: string | undefined;
  /** The same as the argument of `forFeature`, but for the whole application. Default: none. */
  readonly feature?: Feature | undefined;
}

/** A provider made from the options of `forRoot` and other providers. */
export interface RootProvider<Options> {
  readonly token: InjectionToken;
  readonly inject?: readonly InjectionToken[];
  // oxlint-disable-next-line typescript/no-explicit-any -- the injected providers, in their order
  readonly make: (options: WithClient<Options>, ...injected: any[]) => unknown;
  /** Other modules cannot inject it. */
  readonly isInternal?: boolean;
}

/** The things of one field of a feature, by name. */
export interface FeatureKind<Root, Options> {
  readonly token: (name: string, module?: string) => InjectionToken;
  /** Providers for `make` beside the root. */
  readonly inject?: (options: Options, module?: string) => readonly InjectionToken[];
  // oxlint-disable-next-line typescript/no-explicit-any -- the injected providers, in their order
  readonly make: (root: Root, name: string, options: Options, ...injected: any[]) => unknown;
  /** Other modules cannot inject it. */
  readonly isInternal?: boolean;
}

type OptionsOf<Field> = NonNullable<Field> extends Readonly<Record<string, infer Options>> ? Options : never;

export interface FeatureShape<Feature, Root> {
  /** The name of the module's class without `Module`. */
  readonly name: string;
  /** The token of the provider of `forRoot` that makes the things. */
  readonly root: (module?: string) => InjectionToken<Root>;
  /** By the field of the feature; several kinds of one field make several providers for each name. */
  readonly kinds: {
    readonly [Field in keyof Feature]-?:
      | FeatureKind<Root, OptionsOf<Feature[Field]>>
      | readonly FeatureKind<Root, OptionsOf<Feature[Field]>>[];
  };
}

export interface ModuleShape<Options, Shape extends string, Feature extends object = object, Root = unknown> {
  /** The name of the class without `Module`. A factory of `forRootAsync` has the method `create<Name>Options`. */
  readonly name: Shape;
  /** The known options. Default: not checked here, but by their consumer. */
  readonly known?: ReadonlySet<string>;
  readonly imports?: ModuleMetadata['imports'];
  /** The things that `forRoot` may provide by name. Default: none. */
  readonly feature?: FeatureShape<Feature, Root>;
  /** @param module The name that `forRoot` was given. */
  readonly provide: (module: string | undefined) => readonly RootProvider<Options>[];
}

/**
 * The base class of a module, with `forRoot` and `forRootAsync` (`useFactory` with `inject` and `imports`, `useClass`,
 * `useExisting`). Its providers are global. They get a client in place of the option `url`. A provider that throws fails the
 * boot, with the name of the module in the error.
 */
export function rootModule<
  Options extends object,
  Shape extends string,
  Feature extends object = never,
  Root = never,
>({
  name: shape,
  known,
  imports = [],
  feature: named,
  provide,
}: ModuleShape<Options, Shape, Feature, Root>): ConfigurableModuleCls<
  Options,
  'forRoot',
  `create${Shape}Options`,
  ModuleExtras<Feature>
> {
  const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<Options>({
    moduleName: shape,
  })
    .setClassMethodName('forRoot')
    .setFactoryMethodName(`create${shape}Options`)
    .setExtras<ModuleExtras<Feature>>({ name: undefined, feature: undefined }, (definition, extras) => {
      const { name, feature } = extras;
      const provided = provide(name);
      const label = moduleText(shape, name);
      const opened: FactoryProvider = {
        provide: OpenedOptions,
        inject: [MODULE_OPTIONS_TOKEN],
        useFactory: naming(label, (options: Options) => {
          requireObject('options', options);
          return new OpenedOptions(label, known ? requireKnown(`${shape}Module`, options, known) : options);
        }),
      };
      const providers = provided.map(({ token, inject = [], make }): FactoryProvider => ({
        provide: token,
        inject: [OpenedOptions, ...inject],
        useFactory: naming(label, ({ options }: OpenedOptions<Options>, ...injected: unknown[]) =>
          make(options, ...injected),
        ),
      }));
      const things =
        named && feature ? featureProviders(`${label}.forRoot`, named, feature, name) : undefined;
      return {
        ...definition,
        global: true,
        imports: [...(definition.imports ?? []), ...imports],
        providers: [...(definition.providers ?? []), opened, ...providers, ...(things?.providers ?? [])],
        exports: [...exportsOf(provided), ...(things?.exports ?? [])],
      };
    })
    .build();
  return ConfigurableModuleClass;
}

/**
 * The return value of `forFeature`. Throws TypeError for a feature that is not an object and for an unknown field. A provider
 * that throws fails the boot. Both errors name the module.
 *
 * @param feature Options by name, in the fields of the shape.
 * @param module The name that `forRoot` was given.
 */
export function featureModule<Feature extends object, Root>(
  type: Type,
  shape: FeatureShape<Feature, Root>,
  feature: Feature,
  module?: string,
): DynamicModule {
  const label = `${moduleText(shape.name, module)}.forFeature`;
  return { module: type, ...featureProviders(label, shape, feature, module) };
}

function featureProviders<Feature extends object, Root>(
  label: string,
  shape: FeatureShape<Feature, Root>,
  feature: Feature,
  module: string | undefined,
): Required<Pick<DynamicModule, 'providers' | 'exports'>> {
  const { root, kinds } = shape as unknown as FeatureShape<Named, unknown>;
  requireKnown(label, requireObject(`${label}: feature`, feature), new Set(Object.keys(kinds)));
  const provided = Object.entries(kinds).flatMap(([field, kind]) => {
    const { [field]: named = {} } = feature as Named;
    return Object.entries(requireObject(`${label}: ${field}`, named)).flatMap(([name, options]) => {
      requireObject(`${label}: ${field}[${JSON.stringify(name)}]`, options);
      return [kind].flat().map(({ token, inject, make, isInternal = false }) => ({
        token: token(name, module),
        isInternal,
        inject: [root(module), ...(inject?.(options, module) ?? [])],
        make: (owner: unknown, ...injected: unknown[]) => make(owner, name, options, ...injected),
      }));
    });
  });
  const providers = provided.map(({ token, inject, make }): FactoryProvider => ({
    provide: token,
    inject,
    useFactory: naming(label, make),
  }));
  return { providers, exports: exportsOf(provided) };
}

/** Any feature. */
type Named = Readonly<Record<string, Readonly<Record<string, object>>>>;

function exportsOf(provided: readonly Pick<RootProvider<never>, 'token' | 'isInternal'>[]): InjectionToken[] {
  return provided.filter(({ isInternal }) => isInternal !== true).map(({ token }) => token);
}

/** A failed boot shows only the message of an error. */
function naming<Args extends unknown[]>(
  where: string,
  make: (...args: Args) => unknown,
): (...args: Args) => Promise<unknown> {
  return async (...args) => {
    try {
      return await make(...args);
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
      const Misuse = error instanceof RangeError ? ArgumentRangeError : ArgumentTypeError;
      throw new Misuse(`${where}: ${error.message}`, { cause: error });
    }
  };
}

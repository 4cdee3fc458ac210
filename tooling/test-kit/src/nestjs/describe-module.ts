/** The contract of the NestJS modules of all packages, driven by a table of each. */
import 'reflect-metadata';
import { describe, expect, test } from '@jest/globals';
import type { DynamicModule, InjectionToken, Type } from '@nestjs/common';
import { Injectable, Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { connect } from '../connect.js';
import { freshPrefix } from '../fresh-prefix.js';
import { boot } from './boot.js';

// oxlint-disable-next-line typescript/no-explicit-any -- modules and classes with any options
type Any = any;

/** A provider of a module: its class, its token, and the decorator that injects it. */
export type Provided = readonly [
  type: abstract new (...args: Any[]) => object,
  getToken: (module?: string) => InjectionToken,
  inject: (module?: string) => (target: object, key: string | symbol | undefined, index: number) => void,
];

export interface ModuleContract {
  readonly module: Type & {
    forRoot(options: Any): DynamicModule;
    forRootAsync(options: Any): DynamicModule;
    forFeature?(feature: Any, module?: string): DynamicModule;
  };
  /** The providers of `forRoot`; their types alone also inject them. */
  readonly provided: readonly Provided[];
  /** Options of `forRoot` beside `redis`, the class of the error, and its message after the module's name. */
  readonly refused: readonly (readonly [options: object, Misuse: typeof TypeError, message: string])[];
  readonly feature?: {
    /** An argument of `forFeature` with all kinds of things, and these things. */
    readonly given: object;
    readonly provided: readonly Provided[];
    /** Arguments that fail the boot. */
    readonly refused: readonly (readonly [feature: object, message: string])[];
  };
}

/** Tests of `forRoot`, `forRootAsync` and `forFeature`. The package itself tests what its providers do. */
export function describeModule({ module, provided, refused, feature }: ModuleContract): void {
  const withoutClient = 'redis must be a Redis or Cluster instance of ioredis 5.4 or later';
  const redis = connect();
  const options = () => ({ redis, prefix: freshPrefix() });

  describe(`${module.name}.forRoot`, () => {
    test('provides its classes to the whole application, by decorator, token and type', async () => {
      const objects = await injected(provided, { roots: [module.forRoot(options())], byType: true });
      expect(objects).toEqual(instancesOf([...provided, ...provided]));
      const half = provided.length;
      for (let index = 0; index < half; index += 1) expect(objects[index]).toBe(objects[half + index]);
    });

    test('leaves the client open at the end', async () => {
      const own = connect();
      const app = await boot({ imports: [module.forRoot({ ...options(), redis: own })] });
      await app.close();
      expect(await own.ping()).toBe('PONG');
    });

    test('takes a URL in place of a client', async () => {
      const url = process.env['MORTISE_TEST_REDIS'];
      const roots = [module.forRoot({ url, prefix: freshPrefix() })];
      expect(await injected(provided, { roots })).toEqual(instancesOf(provided));
    });

    test('several modules differ by their names', async () => {
      const roots = [module.forRoot(options()), module.forRoot({ ...options(), name: 'other' })];
      const unnamed = await injected(provided, { roots });
      const named = await injected(provided, { roots, name: 'other' });
      expect(named).toEqual(instancesOf(provided));
      for (const [index, object] of named.entries()) expect(object).not.toBe(unnamed[index]);
      for (const each of provided) {
        const missing = injected([each], { roots, name: 'missing' });
        await expect(missing).rejects.toThrow(String(each[1]('missing')));
      }
    });

    test.each<readonly [object, typeof TypeError, string]>([
      [{ redis: undefined }, TypeError, withoutClient],
      [{ redis: 'redis://127.0.0.1' }, TypeError, 'redis must be a Redis or Cluster instance'],
      [{ url: 'redis://127.0.0.1' }, TypeError, 'redis and url exclude each other'],
      [{ prefix: '' }, RangeError, 'prefix must have 1 to 1024 bytes, got 0'],
      ...refused,
    ])('lets the boot fail for %j', async (wrong, Misuse, message) => {
      for (const [name, text] of [
        [{}, module.name],
        [{ name: 'second' }, `${module.name} "second"`],
      ] as const) {
        const booting = boot({ imports: [module.forRoot({ ...options(), ...wrong, ...name })] });
        await expect(booting).rejects.toBeInstanceOf(Misuse);
        await expect(booting).rejects.toThrow(`${text}: ${message}`);
      }
    });
  });

  describe(`${module.name}.forRootAsync`, () => {
    class RedisModule {}
    Module({ providers: [{ provide: 'redis', useValue: redis }], exports: ['redis'] })(RedisModule);
    class Factory {}
    Reflect.set(Factory.prototype, `create${module.name.replace(/Module$/, '')}Options`, options);
    Injectable()(Factory);
    class FactoryModule {}
    Module({ providers: [Factory], exports: [Factory] })(FactoryModule);

    const useFactory = async (client: Redis) => ({ ...options(), redis: client });
    test.each<readonly [string, object]>([
      ['useFactory', { imports: [RedisModule], inject: ['redis'], useFactory }],
      ['useClass', { useClass: Factory }],
      ['useExisting', { imports: [FactoryModule], useExisting: Factory }],
    ])('takes its options from %s', async (_how, given) => {
      const objects = await injected(provided, { roots: [module.forRootAsync(given)] });
      expect(objects).toEqual(instancesOf(provided));
    });

    test('lets the boot fail when the factory gives no client or throws', async () => {
      const without = module.forRootAsync({ useFactory: () => ({}) });
      await expect(boot({ imports: [without] })).rejects.toThrow(`${module.name}: ${withoutClient}`);
      const failure = new Error('no configuration');
      const throwing = module.forRootAsync({ useFactory: () => Promise.reject(failure) });
      await expect(boot({ imports: [throwing] })).rejects.toBe(failure);
    });
  });

  if (feature) describeFeature(module, options, feature);
}

function describeFeature(
  module: ModuleContract['module'],
  options: () => object,
  feature: NonNullable<ModuleContract['feature']>,
): void {
  describe(`${module.name}.forFeature`, () => {
    test.each([undefined, 'other'])('provides things by name, of the module %s', async (name) => {
      const roots = [module.forRoot({ ...options(), name })];
      const features = [module.forFeature!(feature.given, name)];
      const objects = await injected(feature.provided, { roots, features, name });
      expect(objects).toEqual(instancesOf(feature.provided));
    });

    test.each([undefined, 'other'])(
      'forRoot provides them to all modules, with the name %s',
      async (name) => {
        const roots = [module.forRoot({ ...options(), name, feature: feature.given })];
        const objects = await injected(feature.provided, { roots, name });
        expect(objects).toEqual(instancesOf(feature.provided));
      },
    );

    test('is needed for each thing that is injected', async () => {
      for (const each of feature.provided) {
        const booting = injected([each], { roots: [module.forRoot(options())] });
        await expect(booting).rejects.toThrow(String(each[1]()));
      }
    });

    test.each<readonly [object, string]>([
      [{ unknownKind: {} }, 'forFeature has no option "unknownKind"'],
      ...feature.refused,
    ])('lets the boot fail for %j', async (wrong, message) => {
      const booting = async () => boot({ imports: [module.forRoot(options()), module.forFeature!(wrong)] });
      await expect(booting()).rejects.toThrow(message);
    });
  });
}

/** The things that a provider is given by decorators, and after them by type, in a module below the root. */
async function injected(
  things: readonly Provided[],
  {
    roots,
    features = [],
    name,
    byType = false,
  }: {
    readonly roots: readonly DynamicModule[];
    readonly features?: readonly DynamicModule[];
    readonly name?: string | undefined;
    readonly byType?: boolean;
  },
): Promise<readonly object[]> {
  class Consumer {
    readonly given: readonly object[];
    constructor(...given: object[]) {
      this.given = given;
    }
  }
  Injectable()(Consumer);
  const types = byType ? things.map(([type]) => type) : [];
  Reflect.defineMetadata('design:paramtypes', [...things.map(() => Object), ...types], Consumer);
  for (const [index, [, , inject]] of things.entries()) inject(name)(Consumer, undefined, index);
  class Inner {}
  Module({ imports: [...features], providers: [Consumer] })(Inner);
  const app = await boot({ imports: [...roots, Inner] });
  const { given } = app.get(Consumer, { strict: false });
  for (const [index, [, getToken]] of things.entries()) {
    expect(app.get(getToken(name), { strict: false })).toBe(given[index]);
  }
  return given;
}

function instancesOf(things: readonly Provided[]): unknown[] {
  return things.map(([type]) => expect.any(type));
}

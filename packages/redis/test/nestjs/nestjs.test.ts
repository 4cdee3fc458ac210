import { describe, expect, jest, test } from '@jest/globals';
import type { DynamicModule, INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { Injectable, Logger, Module, SetMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { RedisClient } from '../../src/index.js';
import { requireName } from '../../src/index.js';
import {
  featureModule,
  featureTokenOf,
  injectingDecorator,
  injectorOf,
  rootModule,
  rootTokenOf,
  withDefaults,
} from '../../src/nestjs/index.js';
import type { FeatureShape, ModuleClient } from '../../src/nestjs/index.js';

/** The module of a package of shelves, as a package writes it. */
interface ShelvesOptions {
  readonly prefix?: string | undefined;
  readonly isStrict?: boolean | undefined;
}

class Shelves {
  constructor(readonly options: ShelvesOptions) {
    requireName('prefix', options.prefix);
  }
}

class Labels {
  constructor(readonly shelves: Shelves) {}
}

const getShelvesToken = rootTokenOf('Shelves', Shelves);
const getLabelsToken = rootTokenOf('Shelves', Labels);
const getShelfToken = featureTokenOf('Shelves', 'shelf');
const getBoxToken = featureTokenOf('Shelves', 'box');
const InjectShelf = injectorOf(getShelfToken);
const InjectShelves = injectorOf(getShelvesToken);

class Shelf {
  constructor(
    readonly shelves: Shelves,
    readonly name: string,
    readonly width: number,
  ) {}
}

class Box {
  constructor(
    readonly name: string,
    readonly shelves: readonly Shelf[],
  ) {}
}

interface ShelvesFeature {
  readonly named?: Readonly<Record<string, { readonly width: number }>>;
  readonly boxes?: Readonly<Record<string, { readonly on: readonly string[] }>>;
}

const feature: FeatureShape<ShelvesFeature, Shelves> = {
  name: 'Shelves',
  root: getShelvesToken,
  kinds: {
    named: {
      token: getShelfToken,
      make: (shelves, name, { width }) => new Shelf(shelves, requireName('shelf', name), width),
    },
    boxes: [
      {
        token: getBoxToken,
        inject: ({ on }, module) => on.map((shelf) => getShelfToken(shelf, module)),
        make: (_, name, _options, ...shelves: Shelf[]) => new Box(name, shelves),
      },
      {
        token: (name, module) => `${getBoxToken(name, module)}, label`,
        make: (_, name) => `label of ${name}`,
        isInternal: true,
      },
    ],
  },
};

@Module({})
class ShelvesModule extends rootModule<ShelvesOptions, 'Shelves', ShelvesFeature, Shelves>({
  name: 'Shelves',
  feature,
  known: new Set(['prefix', 'isStrict']),
  provide: (module) => [
    { token: getShelvesToken(module), make: (options) => new Shelves(options) },
    {
      token: getLabelsToken(module),
      inject: [getShelvesToken(module)],
      make: (_, shelves: Shelves) => new Labels(shelves),
      isInternal: true,
    },
  ],
}) {
  static forFeature(named: ShelvesFeature, module?: string): DynamicModule {
    return featureModule(ShelvesModule, feature, named, module);
  }
}

async function boot(...imports: NonNullable<ModuleMetadata['imports']>): Promise<INestApplicationContext> {
  @Module({ imports })
  class App {}
  return NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
}

describe('forRoot', () => {
  test('provides its classes to the whole application, by their types', async () => {
    @Injectable()
    class Inner {
      constructor(readonly shelves: Shelves) {}
    }
    @Module({ providers: [Inner] })
    class InnerModule {}
    const app = await boot(ShelvesModule.forRoot({ prefix: 'a', isStrict: true }), InnerModule);
    const { shelves } = app.get(Inner, { strict: false });
    expect(shelves.options).toEqual({ prefix: 'a', isStrict: true });
    expect(app.get(Labels, { strict: false }).shelves).toBe(shelves);
  });

  test('keeps an internal provider to itself', async () => {
    @Injectable()
    class Inner {
      constructor(readonly labels: Labels) {}
    }
    @Module({ providers: [Inner] })
    class InnerModule {}
    await expect(boot(ShelvesModule.forRoot({ prefix: 'a' }), InnerModule)).rejects.toThrow(/Labels/);
  });

  test('several modules differ by name', async () => {
    const app = await boot(
      ShelvesModule.forRoot({ prefix: 'a' }),
      ShelvesModule.forRoot({ prefix: 'b', name: 'other' }),
      ShelvesModule.forFeature({ named: { top: { width: 1 } } }, 'other'),
    );
    const [one, other] = [app.get(getShelvesToken()), app.get(getShelvesToken('other'))];
    expect([one.options.prefix, other.options.prefix]).toEqual(['a', 'b']);
    expect(getShelvesToken('other')).toBe('Shelves of ShelvesModule "other"');
    expect(app.get<Shelf>(getShelfToken('top', 'other')).shelves).toBe(other);
  });

  test('provides things by name to the whole application', async () => {
    @Injectable()
    class Inner {
      constructor(@InjectShelf('top', 'other') readonly top: Shelf) {}
    }
    @Module({ providers: [Inner] })
    class InnerModule {}
    const given = { named: { top: { width: 5 } } };
    const app = await boot(
      ShelvesModule.forRoot({ prefix: 'a', name: 'other', feature: given }),
      ShelvesModule.forRootAsync({ useFactory: () => ({ prefix: 'b' }), feature: given }),
      InnerModule,
    );
    const { top } = app.get(Inner, { strict: false });
    expect([top.name, top.width, top.shelves.options]).toEqual(['top', 5, { prefix: 'a' }]);
    const unnamed = app.get<Shelf>(getShelfToken('top'), { strict: false });
    expect(unnamed.shelves.options).toEqual({ prefix: 'b' });
  });

  test('refuses an unknown kind of things', () => {
    const unknown = { shelf: {} } as ShelvesFeature;
    expect(() => ShelvesModule.forRoot({ prefix: 'a', feature: unknown })).toThrow(
      'ShelvesModule.forRoot has no option "shelf"; there are named, boxes',
    );
  });

  test.each([
    ['an option that cannot be used', {}, TypeError, 'ShelvesModule: prefix must be a string, got undefined'],
    [
      'of a module with a name',
      { prefix: '', name: 'other' },
      RangeError,
      'ShelvesModule "other": prefix must have 1 to 1024 bytes, got 0',
    ],
    [
      'an unknown option',
      { prefx: 'a' },
      TypeError,
      'ShelvesModule: ShelvesModule has no option "prefx"; there are prefix, isStrict',
    ],
  ])('lets the boot fail for %s', async (_, options, Misuse, message) => {
    const booting = boot(ShelvesModule.forRoot(options as ShelvesOptions));
    await expect(booting).rejects.toThrow(Misuse);
    await expect(booting).rejects.toMatchObject({ code: 'ERR_INVALID_ARG', message });
  });
});

describe('forRootAsync', () => {
  @Module({ providers: [{ provide: 'PREFIX', useValue: 'a' }], exports: ['PREFIX'] })
  class Settings {}

  @Injectable()
  class Factory {
    createShelvesOptions(): ShelvesOptions {
      return { prefix: 'a' };
    }
  }

  test.each([
    [
      'useFactory',
      ShelvesModule.forRootAsync({
        imports: [Settings],
        inject: ['PREFIX'],
        useFactory: async (prefix: string) => ({ prefix }),
      }),
    ],
    ['useClass', ShelvesModule.forRootAsync({ useClass: Factory })],
  ])('takes a factory of the options: %s', async (_, module) => {
    const app = await boot(module);
    expect(app.get(Shelves, { strict: false }).options).toEqual({ prefix: 'a' });
  });

  test('lets the boot fail with the error of the factory, and for options that are no object', async () => {
    const failure = new Error('no such secret');
    const failing = ShelvesModule.forRootAsync({ useFactory: () => Promise.reject(failure) });
    await expect(boot(failing)).rejects.toBe(failure);
    const empty = ShelvesModule.forRootAsync({ useFactory: () => undefined as never });
    await expect(boot(empty)).rejects.toThrow('ShelvesModule: options must be an object, got undefined');
  });
});

describe('the client of a URL', () => {
  class Shop {
    constructor(readonly redis: RedisClient) {}
  }

  @Module({})
  class ShopModule extends rootModule<ModuleClient, 'Shop'>({
    name: 'Shop',
    known: new Set(['redis', 'url']),
    provide: () => [{ token: Shop, make: ({ redis }) => new Shop(redis) }],
  }) {}

  test('is closed when the application has shut down', async () => {
    const app = await boot(ShopModule.forRoot({ url: process.env['MORTISE_TEST_REDIS']! }));
    const { redis } = app.get(Shop, { strict: false });
    expect(await redis.call('PING', [])).toBe('PONG');
    await app.close();
    await expect(redis.call('PING', [])).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
  });

  test.each([
    [{ url: 5 }, 'ShopModule: url must be a string, got number'],
    [{ url: 'http://127.0.0.1' }, 'ShopModule: redis must be a client, or a URL such as'],
  ])('lets the boot fail for %j', async (options, message) => {
    await expect(boot(ShopModule.forRoot(options as ModuleClient))).rejects.toThrow(message);
  });

  test('logs a failure of the connection once', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    const app = await boot(ShopModule.forRoot({ url: 'redis://127.0.0.1:1' }));
    const { redis } = app.get(Shop, { strict: false });
    const failed = new Promise<void>((resolve) => {
      let failures = 0;
      redis.on('error', () => {
        failures += 1;
        if (failures === 2) resolve();
      });
    });
    const pinged = redis.call('PING', []).catch((error: unknown) => error);
    await failed;
    expect(warn.mock.calls).toEqual([['redis: connect ECONNREFUSED 127.0.0.1:1']]);
    await app.close();
    expect(await pinged).toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
    warn.mockRestore();
  });
});

describe('forFeature', () => {
  const root = ShelvesModule.forRoot({ prefix: 'a' });

  test('provides things by name to the module that imports it', async () => {
    @Injectable()
    class Inner {
      constructor(
        @InjectShelf('top') readonly top: Shelf,
        @InjectShelves() readonly shelves: Shelves,
      ) {}
    }
    const named = { top: { width: 5 }, low: { width: 6 } };
    @Module({ imports: [ShelvesModule.forFeature({ named })], providers: [Inner] })
    class InnerModule {}
    const app = await boot(root, InnerModule);
    const { top, shelves } = app.get(Inner, { strict: false });
    expect(top).toMatchObject({ name: 'top', width: 5, shelves });
    expect(shelves).toBe(app.get(Shelves, { strict: false }));
  });

  test('makes things from things of the same feature, and several for one name', async () => {
    const named = { top: { width: 1 }, low: { width: 2 } };
    const app = await boot(root, ShelvesModule.forFeature({ named, boxes: { big: { on: ['low', 'top'] } } }));
    const box = app.get<Box>(getBoxToken('big'));
    expect(box.shelves.map(({ name }) => name)).toEqual(['low', 'top']);
    expect(app.get(`${getBoxToken('big')}, label`)).toBe('label of big');
  });

  test('keeps an internal provider to itself', () => {
    const { exports } = ShelvesModule.forFeature({ boxes: { big: { on: [] } } });
    expect(exports).toEqual([getBoxToken('big')]);
  });

  test('lets the boot fail for a name that cannot be one', async () => {
    const booting = boot(root, ShelvesModule.forFeature({ named: { '': { width: 1 } } }));
    await expect(booting).rejects.toThrow('ShelvesModule.forFeature: shelf must have 1 to 1024 bytes, got 0');
  });

  test.each([
    [undefined, 'ShelvesModule "other".forFeature: feature must be an object, got undefined'],
    [{ named: 5 }, 'ShelvesModule "other".forFeature: named must be an object, got number'],
    [{ named: { a: null } }, 'ShelvesModule "other".forFeature: named["a"] must be an object, got null'],
    [{ shelf: {} }, 'ShelvesModule "other".forFeature has no option "shelf"; there are named, boxes'],
  ])('refuses %j', (named, message) => {
    expect(() => ShelvesModule.forFeature(named as never, 'other')).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARG', message }),
    );
  });
});

describe('injectingDecorator', () => {
  const Shelved = (suffix: string) =>
    injectingDecorator('shelves of @Shelved', getShelvesToken(), async (shelves, args: [string], run) => {
      const result = await run();
      return [shelves.options.prefix, ...args, result, suffix].join(' ');
    });

  @Injectable()
  class Clerk {
    readonly greeting = 'hello';

    @SetMetadata('below', 1)
    @Shelved('!')
    @SetMetadata('above', 2)
    async greet(name: string, times = 1): Promise<string> {
      return `${this.greeting} ${name}`.repeat(times);
    }
  }

  @Module({ providers: [Clerk] })
  class ClerkModule {}

  test('calls the function in place of the method, with the provider', async () => {
    const app = await boot(ShelvesModule.forRoot({ prefix: 'a' }), ClerkModule);
    expect(await app.get(Clerk, { strict: false }).greet('ann')).toBe('a ann hello ann !');
  });

  test('keeps the name and the metadata of the method', () => {
    const greet = Reflect.get(Clerk.prototype, 'greet') as () => unknown;
    expect(greet.name).toBe('greet');
    expect(Reflect.getMetadata('below', greet)).toBe(1);
    expect(Reflect.getMetadata('above', greet)).toBe(2);
  });

  test('lets the boot fail without the module', async () => {
    await expect(boot(ClerkModule)).rejects.toThrow(/Shelves/);
  });
});

test('withDefaults: an option that is undefined is not given', () => {
  expect(withDefaults({ a: 1, b: 2, c: undefined }, { a: undefined, b: 3, d: undefined })).toEqual({
    a: 1,
    b: 3,
  });
  expect(withDefaults(undefined, undefined)).toEqual({});
});

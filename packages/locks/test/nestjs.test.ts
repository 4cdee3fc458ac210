import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import {
  CountDownLatch,
  LockTimeoutError,
  MultiLock,
  Mutex,
  RateLimiter,
  ReadWriteLock,
  Semaphore,
} from '@mortise/locks';
import type { LocksModuleOptions, LocksOptionsFactory } from '@mortise/locks/nestjs';
import {
  getLocksToken,
  getMutexToken,
  InjectCountDownLatch,
  InjectLocks,
  InjectMultiLock,
  InjectMutex,
  InjectRateLimiter,
  InjectReadWriteLock,
  InjectSemaphore,
  Locked,
  Locks,
  LocksModule,
} from '@mortise/locks/nestjs';
import { connect, freshPrefix } from '@mortise/test-kit';
import type { INestApplicationContext, ModuleMetadata, Type } from '@nestjs/common';
import { Injectable, Module, Scope, SetMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Redis } from 'ioredis';

const redis = connect();
const REDIS = 'redis';

async function boot(metadata: ModuleMetadata): Promise<INestApplicationContext> {
  @Module(metadata)
  class App {}
  return NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
}

/** What the application gives for the class that it consists of. */
async function run<Instance>(
  service: Type<Instance>,
  ...imports: NonNullable<ModuleMetadata['imports']>
): Promise<Instance> {
  return (await boot({ imports, providers: [service] })).get(service);
}

describe('LocksModule.forRoot', () => {
  test('provides Locks to the whole application, by type and by decorator', async () => {
    @Injectable()
    class Inner {
      constructor(
        readonly byType: Locks,
        @InjectLocks() readonly byDecorator: Locks,
      ) {}
    }
    @Module({ providers: [Inner] })
    class InnerModule {}
    const app = await boot({ imports: [LocksModule.forRoot({ redis }), InnerModule] });
    const inner = app.get(Inner, { strict: false });
    expect(inner.byType).toBeInstanceOf(Locks);
    expect(inner.byDecorator).toBe(inner.byType);
    expect(app.get(getLocksToken())).toBe(inner.byType);
  });

  test('sends nothing at boot and leaves the client open at the end', async () => {
    const own = connect();
    const app = await boot({ imports: [LocksModule.forRoot({ redis: own, prefix: freshPrefix() })] });
    const lease = await app.get(Locks).mutex('lock').acquire();
    await app.close();
    expect(lease.isValid).toBe(true);
    expect(await lease.release()).toBe(true);
    expect(own.status).toBe('ready');
  });

  test.each([
    [{}, TypeError, 'LocksModule: redis must be a Redis or Cluster instance of ioredis 5.4 or later'],
    [{ redis: 'redis://127.0.0.1' }, TypeError, 'LocksModule: redis must be a Redis or Cluster instance'],
    [
      { redis, leaseMs: 0 },
      RangeError,
      'LocksModule: leaseMs must be a whole number from 10 to 86400000, got 0',
    ],
    [{ redis, fair: 'yes' }, TypeError, 'LocksModule: fair must be true or false, got string'],
    [{ redis, prefix: '' }, RangeError, 'LocksModule: prefix must have 1 to 1024 bytes, got 0'],
    [{ redis, name: 'second', maxHoldMs: 1 }, RangeError, 'LocksModule "second": maxHoldMs must be from'],
  ])('lets the boot fail for what cannot be used: %#', async (options, Misuse, message) => {
    const booted = boot({ imports: [LocksModule.forRoot(options as LocksModuleOptions)] });
    await expect(booted).rejects.toThrow(message);
    await expect(booted).rejects.toBeInstanceOf(Misuse);
  });
});

describe('LocksModule.forRootAsync', () => {
  @Module({ providers: [{ provide: REDIS, useValue: redis }], exports: [REDIS] })
  class RedisModule {}

  @Injectable()
  class Factory implements LocksOptionsFactory {
    createLocksOptions(): LocksModuleOptions {
      return { redis, leaseMs: 61_234 };
    }
  }
  @Module({ providers: [Factory], exports: [Factory] })
  class FactoryModule {}

  test.each([
    [
      'useFactory',
      LocksModule.forRootAsync({
        imports: [RedisModule],
        inject: [REDIS],
        useFactory: async (client: Redis) => ({ redis: client, leaseMs: 61_234 }),
      }),
    ],
    ['useClass', LocksModule.forRootAsync({ useClass: Factory })],
    ['useExisting', LocksModule.forRootAsync({ imports: [FactoryModule], useExisting: Factory })],
  ])('takes its options from %s', async (_how, module) => {
    const app = await boot({ imports: [module] });
    const lock = app.get(Locks).mutex('lock', { prefix: freshPrefix() });
    await using lease = await lock.acquire();
    expect(lease.isValid).toBe(true);
    const { remainingMs } = await lock.inspect();
    expect(remainingMs).toBeGreaterThan(0);
    expect(remainingMs).toBeLessThanOrEqual(61_234);
  });

  test('lets the boot fail when the factory gives no client, and with what it throws', async () => {
    const without = LocksModule.forRootAsync({ useFactory: () => ({}) as LocksModuleOptions });
    await expect(boot({ imports: [without] })).rejects.toThrow('LocksModule: redis must be a Redis');
    const throwing = LocksModule.forRootAsync({
      useFactory: () => {
        throw new Error('no configuration');
      },
    });
    await expect(boot({ imports: [throwing] })).rejects.toThrow('no configuration');
  });
});

describe('Locks', () => {
  test('makes every kind of lock on the client and under the prefix of the module', async () => {
    const prefix = freshPrefix();
    const locks = new Locks(redis, { prefix, leaseMs: 60_000 });
    const mutex = await locks.mutex('a').acquire();
    const multi = await locks.multiLock(['b']).acquire();
    const writer = await locks.readWriteLock('c').write.acquire();
    const permit = await locks.semaphore('d', { permits: 1 }).acquire();
    await locks.rateLimiter('e', { limit: 1, periodMs: 60_000 }).take();
    await locks.countDownLatch('f', { count: 2, ttlMs: 60_000 }).countDown();
    const entities = (await redis.keys(`${prefix}:*`)).map((key) => /\{(.)\}/.exec(key)![1]!);
    expect(new Set(entities)).toEqual(new Set(['a', 'b', 'c', 'd', 'e', 'f']));
    await Promise.all([mutex, multi, writer, permit].map((lease) => lease.release()));
  });

  test('what a call gives wins over the defaults, and undefined gives nothing', async () => {
    const locks = new Locks(redis, { prefix: freshPrefix(), leaseMs: 1_000, fencing: false });
    const lasting = async (options: object): Promise<number> => {
      await using lease = await locks.mutex('lock', options).acquire();
      expect(lease.fencingToken > 0).toBe('fencing' in options);
      return (await locks.mutex('lock').inspect()).remainingMs;
    };
    expect(await lasting({ leaseMs: undefined })).toBeLessThanOrEqual(1_000);
    expect(await lasting({ leaseMs: 60_000, fencing: true })).toBeGreaterThan(1_000);
  });

  test('`fair` and `fencing` are for exclusive locks alone', async () => {
    const locks = new Locks(redis, { prefix: freshPrefix(), fair: false, fencing: false });
    await using permit = await locks.semaphore('lock', { permits: 1 }).acquire();
    await using reader = await locks.readWriteLock('lock').read.acquire();
    await using mutex = await locks.mutex('lock').acquire();
    expect([permit, reader, mutex].map(({ fencingToken }) => fencingToken > 0)).toEqual([true, true, false]);
  });

  test('refuses what the locks refuse', () => {
    const locks = new Locks(redis);
    expect(() => locks.mutex('')).toThrow(new RangeError('name must have 1 to 1024 bytes, got 0'));
    expect(() => locks.semaphore('lock', { permits: 0 })).toThrow(RangeError);
    expect(() => locks.semaphore('lock', {} as never)).toThrow(TypeError);
    expect(() => locks.multiLock([])).toThrow(RangeError);
  });
});

describe('LocksModule.forFeature', () => {
  @Injectable()
  class Renderer {
    constructor(
      @InjectMutex('index') readonly mutex: Mutex,
      @InjectReadWriteLock('scenes') readonly scenes: ReadWriteLock,
      @InjectSemaphore('gpus') readonly gpus: Semaphore,
      @InjectRateLimiter('previews') readonly previews: RateLimiter,
      @InjectMultiLock('disks') readonly disks: MultiLock,
      @InjectCountDownLatch('warm') readonly warm: CountDownLatch,
    ) {}
  }

  test('provides locks of fixed names with the defaults of the module', async () => {
    const prefix = freshPrefix();
    const feature = LocksModule.forFeature({
      mutexes: { index: { leaseMs: 60_000 } },
      readWriteLocks: { scenes: {} },
      semaphores: { gpus: { permits: 4 } },
      rateLimiters: { previews: { limit: 10, periodMs: 1_000 } },
      multiLocks: { disks: { names: ['a', 'b'], leaseMs: 60_000 } },
      countDownLatches: { warm: { count: 3 } },
    });
    const renderer = await run(Renderer, LocksModule.forRoot({ redis, prefix }), feature);
    expect(renderer.mutex).toBeInstanceOf(Mutex);
    expect(renderer.scenes).toBeInstanceOf(ReadWriteLock);
    expect(renderer.previews).toMatchObject({ name: 'previews', limit: 10 });
    expect(renderer.warm).toBeInstanceOf(CountDownLatch);
    expect(await renderer.warm.remaining()).toBe(3);
    await using disks = await renderer.disks.acquire();
    expect(disks.isValid).toBe(true);
    const ofDisk = new Mutex(redis, 'b', { prefix });
    expect((await ofDisk.inspect()).remainingMs).toBeGreaterThan(30_000);
    await using permits = await renderer.gpus.acquire({ permits: 3 });
    expect(permits.isValid).toBe(true);
    expect(await new Semaphore(redis, 'gpus', { permits: 4, prefix }).available()).toBe(1);
  });

  test('lets the boot fail for options that cannot be used and for a lock that is not listed', async () => {
    const root = LocksModule.forRoot({ redis });
    const misused = LocksModule.forFeature({ semaphores: { gpus: { permits: 0 } } });
    await expect(boot({ imports: [root, misused] })).rejects.toThrow(
      /LocksModule.forFeature: permits must be a whole number/,
    );
    expect(() => LocksModule.forFeature({ locks: {} } as never)).toThrow(
      'LocksModule.forFeature has no option "locks"',
    );
    const others = LocksModule.forFeature({ mutexes: { other: {} } });
    await expect(run(Renderer, root, others)).rejects.toThrow(getMutexToken('index'));
  });
});

describe('modules with names', () => {
  test('have their own clients and defaults', async () => {
    const [first, second] = [freshPrefix(), freshPrefix()];
    @Injectable()
    class Both {
      constructor(
        readonly locks: Locks,
        @InjectLocks('billing') readonly billing: Locks,
        @InjectMutex('nightly', 'billing') readonly nightly: Mutex,
      ) {}

      @Locked('nightly', { module: 'billing' })
      async held(): Promise<unknown[]> {
        const of = async (prefix: string) => (await new Mutex(redis, 'nightly', { prefix }).inspect()).holder;
        return [await of(first), await this.nightly.tryAcquire()];
      }
    }
    const both = await run(
      Both,
      LocksModule.forRoot({ redis, prefix: first }),
      LocksModule.forRootAsync({
        name: 'billing',
        useFactory: () => ({ redis: connect(), prefix: second }),
      }),
      LocksModule.forFeature({ mutexes: { nightly: {} } }, 'billing'),
    );
    expect(both.locks).not.toBe(both.billing);
    expect(await both.held()).toEqual([null, null]);
    await using lease = await both.locks.mutex('nightly').tryAcquire();
    expect(lease?.isValid).toBe(true);
  });
});

describe('@Locked', () => {
  const prefix = freshPrefix();
  const root = LocksModule.forRoot({ redis, prefix });
  const isHeld = async (name: string): Promise<boolean> =>
    (await new Mutex(redis, name, { prefix }).inspect()).holder !== null;

  /** How many calls run at the same time, in all applications that count here. */
  class Counter {
    running = 0;
    most = 0;
  }

  @Injectable()
  class Invoices {
    readonly #paid: string[] = [];

    constructor(readonly counter: Counter) {}

    @Locked((id: string) => `invoice:${id}`)
    async pay(id: string, amount: number): Promise<string> {
      this.counter.running += 1;
      this.counter.most = Math.max(this.counter.most, this.counter.running);
      const isAlone = await isHeld(`invoice:${id}`);
      this.#paid.push(id);
      this.counter.running -= 1;
      return `${isAlone} ${id} ${amount} ${this.#paid.length}`;
    }

    @SetMetadata('above', 1)
    @Locked('close', { waitMs: 2_000, leaseMs: 60_000 })
    @SetMetadata('below', 2)
    async close(): Promise<void> {
      throw new Error('books are open');
    }
  }

  @Injectable()
  class ForeignInvoices extends Invoices {}

  async function start(service = Invoices, counter = new Counter()): Promise<Invoices> {
    const app = await boot({
      imports: [root],
      providers: [service, { provide: Counter, useValue: counter }],
    });
    return app.get(service);
  }

  test('runs a method under a lock that is named after its arguments, with its this, arguments and result', async () => {
    const invoices = await start();
    expect(await invoices.pay('7', 30)).toBe('true 7 30 1');
    expect(await isHeld('invoice:7')).toBe(false);
    expect(invoices.pay.name).toBe('pay');
  });

  test('one call at a time, in all applications, also of a subclass', async () => {
    const counter = new Counter();
    const all = await Promise.all([start(Invoices, counter), start(ForeignInvoices, counter)]);
    const results = await Promise.all(
      all.flatMap((invoices) => [1, 2, 3, 4].map((n) => invoices.pay('9', n))),
    );
    expect(results.every((result) => result.startsWith('true 9'))).toBe(true);
    expect(counter).toEqual({ running: 0, most: 1 });
  });

  test('calls under different names run side by side', async () => {
    const invoices = await start();
    await Promise.all(['1', '2', '3'].map((id) => invoices.pay(id, 1)));
    expect(invoices.counter.most).toBeGreaterThan(1);
  });

  test('passes on what the method throws, and releases; rejects when the wait is over', async () => {
    const invoices = await start();
    await expect(invoices.close()).rejects.toThrow('books are open');
    expect(await isHeld('close')).toBe(false);
    await using lease = await new Mutex(redis, 'close', { prefix }).acquire();
    await expect(invoices.close()).rejects.toThrow(LockTimeoutError);
    expect(lease.isValid).toBe(true);
  });

  test('refuses a name that cannot be one, as a rejection', async () => {
    const invoices = await start();
    await expect(invoices.pay('x'.repeat(2_000), 1)).rejects.toThrow(RangeError);
  });

  test('keeps the metadata of other decorators, above and below it', () => {
    // oxlint-disable-next-line typescript/unbound-method -- only its metadata is read
    const { close } = Invoices.prototype;
    expect([Reflect.getMetadata('above', close), Reflect.getMetadata('below', close)]).toEqual([1, 2]);
  });

  test('is for providers of one request, too', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Request {
      @Locked('request')
      async held(): Promise<boolean> {
        return isHeld('request');
      }
    }
    const app = await boot({ imports: [root], providers: [Request] });
    const requests = await Promise.all([app.resolve(Request), app.resolve(Request)]);
    expect(requests[0]).not.toBe(requests[1]);
    expect(await Promise.all(requests.map((request) => request.held()))).toEqual([true, true]);
  });

  test('lets the boot fail without a LocksModule', async () => {
    await expect(boot({ providers: [Invoices, Counter] })).rejects.toThrow(
      /dependencies of the Invoices.*Locks/s,
    );
  });
});

test('the main entry imports nothing of NestJS', () => {
  const seen = new Set<string>();
  const foreign = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, target] of readFileSync(file, 'utf8').matchAll(/(?:from|import) ?\(?'([^']+)'/g)) {
      if (target!.startsWith('.')) visit(join(dirname(file), target!.replace(/js$/, 'ts')));
      else foreign.add(target!);
    }
  };
  const source = join(import.meta.dirname, '../src');
  visit(join(source, 'index.ts'));
  expect([...foreign].filter((target) => !target.startsWith('node:'))).toEqual(['@mortise/redis']);
  expect(seen.size).toBeGreaterThan(20);
  visit(join(source, 'nestjs/index.ts'));
  expect(foreign).toContain('@nestjs/common');
});

test('the classes of both entries are the same', () => {
  const locks = new Locks(redis);
  expect(locks.countDownLatch('lock', { count: 1 })).toBeInstanceOf(CountDownLatch);
  expect(locks.multiLock(['lock'])).toBeInstanceOf(MultiLock);
  expect(locks.rateLimiter('lock', { limit: 1, periodMs: 1_000 })).toBeInstanceOf(RateLimiter);
});

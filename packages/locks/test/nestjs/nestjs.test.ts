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
import * as nestjs from '@mortise/locks/nestjs';
import { InjectLocks, InjectMutex, Locked, Locks, LocksModule } from '@mortise/locks/nestjs';
import { QuorumMutex } from '@mortise/locks/quorum';
import { connect, disconnectLater, freshPrefix } from '@mortise/test-kit';
import type { Provided } from '@mortise/test-kit/nestjs';
import { boot, bootWith, describeModule } from '@mortise/test-kit/nestjs';
import { Injectable, Scope, SetMetadata } from '@nestjs/common';
import { Redis } from 'ioredis';

const redis = connect();
/** Clients of servers that get no commands. */
const clients = [1, 2, 3].map((port) => disconnectLater(new Redis({ port, lazyConnect: true })));

/** A kind of locks. */
function named(type: Provided[0], kind: keyof typeof KINDS): Provided {
  const { getToken, inject } = KINDS[kind];
  return [type, (module) => getToken('it', module), (module) => inject('it', module)];
}
const KINDS = {
  mutex: { getToken: nestjs.getMutexToken, inject: nestjs.InjectMutex },
  multiLock: { getToken: nestjs.getMultiLockToken, inject: nestjs.InjectMultiLock },
  readWriteLock: { getToken: nestjs.getReadWriteLockToken, inject: nestjs.InjectReadWriteLock },
  semaphore: { getToken: nestjs.getSemaphoreToken, inject: nestjs.InjectSemaphore },
  rateLimiter: { getToken: nestjs.getRateLimiterToken, inject: nestjs.InjectRateLimiter },
  countDownLatch: { getToken: nestjs.getCountDownLatchToken, inject: nestjs.InjectCountDownLatch },
  quorumMutex: { getToken: nestjs.getQuorumMutexToken, inject: nestjs.InjectQuorumMutex },
};

describeModule({
  module: LocksModule,
  provided: [[Locks, nestjs.getLocksToken, InjectLocks]],
  refused: [
    [{ leaseMs: 0 }, RangeError, 'leaseMs must be a whole number from 10 to 86400000, got 0'],
    [{ fair: 'yes' }, TypeError, 'fair must be true or false, got string'],
    [{ maxHoldMs: 1 }, RangeError, 'maxHoldMs must be from'],
    [{ lease: 1 }, TypeError, 'LocksModule has no option "lease"; there are redis, url, prefix'],
  ],
  feature: {
    given: {
      mutexes: { it: {} },
      multiLocks: { it: { names: ['a', 'b'] } },
      readWriteLocks: { it: {} },
      semaphores: { it: { permits: 4 } },
      rateLimiters: { it: { limit: 10, periodMs: 1_000 } },
      countDownLatches: { it: { count: 3 } },
      quorumMutexes: { it: { clients } },
    },
    provided: [
      named(Mutex, 'mutex'),
      named(MultiLock, 'multiLock'),
      named(ReadWriteLock, 'readWriteLock'),
      named(Semaphore, 'semaphore'),
      named(RateLimiter, 'rateLimiter'),
      named(CountDownLatch, 'countDownLatch'),
      named(QuorumMutex, 'quorumMutex'),
    ],
    refused: [
      [{ semaphores: { it: { permits: 0 } } }, 'LocksModule.forFeature: permits must be a whole number'],
      [{ quorumMutexes: { it: { clients: [] } } }, 'LocksModule.forFeature: clients must have 3 to 15 items'],
    ],
  },
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
    await locks.countDownLatch('f', { count: 2, keepMs: 60_000 }).countDown();
    const entities = (await redis.keys(`${prefix}:*`)).map((key) => /\{(.)\}/.exec(key)![1]!);
    expect(new Set(entities)).toEqual(new Set(['a', 'b', 'c', 'd', 'e', 'f']));
    await Promise.all([mutex, multi, writer, permit].map((lease) => lease.release()));
  });

  test('options of a call win over the defaults, and undefined counts as absent', async () => {
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

  test('makes locks of fixed names with the defaults of the module', async () => {
    const prefix = freshPrefix();
    @Injectable()
    class Renderer {
      constructor(
        @nestjs.InjectMultiLock('disks') readonly disks: MultiLock,
        @nestjs.InjectSemaphore('gpus') readonly gpus: Semaphore,
      ) {}
    }
    const renderer = await bootWith(
      Renderer,
      LocksModule.forRoot({ redis, prefix }),
      LocksModule.forFeature({
        multiLocks: { disks: { names: ['a', 'b'], leaseMs: 60_000 } },
        semaphores: { gpus: { permits: 4 } },
      }),
    );
    await using disks = await renderer.disks.acquire();
    expect(disks.isValid).toBe(true);
    expect((await new Mutex(redis, 'b', { prefix }).inspect()).remainingMs).toBeGreaterThan(30_000);
    await using permits = await renderer.gpus.acquire({ permits: 3 });
    expect(permits.isValid).toBe(true);
    expect(await new Semaphore(redis, 'gpus', { permits: 4, prefix }).available()).toBe(1);
  });

  test('sends nothing when it is made', async () => {
    const prefix = freshPrefix();
    const app = await boot({ imports: [LocksModule.forRoot({ redis, prefix, leaseMs: 61_234 })] });
    const lock = app.get(Locks).mutex('lock');
    expect(await redis.keys(`${prefix}:*`)).toEqual([]);
    await using lease = await lock.acquire();
    const { remainingMs } = await lock.inspect();
    expect([lease.isValid, remainingMs > 0, remainingMs <= 61_234]).toEqual([true, true, true]);
  });

  test('refuses what the locks refuse', () => {
    const locks = new Locks(redis);
    expect(() => locks.mutex('')).toThrow(new RangeError('name must have 1 to 1024 bytes, got 0'));
    expect(() => locks.semaphore('lock', { permits: 0 })).toThrow(RangeError);
    expect(() => locks.semaphore('lock', {} as never)).toThrow(TypeError);
    expect(() => locks.multiLock([])).toThrow(RangeError);
  });
});

test('modules with names have their own clients and defaults', async () => {
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
  const both = await bootWith(
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

  test('refuses an unknown option when it decorates', () => {
    expect(() => Locked('close', { lease: 1 } as never)).toThrow(
      '@Locked has no option "lease"; there are prefix',
    );
  });

  test('lets the boot fail without a LocksModule', async () => {
    await expect(boot({ providers: [Invoices, Counter] })).rejects.toThrow(
      /dependencies of the Invoices.*Locks/s,
    );
  });
});

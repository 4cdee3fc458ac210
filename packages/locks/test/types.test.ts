/** The types of the documents, and misuse that the compiler refuses; it also throws at run time where that can be tried. */
import { describe, expect, test } from '@jest/globals';
import {
  CountDownLatch,
  LatchLostError,
  LatchTimeoutError,
  LeaseLostError,
  LockSettingsError,
  LockTimeoutError,
  MultiLock,
  Mutex,
  RateLimiter,
  ReadWriteLock,
  Semaphore,
} from '@mortise/locks';
import type {
  AcquireOptions,
  AcquirePermitsOptions,
  CountDownLatchOptions,
  CountDownOptions,
  LatchWaitOptions,
  Lease,
  LeaseEnd,
  LockSide,
  MultiLease,
  MutexOptions,
  MutexState,
  PermitHolder,
  RateLimiterOptions,
  ReadWriteLockOptions,
  ReadWriteLockState,
  SemaphoreOptions,
  SemaphoreState,
  TakeResult,
  TryAcquirePermitsOptions,
  WriteLease,
} from '@mortise/locks';
import type { LocksFeature, LocksModuleOptions } from '@mortise/locks/nestjs';
import { InjectMutex, InjectSemaphore, Locked, Locks, LocksModule } from '@mortise/locks/nestjs';
import { QuorumMutex } from '@mortise/locks/quorum';
import type { QuorumMutexState } from '@mortise/locks/quorum';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Cluster } from 'ioredis';

const redis = connect();
const prefix = freshPrefix();
const wait: AcquireOptions = { waitMs: 1_000, signal: new AbortController().signal };

test('a Cluster is a client', () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(new Mutex(cluster, 'lock')).toBeInstanceOf(Mutex);
  expect(new ReadWriteLock(cluster, 'lock')).toBeInstanceOf(ReadWriteLock);
  expect(new Semaphore(cluster, 'lock', { permits: 1 })).toBeInstanceOf(Semaphore);
  cluster.disconnect();
});

test('errors have literal codes and typed fields', () => {
  type Refusal = LockTimeoutError | LeaseLostError | LatchTimeoutError | LockSettingsError | LatchLostError;
  const fieldsOf = (error: Refusal): unknown[] => {
    switch (error.code) {
      case 'ERR_LOCK_TIMEOUT':
        return [error.lockName, error.waitMs];
      case 'ERR_LEASE_LOST':
        return [error.fencingToken, error.reason satisfies LeaseEnd];
      case 'ERR_LATCH_TIMEOUT':
        return [error.latchName, error.waitMs];
      case 'ERR_LATCH_LOST':
        return [error.latchName];
      case 'ERR_LATCH_COUNT':
      case 'ERR_SEMAPHORE_LIMIT':
        return [error.lockName, error.value, error.knownValue];
      default:
        return [error satisfies never];
    }
  };
  const lost = new LeaseLostError('lock "lock"', 'taken', { fencingToken: 7 });
  expect(fieldsOf(new LockTimeoutError('lock', 10))).toEqual(['lock', 10]);
  expect(fieldsOf(lost)).toEqual([7, 'taken']);
  expect(fieldsOf(new LatchTimeoutError('gate', 10))).toEqual(['gate', 10]);
  expect(fieldsOf(new LatchLostError('gate'))).toEqual(['gate']);
  expect(fieldsOf(new LockSettingsError('count', 'gate', 3, 4))).toEqual(['gate', 3, 4]);
  const limit = new LockSettingsError('limit', 'pool', 2, 3);
  expect([limit.code, ...fieldsOf(limit)]).toEqual(['ERR_SEMAPHORE_LIMIT', 'pool', 2, 3]);
});

describe('Mutex', () => {
  test('takes options and gives a lease', async () => {
    const options: MutexOptions = {
      leaseMs: 1_000,
      fair: true,
      renew: true,
      fencing: true,
      maxHoldMs: 5_000,
      prefix,
    };
    const mutex = new Mutex(redis, 'lock', options);
    const lease: Lease = await mutex.acquire(wait);
    const numbers: number[] = [lease.fencingToken, lease.expiresAt, lease.holder.length];
    const before: [boolean, AbortSignal] = [lease.isValid, lease.signal];
    const renewed: void = await lease.renew();
    const released: boolean = await lease.release();
    const attempt: Lease | null = await mutex.tryAcquire();
    await attempt?.release();
    const text: string = await mutex.using((_signal: AbortSignal, inner: Lease) => `${inner.isValid}`);
    const later: number = await mutex.using(async () => Promise.resolve(1), wait);
    const state: MutexState = await mutex.inspect();
    const position: number | null = state.position;
    const holder: string = lease.holder;
    const calls: boolean[] = [
      await mutex.forceRelease(),
      await mutex.renewFor(holder),
      await mutex.releaseFor(holder),
    ];
    expect(Math.min(...numbers)).toBeGreaterThan(0);
    expect(before).toEqual([true, expect.objectContaining({ aborted: false })]);
    expect([renewed, released, text, later]).toEqual([undefined, true, 'true', 1]);
    expect([state.holder, position, ...calls]).toEqual([null, null, false, false, false]);
  });

  test('refuses misuse', async () => {
    // @ts-expect-error -- a URL is no client
    expect(() => new Mutex('redis://127.0.0.1', 'lock')).toThrow(TypeError);
    // @ts-expect-error -- the name is missing
    expect(() => new Mutex(redis)).toThrow(TypeError);
    // @ts-expect-error -- a lease is a number
    expect(() => new Mutex(redis, 'lock', { leaseMs: '10s' })).toThrow(TypeError);
    const mutex = new Mutex(redis, 'refused', { prefix });
    // @ts-expect-error -- a wait is a number
    await expect(mutex.acquire({ waitMs: '10s' })).rejects.toThrow(TypeError);
    // @ts-expect-error -- no such option
    await expect(mutex.tryAcquire({ waitMs: 10 })).rejects.toThrow(TypeError);
  });
});

describe('ReadWriteLock', () => {
  test('has a side of readers and one of writers', async () => {
    const options: ReadWriteLockOptions = { leaseMs: 1_000, renew: true, maxHoldMs: 5_000, prefix };
    const lock = new ReadWriteLock(redis, 'lock', options);
    const read: LockSide = lock.read;
    const write: LockSide<WriteLease> = lock.write;
    const reader: Lease = await read.acquire(wait);
    const released: boolean = await reader.release();
    const writer: WriteLease = await write.acquire();
    const downgraded: Lease = await writer.downgrade();
    const attempt: WriteLease | null = await write.tryAcquire();
    await downgraded.release();
    const text: string = await read.using((_signal: AbortSignal, lease: Lease) => `${lease.isValid}`);
    const later: number = await write.using(async (_, lease: WriteLease) => lease.fencingToken, wait);
    const state: ReadWriteLockState = await lock.read.inspect();
    const names: readonly string[] = state.firstReaders;
    const known: boolean = await lock.write.renewFor(writer.holder);
    expect([released, attempt, text, names, known]).toEqual([true, null, 'true', [], false]);
    expect(later).toBeGreaterThan(downgraded.fencingToken);
  });

  test('refuses misuse', async () => {
    // @ts-expect-error -- a URL is no client
    expect(() => new ReadWriteLock('redis://127.0.0.1', 'lock')).toThrow(TypeError);
    // @ts-expect-error -- the name is missing
    expect(() => new ReadWriteLock(redis)).toThrow(TypeError);
    // @ts-expect-error -- a lease is a number
    expect(() => new ReadWriteLock(redis, 'lock', { leaseMs: '10s' })).toThrow(TypeError);
    const lock = new ReadWriteLock(redis, 'refused', { prefix });
    // @ts-expect-error -- a wait is a number
    await expect(lock.read.acquire({ waitMs: '10s' })).rejects.toThrow(TypeError);
    // @ts-expect-error -- a reader has nothing to give up for reading
    expect((await lock.read.acquire()).downgrade).toBeUndefined();
    // @ts-expect-error -- and cannot become a writer
    expect((await lock.read.acquire()).upgrade).toBeUndefined();
    expect(await lock.read.forceRelease()).toBe(true);
  });
});

describe('Semaphore', () => {
  test('takes permits and gives a lease', async () => {
    const options: SemaphoreOptions = { permits: 3, leaseMs: 1_000, renew: true, maxHoldMs: 5_000, prefix };
    const all: AcquirePermitsOptions = { ...wait, permits: 2 };
    const some: TryAcquirePermitsOptions = { permits: 1 };
    const semaphore = new Semaphore(redis, 'pool', options);
    const lease: Lease = await semaphore.acquire(all);
    const attempt: Lease | null = await semaphore.tryAcquire(some);
    const state: SemaphoreState = await semaphore.inspect();
    const holders: readonly PermitHolder[] = state.holders;
    const renewed: boolean = await semaphore.renewFor(lease.holder, 2_000);
    const released: boolean = await semaphore.releaseFor(lease.holder);
    await attempt?.release();
    const text: string = await semaphore.using(
      (_signal: AbortSignal, inner: Lease) => `${inner.isValid}`,
      all,
    );
    const changed: void = await semaphore.setPermits(2);
    const available: number = await semaphore.available();
    expect([holders.length, renewed, released, text, changed, available]).toEqual([
      2,
      true,
      true,
      'true',
      undefined,
      2,
    ]);
  });

  test('refuses misuse', () => {
    const refused = (semaphore: Semaphore, state: SemaphoreState): unknown[] => [
      // @ts-expect-error: the limit is required
      new Semaphore(redis, 'pool', {}),
      // @ts-expect-error: and so are the options
      new Semaphore(redis, 'pool'),
      // @ts-expect-error: a number
      new Semaphore(redis, 'pool', { permits: '3' }),
      // @ts-expect-error: a semaphore is always fair
      new Semaphore(redis, 'pool', { permits: 3, fair: false }),
      // @ts-expect-error: tryAcquire never waits
      semaphore.tryAcquire({ waitMs: 10 }),
      // @ts-expect-error: a number, not options
      semaphore.setPermits({ permits: 3 }),
      // @ts-expect-error: who is to be released is not optional
      semaphore.releaseFor(),
      // @ts-expect-error: a state cannot be written
      (state.limit = 3),
      // @ts-expect-error: nor its holders
      state.holders.pop(),
    ];
    expect(refused).toHaveLength(2);
  });
});

test('a MultiLock takes names and gives a lease with a token for each', async () => {
  const names: readonly string[] = ['a', 'b'];
  const lock = new MultiLock(redis, names, { prefix });
  const lease: MultiLease | null = await lock.tryAcquire();
  const tokens: ReadonlyMap<string, number> = lease!.fencingTokens;
  // @ts-expect-error -- there is no single token of several locks
  expect(lease.fencingToken).toBeUndefined();
  // @ts-expect-error -- nor is it the lease of a mutex
  const other: Lease = lease!;
  const states: ReadonlyMap<string, MutexState> = await lock.inspect();
  const result: number = await lease!.release().then(() => lock.using((_, held) => held.fencingTokens.size));
  expect([tokens.size, other, states.size, result]).toEqual([2, lease, 2, 2]);
  // @ts-expect-error -- one name is no list
  expect(() => new MultiLock(redis, 'a')).toThrow(TypeError);
});

test('a QuorumMutex takes clients and gives a lease', () => {
  // @ts-expect-error -- one client is no list
  expect(() => new QuorumMutex(redis, 'lock')).toThrow(TypeError);
  // @ts-expect-error -- there are no queues, so it is not fair, and no tokens
  const refused: ConstructorParameters<typeof QuorumMutex>[2] = { fair: true, fencing: true };
  const acquired: (mutex: QuorumMutex) => Promise<Lease> = (mutex) => mutex.acquire({ waitMs: 1 });
  const holderOf = ({ holder, votes }: QuorumMutexState): string | null => votes[0]?.holder ?? holder;
  expect([refused, typeof acquired, typeof holderOf]).toEqual([expect.anything(), 'function', 'function']);
});

describe('RateLimiter and CountDownLatch', () => {
  test('take options and give results', async () => {
    const options: RateLimiterOptions = { limit: 10, periodMs: 60_000, burst: 5, prefix };
    const calls = new RateLimiter(redis, 'calls', options);
    const result: TakeResult = await calls.take(2);
    const isAllowed: boolean = result.isAllowed;
    const numbers: number[] = [result.remaining, result.retryAfterMs, result.resetAfterMs];
    const nothing: void = await calls.reset();
    expect([isAllowed, numbers.length, nothing, calls.name]).toEqual([true, 3, undefined, 'calls']);
    expect([calls.limit, calls.periodMs, calls.burst] satisfies number[]).toEqual([10, 60_000, 5]);

    const latchOptions: CountDownLatchOptions = { count: 2, keepMs: 60_000, prefix };
    const gate = new CountDownLatch(redis, 'import', latchOptions);
    const down: CountDownOptions = { id: 'a', by: 1 };
    const terms: LatchWaitOptions = { waitMs: 1_000, signal: undefined };
    const remaining: number = await gate.countDown(down);
    expect([remaining, await gate.countDown(), await gate.remaining(), gate.count]).toEqual([1, 0, 0, 2]);
    const opened: void = await gate.wait(terms);
    const hadBegun: boolean = await gate.reset();
    expect([opened, hadBegun]).toEqual([undefined, true]);
  });

  test('refuse misuse', async () => {
    // @ts-expect-error -- the options are missing
    expect(() => new RateLimiter(redis, 'calls')).toThrow(TypeError);
    // @ts-expect-error -- the period is missing
    expect(() => new RateLimiter(redis, 'calls', { limit: 1 })).toThrow(TypeError);
    // @ts-expect-error -- the options are missing
    expect(() => new CountDownLatch(redis, 'import')).toThrow(TypeError);
    // @ts-expect-error -- a count is a number
    expect(() => new CountDownLatch(redis, 'import', { count: '3' })).toThrow(TypeError);
    const calls = new RateLimiter(redis, 'calls', { limit: 1, periodMs: 1, prefix });
    // @ts-expect-error -- a cost is a number
    await expect(calls.take('1')).rejects.toThrow(TypeError);
  });
});

describe('NestJS', () => {
  test('forRoot takes a client and the defaults of a Mutex, forRootAsync what makes them', () => {
    const options: LocksModuleOptions = { redis, leaseMs: 1_000, prefix: undefined };
    expect(LocksModule.forRoot(options)).toMatchObject({ module: LocksModule, global: true });
    expect(LocksModule.forRoot({ redis, name: 'second', fair: false })).toHaveProperty('exports');
    const asynchronous = LocksModule.forRootAsync({ inject: ['redis'], useFactory: async () => options });
    expect(asynchronous.providers).toHaveLength(3);
    const cluster = (client: Cluster): LocksModuleOptions => ({ redis: client });
    expect(cluster).toHaveLength(1);

    // @ts-expect-error -- no client
    LocksModule.forRoot({ prefix: 'app' });
    // @ts-expect-error -- permits are no default
    LocksModule.forRoot({ redis, permits: 5 });
    // @ts-expect-error -- options without a client
    LocksModule.forRootAsync({ useFactory: () => ({ prefix: 'app' }) });
  });

  test('forFeature takes the options of each kind', () => {
    const feature: LocksFeature = {
      mutexes: { index: {} },
      readWriteLocks: { scenes: { leaseMs: 1_000 } },
      semaphores: { gpus: { permits: 4 } },
      rateLimiters: { previews: { limit: 10, periodMs: 1_000 } },
      multiLocks: { disks: { names: ['a', 'b'] } },
      countDownLatches: { warm: { count: 3 } },
    };
    expect(LocksModule.forFeature(feature).providers).toHaveLength(6);
    // @ts-expect-error -- a semaphore needs permits
    LocksModule.forFeature({ semaphores: { gpus: {} } });
    // @ts-expect-error -- a multi-lock needs names
    LocksModule.forFeature({ multiLocks: { disks: {} } });
  });

  test('Locks make what they are asked for', () => {
    const locks = new Locks(redis);
    const mutex: Mutex = locks.mutex('lock', { leaseMs: undefined });
    expect(mutex.name).toBe('lock');
    // @ts-expect-error -- no limit
    expect(() => locks.rateLimiter('lock')).toThrow(TypeError);
    // @ts-expect-error -- a mutex has no permits
    expect(() => locks.mutex('lock', { permits: 1 })).toThrow('Mutex has no option "permits"');
  });

  test('decorators fit what they decorate', () => {
    class Decorated {
      @InjectMutex('index') declare readonly mutex: Mutex;

      // @ts-expect-error -- decorators of properties take a name
      @InjectSemaphore() declare readonly gpus: unknown;

      @Locked('report')
      async fixed(_day: string): Promise<number> {
        return 1;
      }

      @Locked((id: string) => id)
      async named(_id: string, _amount: number): Promise<void> {}

      // @ts-expect-error -- the name is made of a string, the method takes a number
      @Locked((id: string) => id)
      async misnamed(_id: number): Promise<void> {}

      // @ts-expect-error -- a method that returns no promise cannot wait
      @Locked('report')
      synchronous(): number {
        return 1;
      }
    }
    expect(Object.getOwnPropertyNames(Decorated.prototype)).toContain('misnamed');
  });
});

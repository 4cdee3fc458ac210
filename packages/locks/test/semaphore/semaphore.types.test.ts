import { expect, test } from '@jest/globals';
import { LockSettingsError, Semaphore } from '@mortise/locks';
import type {
  AcquirePermitsOptions,
  Lease,
  PermitHolder,
  SemaphoreOptions,
  SemaphoreState,
  TryAcquirePermitsOptions,
} from '@mortise/locks';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Cluster } from 'ioredis';

const redis = connect();

test('the types are what the README says', async () => {
  const options: SemaphoreOptions = {
    permits: 3,
    leaseMs: 1_000,
    renew: true,
    maxHoldMs: 5_000,
    prefix: freshPrefix(),
  };
  const all: AcquirePermitsOptions = { permits: 2, waitMs: 1_000, signal: new AbortController().signal };
  const some: TryAcquirePermitsOptions = { permits: 1 };
  const semaphore = new Semaphore(redis, 'pool', options);
  const lease: Lease = await semaphore.acquire(all);
  const attempt: Lease | null = await semaphore.tryAcquire(some);
  const state: SemaphoreState = await semaphore.inspect();
  const holders: readonly PermitHolder[] = state.holders;
  const renewed: boolean = await semaphore.renewFor(lease.holder, 2_000);
  const released: boolean = await semaphore.releaseFor(lease.holder);
  await attempt?.release();
  const text: string = await semaphore.using((_signal: AbortSignal, inner: Lease) => `${inner.isValid}`, all);
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
  {
    await using scoped = await semaphore.acquire();
    expect(scoped.isValid).toBe(true);
  }
  expect(await semaphore.available()).toBe(2);
});

test('a refusal has a literal code and both limits', () => {
  const error = new LockSettingsError('limit', 'pool', 2, 3);
  const code: 'ERR_SEMAPHORE_LIMIT' | 'ERR_LATCH_COUNT' = error.code;
  expect([code, error.lockName, error.value, error.knownValue]).toEqual([
    'ERR_SEMAPHORE_LIMIT',
    'pool',
    2,
    3,
  ]);
});

test('the compiler refuses misuse', () => {
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

test('a Cluster is a client too', () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(new Semaphore(cluster, 'pool', { permits: 1 }).name).toBe('pool');
  cluster.disconnect();
});

/** Every public call: on a closed client, and with wrong arguments. */
import { CountDownLatch, MultiLock, Mutex, RateLimiter, ReadWriteLock, Semaphore } from '@mortise/locks';
import type { CallTable } from '@mortise/test-kit';
import { describeCalls, freshPrefix } from '@mortise/test-kit';
import type { Redis } from 'ioredis';

const PROTECTED = ['mutex', 'semaphore'].flatMap((name) =>
  ['hold', 'requireHolder', 'try', 'wait'].map((method) => `${name}.${method}`),
);
const HOLDER = 'aaaaaaaaaaaaaaaa.1.1';

function tableOf(redis: Redis): CallTable {
  const prefix = freshPrefix();
  const mutex = new Mutex(redis, 'a', { prefix });
  const multi = new MultiLock(redis, ['a', 'b'], { prefix });
  const reader = new ReadWriteLock(redis, 'a', { prefix }).read;
  const semaphore = new Semaphore(redis, 'a', { prefix, permits: 1 });
  const limiter = new RateLimiter(redis, 'a', { prefix, limit: 1, periodMs: 1_000 });
  const latch = new CountDownLatch(redis, 'a', { prefix, count: 1 });
  return {
    'mutex.acquire': [mutex.acquire.bind(mutex), { waitMs: 5_000 }],
    'mutex.tryAcquire': [mutex.tryAcquire.bind(mutex), {}],
    'mutex.using': [mutex.using.bind(mutex), () => 1, { waitMs: 5_000 }],
    'mutex.inspect': [mutex.inspect.bind(mutex)],
    'mutex.renewFor': [mutex.renewFor.bind(mutex), HOLDER],
    'mutex.releaseFor': [mutex.releaseFor.bind(mutex), HOLDER],
    'mutex.forceRelease': [mutex.forceRelease.bind(mutex)],
    'multi.acquire': [multi.acquire.bind(multi), { waitMs: 5_000 }],
    'multi.tryAcquire': [multi.tryAcquire.bind(multi), {}],
    'multi.using': [multi.using.bind(multi), () => 1, { waitMs: 5_000 }],
    'multi.inspect': [multi.inspect.bind(multi)],
    'multi.renewFor': [multi.renewFor.bind(multi), HOLDER],
    'multi.releaseFor': [multi.releaseFor.bind(multi), HOLDER],
    'reader.acquire': [reader.acquire.bind(reader), { waitMs: 5_000 }],
    'reader.tryAcquire': [reader.tryAcquire.bind(reader), {}],
    'semaphore.acquire': [semaphore.acquire.bind(semaphore), { waitMs: 5_000 }],
    'semaphore.tryAcquire': [semaphore.tryAcquire.bind(semaphore), {}],
    'semaphore.using': [semaphore.using.bind(semaphore), () => 1, { waitMs: 5_000 }],
    'semaphore.available': [semaphore.available.bind(semaphore)],
    'semaphore.inspect': [semaphore.inspect.bind(semaphore)],
    'semaphore.renewFor': [semaphore.renewFor.bind(semaphore), HOLDER],
    'semaphore.releaseFor': [semaphore.releaseFor.bind(semaphore), HOLDER],
    'semaphore.forceRelease': [semaphore.forceRelease.bind(semaphore), HOLDER],
    'semaphore.setPermits': [semaphore.setPermits.bind(semaphore), 2],
    'limiter.take': [limiter.take.bind(limiter), 1],
    'limiter.peek': [limiter.peek.bind(limiter)],
    'RateLimiter.inspect': [() => RateLimiter.inspect(redis, 'a', { prefix })],
    'limiter.reset': [limiter.reset.bind(limiter)],
    'latch.countDown': [latch.countDown.bind(latch), {}],
    'latch.wait': [latch.wait.bind(latch), { waitMs: 5_000 }],
    'latch.remaining': [latch.remaining.bind(latch)],
    'latch.reset': [latch.reset.bind(latch)],
  };
}

function constructors(redis: Redis): CallTable {
  return {
    Mutex: [(...args: ConstructorParameters<typeof Mutex>) => void new Mutex(...args), redis, 'a', {}],
    MultiLock: [
      (...args: ConstructorParameters<typeof MultiLock>) => void new MultiLock(...args),
      redis,
      ['a'],
      {},
    ],
    ReadWriteLock: [
      (...args: ConstructorParameters<typeof ReadWriteLock>) => void new ReadWriteLock(...args),
      redis,
      'a',
      {},
    ],
    Semaphore: [
      (...args: ConstructorParameters<typeof Semaphore>) => void new Semaphore(...args),
      redis,
      'a',
      { permits: 1 },
    ],
    RateLimiter: [
      (...args: ConstructorParameters<typeof RateLimiter>) => void new RateLimiter(...args),
      redis,
      'a',
      { limit: 1, periodMs: 1_000 },
    ],
    CountDownLatch: [
      (...args: ConstructorParameters<typeof CountDownLatch>) => void new CountDownLatch(...args),
      redis,
      'a',
      { count: 1 },
    ],
  };
}

/** A telemetry may have no method. */
function takes(option: string, value: unknown): boolean {
  return option.endsWith(' telemetry') && typeof value === 'object' && !Array.isArray(value);
}

describeCalls({
  tableOf,
  constructors,
  classes: {
    mutex: Mutex,
    multi: MultiLock,
    semaphore: Semaphore,
    limiter: RateLimiter,
    latch: CountDownLatch,
  },
  silent: PROTECTED,
  takes,
  coalesced: 'mutex.acquire',
});

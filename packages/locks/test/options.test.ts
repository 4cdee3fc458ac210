/** Misuse: every class and call refuses it by an error with the code ERR_INVALID_ARG, and sends nothing. */
import { describe, expect, test } from '@jest/globals';
import { CountDownLatch, MultiLock, Mutex, RateLimiter, ReadWriteLock, Semaphore } from '@mortise/locks';
import { Locks } from '@mortise/locks/nestjs';
import { QuorumMutex } from '@mortise/locks/quorum';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Redis } from 'ioredis';

const redis = connect();
const prefix = freshPrefix();
/** For clients that have to differ, and send nothing. */
const nodes = ['a', 'b', 'c'].map((host) => new Redis({ host, lazyConnect: true }));

type Make = (options: never, name?: never, client?: never) => unknown;

/** Required options, and the options of a test over them; a value that is no object as it is. */
function over(required: object, options: unknown): never {
  const isObject = typeof options === 'object' && options !== null && !Array.isArray(options);
  return (isObject ? { ...required, ...options } : options) as never;
}

const WITH_LEASES: Record<string, Make> = {
  Mutex: (options, name = 'lock' as never, client = redis as never) => new Mutex(client, name, options),
  MultiLock: (options, name = 'lock' as never, client = redis as never) =>
    new MultiLock(client, [name], options),
  ReadWriteLock: (options, name = 'lock' as never, client = redis as never) =>
    new ReadWriteLock(client, name, options),
  Semaphore: (options, name = 'lock' as never, client = redis as never) =>
    new Semaphore(client, name, over({ permits: 2 }, options)),
  QuorumMutex: (options, name = 'lock' as never) => new QuorumMutex(nodes, name, options),
};
const ALL: Record<string, Make> = {
  ...WITH_LEASES,
  RateLimiter: (options, name = 'lock' as never, client = redis as never) =>
    new RateLimiter(client, name, over({ limit: 1, periodMs: 1 }, options)),
  CountDownLatch: (options, name = 'lock' as never, client = redis as never) =>
    new CountDownLatch(client, name, over({ count: 1 }, options)),
};
const INTEGERS = [0, -1, 0.5, Number.NaN, Infinity, -Infinity, 2 ** 53];

/** A misuse, whatever its class: callers branch on the code. */
function misuse(error: RangeErrorConstructor | TypeErrorConstructor, message?: string): unknown {
  const fields = { code: 'ERR_INVALID_ARG', name: error.name };
  return expect.objectContaining(message === undefined ? fields : { ...fields, message });
}

function refusalOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

describe.each(Object.entries(ALL))('%s', (kind, make) => {
  test.each([5, 0, 'x', '', true, null, [], () => 1])('refuses the options %p', (options) => {
    const got = options === null ? 'null' : Array.isArray(options) ? 'an array' : typeof options;
    const act = (): unknown => make(options as never);
    expect(refusalOf(act)).toEqual(
      Array.isArray(options) ? misuse(TypeError) : misuse(TypeError, `options must be an object, got ${got}`),
    );
  });

  test('refuses unknown options with the list of known ones', () => {
    const refusal = refusalOf(() => make({ ttlMs: 5_000 } as never)) as Error;
    expect(refusal).toEqual(misuse(TypeError));
    expect(refusal.message).toMatch(`${kind} has no option "ttlMs"; there are prefix, telemetry, `);
  });

  test.each([undefined, null, 7, {}, ['a']])('refuses the name %p', (name) => {
    expect(refusalOf(() => make({} as never, (name ?? null) as never))).toEqual(misuse(TypeError));
  });

  test.each([{ prefix: 7 }, { telemetry: 7 }])('refuses a wrong value: %p', (options) => {
    expect(refusalOf(() => make(options as never))).toEqual(misuse(TypeError));
  });

  test('refuses names that are empty or too long', () => {
    for (const name of ['', 'x'.repeat(1_025)]) {
      expect(refusalOf(() => make({} as never, name as never))).toEqual(misuse(RangeError));
    }
    expect(refusalOf(() => make({ prefix: '' } as never))).toEqual(misuse(RangeError));
    expect(make({} as never, 'x'.repeat(1_024) as never)).toBeInstanceOf(Object);
  });
});

describe.each(Object.entries(WITH_LEASES))('%s', (_, make) => {
  test.each([...INTEGERS, 9, 86_400_001])('refuses leaseMs %p', (leaseMs) => {
    const limits = 'leaseMs must be a whole number from 10 to 86400000';
    expect(refusalOf(() => make({ leaseMs } as never))).toEqual(
      misuse(RangeError, `${limits}, got ${leaseMs}`),
    );
  });

  test.each([0, -1, 9_999, 31 * 86_400_000 + 1, Number.NaN, Infinity])(
    'refuses maxHoldMs %p',
    (maxHoldMs) => {
      const limits = 'maxHoldMs must be from 10000 to 2678400000 ms';
      expect(refusalOf(() => make({ maxHoldMs } as never))).toEqual(
        misuse(RangeError, `${limits}, got ${maxHoldMs}`),
      );
    },
  );

  test.each([
    { leaseMs: '10' },
    { leaseMs: null },
    { leaseMs: 10n },
    { renew: 'yes' },
    { renew: 1 },
    { maxHoldMs: '10000' },
    { owner: '' },
    { owner: 'a.b' },
    { owner: 'a:b' },
    { owner: 'x'.repeat(65) },
    { owner: 7 },
  ])('refuses a value of another type: %p', (options) => {
    expect(refusalOf(() => make(options as never))).toEqual(misuse(TypeError));
  });

  test('takes a maxHoldMs of leaseMs, and undefined as absent', () => {
    expect(make({ leaseMs: 500, maxHoldMs: 500 } as never)).toBeInstanceOf(Object);
    expect(make({ leaseMs: undefined, renew: undefined, prefix: undefined } as never)).toBeInstanceOf(Object);
  });
});

test.each([{ fair: 1 }, { fair: null }, { fencing: 0 }])('Mutex and MultiLock refuse %p', (options) => {
  for (const make of [WITH_LEASES['Mutex']!, WITH_LEASES['MultiLock']!]) {
    expect(refusalOf(() => make(options as never))).toEqual(misuse(TypeError));
  }
});

test('a client that is none is refused', () => {
  for (const make of Object.values(ALL).filter((each) => each !== ALL['QuorumMutex'])) {
    for (const client of [{}, null]) {
      expect(() => make({} as never, 'lock' as never, client as never)).toThrow(TypeError);
    }
  }
});

test.each([5, 'x', null])('Locks of NestJS and their methods refuse the options %p', (options) => {
  expect(() => new Locks(redis, options as never)).toThrow(TypeError);
  expect(() => new Locks(redis).mutex('lock', options as never)).toThrow(TypeError);
});

describe('calls', () => {
  const sides = new ReadWriteLock(redis, 'lock', { prefix });
  const semaphore = new Semaphore(redis, 'lock', { permits: 2, prefix });
  const latch = new CountDownLatch(redis, 'lock', { count: 1, prefix });
  const locks = {
    Mutex: new Mutex(redis, 'lock', { prefix }),
    'ReadWriteLock.read': sides.read,
    'ReadWriteLock.write': sides.write,
    MultiLock: new MultiLock(redis, ['lock', 'other'], { prefix }),
    Semaphore: semaphore,
    QuorumMutex: new QuorumMutex(nodes, 'lock', { prefix }),
  };
  type Call = readonly [string, (options: never) => Promise<unknown>];
  const waits: Call[] = [
    ...Object.entries(locks).flatMap(([kind, lock]): Call[] => [
      [`acquire of ${kind}`, (options) => lock.acquire(options)],
      [`using of ${kind}`, (options) => lock.using(() => 1, options)],
    ]),
    ['wait', (options) => latch.wait(options)],
  ];
  const others: Call[] = [
    ['tryAcquire of Semaphore', (options) => semaphore.tryAcquire(options)],
    ['countDown', (options) => latch.countDown(options)],
  ];

  test.each([...waits, ...others])(
    '%s refuses options that are no object, and unknown ones',
    async (_, call) => {
      for (const options of [5, 'x', null]) {
        await expect(call(options as never)).rejects.toEqual(misuse(TypeError));
      }
      await expect(call({ wait: 5 } as never)).rejects.toThrow(/ has no option "wait"; there are /);
    },
  );

  test.each(waits)('%s refuses bad waits and signals', async (_, call) => {
    for (const waitMs of [-1, 86_400_001, Number.NaN, Infinity, -Infinity]) {
      const message = `waitMs must be from 0 to 86400000 ms, got ${waitMs}`;
      await expect(call({ waitMs } as never)).rejects.toEqual(misuse(RangeError, message));
    }
    for (const options of [
      { waitMs: '5' },
      { waitMs: null },
      { signal: {} },
      { signal: null },
      { signal: 'x' },
    ]) {
      await expect(call(options as never)).rejects.toEqual(misuse(TypeError));
    }
  });

  test.each(Object.entries(locks))('using of %s refuses a section that is no function', async (_, lock) => {
    for (const section of [undefined, null, 5, Promise.resolve()]) {
      await expect(lock.using(section as never)).rejects.toEqual(misuse(TypeError));
    }
  });

  test.each([...INTEGERS, 3])('a semaphore of two refuses permits %p', async (permits) => {
    const refusal = misuse(RangeError, `permits must be a whole number from 1 to 2, got ${permits}`);
    await expect(semaphore.acquire({ permits })).rejects.toEqual(refusal);
    await expect(semaphore.tryAcquire({ permits })).rejects.toEqual(refusal);
    await expect(semaphore.using(() => 1, { permits })).rejects.toEqual(refusal);
  });

  test.each([...INTEGERS, 1_000_001])('no semaphore has %p permits', async (permits) => {
    const refusal = misuse(RangeError, `permits must be a whole number from 1 to 1000000, got ${permits}`);
    expect(refusalOf(() => new Semaphore(redis, 'lock', { permits }))).toEqual(refusal);
    await expect(semaphore.setPermits(permits)).rejects.toEqual(refusal);
  });

  test.each([{ permits: undefined }, { permits: null }, { permits: '2' }, { permits: 2n }])(
    'no semaphore is made with %p',
    (options) => {
      expect(() => new Semaphore(redis, 'lock', options as never)).toThrow(TypeError);
      expect(() => new Semaphore(redis, 'lock', undefined as never)).toThrow(TypeError);
    },
  );
});

test('nothing of all that has reached Redis', async () => {
  expect(await redis.keys(`${prefix}:*`)).toEqual([]);
});

describe('tryAcquire', () => {
  const lock = new ReadWriteLock(redis, 'lock', { prefix });
  const locks: Record<string, { tryAcquire: (options: never) => Promise<unknown> }> = {
    Mutex: new Mutex(redis, 'lock', { prefix }),
    MultiLock: new MultiLock(redis, ['lock'], { prefix }),
    'a reader': lock.read,
    'a writer': lock.write,
    QuorumMutex: new QuorumMutex(nodes, 'lock', { prefix }),
  };

  test.each(Object.keys(locks))('of %s refuses options, which are those of the constructor', async (kind) => {
    const refused = misuse(TypeError, 'tryAcquire has no option "leaseMs"; there are none');
    await expect(locks[kind]!.tryAcquire({ leaseMs: 60_000 } as never)).rejects.toEqual(refused);
  });
});

describe('renew', () => {
  test.each(['Mutex', 'MultiLock'])('of a %s refuses a duration, which is that of the lock', async (kind) => {
    const name = `renew of ${kind}`;
    const lock =
      kind === 'Mutex' ? new Mutex(redis, name, { prefix }) : new MultiLock(redis, [name], { prefix });
    await using lease = await lock.acquire();
    const renew = lease.renew.bind(lease) as (options: unknown) => Promise<void>;
    for (const wrong of [60_000, { leaseMs: 60_000 }]) {
      await expect(renew(wrong)).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
    }
    await renew({});
  });
});

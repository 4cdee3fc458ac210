import { readFile } from 'node:fs/promises';
import { expect, jest, test } from '@jest/globals';
import { CountDownLatch, MultiLock, Mutex, RateLimiter, ReadWriteLock, Semaphore } from '@mortise/locks';
import { otelTelemetry } from '@mortise/locks/otel';
import type { Telemetry } from '@mortise/redis';
import { connect, freshPrefix } from '@mortise/test-kit';
import * as api from '@opentelemetry/api';
import { METRICS } from '../../src/telemetry/metrics.js';

const redis = connect();

/** Everything that is counted and recorded: name, unit, attributes without their prefix. */
function recorder(): { telemetry: Telemetry; seen: string[] } {
  const seen: string[] = [];
  const write = ({ name, unit }: { name: string; unit: string }, value: number, attributes: object): void => {
    const result = value >= 0 ? unit : `${unit} ${value}`;
    seen.push([name.replace('mortise.locks.', ''), result, ...Object.values(attributes)].join(' '));
  };
  return { telemetry: { count: write, record: write }, seen };
}

test('each kind measures its waits and its leases', async () => {
  const { telemetry, seen } = recorder();
  const options = { prefix: freshPrefix(), telemetry };
  const sides = new ReadWriteLock(redis, 'lock', options);
  const locks = [
    new Mutex(redis, 'lock', options),
    sides.read,
    sides.write,
    new MultiLock(redis, ['a', 'b'], options),
    new Semaphore(redis, 'lock', { ...options, permits: 1 }),
  ];
  for (const lock of locks) await (await lock.acquire()).release();
  const limiter = new RateLimiter(redis, 'lock', { ...options, limit: 1, periodMs: 60_000 });
  for (const cost of [0, 1, 1]) await limiter.take(cost);
  const latch = new CountDownLatch(redis, 'lock', { ...options, count: 1 });
  await expect(latch.wait({ waitMs: 0 })).rejects.toMatchObject({ code: 'ERR_LATCH_TIMEOUT' });
  await latch.countDown();
  await latch.wait();
  expect(seen).toMatchInlineSnapshot(`
[
  "wait s mutex granted",
  "hold s mutex",
  "wait s read granted",
  "hold s read",
  "wait s write granted",
  "hold s write",
  "wait s multi-lock granted",
  "hold s multi-lock",
  "wait s semaphore granted",
  "hold s semaphore",
  "takes {take} rate-limiter allowed",
  "takes {take} rate-limiter refused",
  "wait s latch timeout",
  "wait s latch granted",
]
`);
});

test('outcomes of a wait and the loss of a lease', async () => {
  const { telemetry, seen } = recorder();
  const mutex = new Mutex(redis, 'lock', { prefix: freshPrefix(), telemetry });
  const lease = await mutex.acquire();
  expect(await mutex.tryAcquire()).toBeNull();
  await expect(mutex.acquire({ waitMs: 0 })).rejects.toMatchObject({ code: 'ERR_LOCK_TIMEOUT' });
  await expect(mutex.acquire({ signal: AbortSignal.abort('enough') })).rejects.toBe('enough');
  await mutex.forceRelease();
  await expect(lease.renew()).rejects.toMatchObject({ reason: 'taken' });
  expect(await lease.release()).toBe(false);
  expect(seen).toMatchInlineSnapshot(`
[
  "wait s mutex granted",
  "wait s mutex refused",
  "wait s mutex timeout",
  "wait s mutex failed",
  "hold s mutex",
  "lost {lease} mutex taken",
]
`);
});

test('a telemetry that throws harms nothing, and one that is no object is refused', async () => {
  const telemetry = {
    record: () => {
      throw new Error('broken');
    },
  };
  const { error } = console;
  console.error = () => undefined;
  try {
    const mutex = new Mutex(redis, 'lock', { prefix: freshPrefix(), telemetry });
    expect(await mutex.using(() => 1)).toBe(1);
  } finally {
    console.error = error;
  }
  expect(() => new Mutex(redis, 'lock', { telemetry: 7 as unknown as Telemetry })).toThrow(TypeError);
});

test('the adapter to OpenTelemetry counts and records under the scope of the package', async () => {
  const seen: unknown[] = [];
  const meter = api.metrics.getMeter('none');
  jest.spyOn(api.metrics, 'getMeter').mockImplementation((scope) =>
    Object.assign(Object.create(meter) as api.Meter, {
      createCounter: (name: string) => ({ add: (value: number) => seen.push([scope, name, value]) }),
      createHistogram: (name: string) => ({ record: () => seen.push([scope, name]) }),
    }),
  );
  const options = { prefix: freshPrefix(), telemetry: otelTelemetry(api) };
  await (await new Mutex(redis, 'lock', options).acquire()).release();
  await new RateLimiter(redis, 'lock', { ...options, limit: 1, periodMs: 60_000 }).take();
  expect(seen).toEqual([
    ['@mortise/locks', 'mortise.locks.wait'],
    ['@mortise/locks', 'mortise.locks.hold'],
    ['@mortise/locks', 'mortise.locks.takes', 1],
  ]);
  jest.restoreAllMocks();
});

test('the reference lists all metrics', async () => {
  const page = new URL('../../../../docs/locks/reference/metrics.md', import.meta.url);
  expect((await readFile(page, 'utf8')).match(/(?<=\| `)mortise\.locks\.\w+/g)).toEqual(
    METRICS.map(({ name }) => name),
  );
});

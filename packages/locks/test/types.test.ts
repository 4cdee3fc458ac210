import { expect, test } from '@jest/globals';
import { LeaseLostError, LockTimeoutError, Mutex } from '@mortise/locks';
import type { AcquireOptions, Lease, LeaseEnd, MutexOptions, MutexState } from '@mortise/locks';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Cluster } from 'ioredis';

const redis = connect();

test('the types are what the README says', async () => {
  const options: MutexOptions = {
    leaseMs: 1_000,
    fair: true,
    renew: true,
    fencing: true,
    maxHoldMs: 5_000,
    prefix: freshPrefix(),
  };
  const wait: AcquireOptions = { waitMs: 1_000, signal: new AbortController().signal };
  const mutex = new Mutex(redis, 'lock', options);
  const lease: Lease = await mutex.acquire(wait);
  const token: number = lease.fencingToken;
  const isValid: boolean = lease.isValid;
  const signal: AbortSignal = lease.signal;
  const expiresAt: number = lease.expiresAt;
  const holder: string = lease.holder;
  const renewed: void = await lease.renew();
  const released: boolean = await lease.release();
  const attempt: Lease | null = await mutex.tryAcquire();
  await attempt?.release();
  const text: string = await mutex.using((_signal: AbortSignal, inner: Lease) => `${inner.isValid}`);
  const later: number = await mutex.using(async () => Promise.resolve(1), wait);
  const state: MutexState = await mutex.inspect();
  const position: number | null = state.position;
  const forced: boolean =
    (await mutex.forceRelease()) || (await mutex.renewFor(holder)) || (await mutex.releaseFor(holder));
  expect([token > 0, isValid, signal.aborted, expiresAt > 0, holder.length > 20]).toEqual([
    true,
    true,
    false,
    true,
    true,
  ]);
  expect([renewed, released, text, later, state.holder, position, forced]).toEqual([
    undefined,
    true,
    'true',
    1,
    null,
    null,
    false,
  ]);
});

test('errors have literal codes and typed fields', () => {
  expect(fieldsOf(new LockTimeoutError('lock', 10))).toBe('lock 10');
  expect(fieldsOf(new LeaseLostError('lock "lock"', 'taken', { fencingToken: 7 }))).toBe('7 taken');
});

function fieldsOf(error: LockTimeoutError | LeaseLostError): string {
  if (error.code === 'ERR_LOCK_TIMEOUT') return `${error.lockName} ${error.waitMs}`;
  const reason: LeaseEnd = error.reason;
  return `${error.fencingToken} ${reason}`;
}

test('misuse that the compiler refuses also throws at run time', async () => {
  // @ts-expect-error -- a URL is no client
  expect(() => new Mutex('redis://127.0.0.1', 'lock')).toThrow(TypeError);
  // @ts-expect-error -- the name is missing
  expect(() => new Mutex(redis)).toThrow(TypeError);
  // @ts-expect-error -- a lease is a number
  expect(() => new Mutex(redis, 'lock', { leaseMs: '10s' })).toThrow(TypeError);
  const mutex = new Mutex(redis, 'lock', { prefix: freshPrefix() });
  // @ts-expect-error -- a wait is a number
  await expect(mutex.acquire({ waitMs: '10s' })).rejects.toThrow(TypeError);
  // @ts-expect-error -- no such option
  expect(await mutex.tryAcquire({ waitMs: 10 }).then((lease) => lease?.release())).toBe(true);
});

test('a Cluster is a client', () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(new Mutex(cluster, 'lock')).toBeInstanceOf(Mutex);
  cluster.disconnect();
});

/** Leases of loads for clients without loaders. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { LoadLeases } from '@mortise/cache/loads';
import type { LoadLeasesOptions, LoadReply } from '@mortise/cache/loads';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { GatedLoader, pagesOf, waiting } from '../fixture/cached.js';

const redis = connect();
const other = connect();
const MINUTE_MS = 60_000;
const LONG = { leaseMs: MINUTE_MS, waitMs: MINUTE_MS };

const open = new Set<LoadLeases>();
afterEach(async () => {
  await Promise.all([...open].map((leases) => leases.stop()));
  open.clear();
});

function leasesOf(
  prefix: string,
  { client = redis, ...options }: LoadLeasesOptions & { client?: typeof redis } = {},
): LoadLeases {
  const leases = new LoadLeases(client, 'pages', {
    prefix,
    jitter: 0,
    earlyRefresh: 0,
    commandTimeoutMs: 20_000,
    ...options,
  });
  open.add(leases);
  return leases;
}

/** The token of a granted lease. */
function tokenOf({ lease }: LoadReply<unknown>): string {
  expect(lease).toBeDefined();
  return lease!.token;
}

test('one client of all loads, the others get its value', async () => {
  const prefix = freshPrefix();
  const sides = [leasesOf(prefix), leasesOf(prefix, { client: other })];
  const asked = Array.from({ length: 50 }, (_, n) => sides[n % 2]!.request('a', LONG));
  const { lease } = await Promise.race(asked);
  expect(await sides[1]!.store('a', lease!.token, { title: 'A' })).toBe(true);
  const replies = await Promise.all(asked);
  const values = replies.filter((reply) => reply.lease === undefined).map(({ value }) => value);
  expect(values).toEqual(Array.from({ length: 49 }, () => ({ title: 'A' })));
  expect(await sides[0]!.request('a')).toEqual({ value: { title: 'A' }, lease: undefined });
});

test('programs wait for clients, and clients for programs', async () => {
  const prefix = freshPrefix();
  const leases = leasesOf(prefix);
  const { cache } = pagesOf<string>(other, { prefix });
  const token = tokenOf(await leases.request('a', LONG));
  const loader = new GatedLoader<string>();
  const reading = cache.getOrLoad('a', loader.load);
  await waiting(redis, prefix, 'a');
  await leases.store('a', token, 'of the client');
  expect(await reading).toBe('of the client');
  const loading = cache.getOrLoad('b', loader.load);
  const call = await loader.call(0);
  const asked = leases.request('b', LONG);
  await waiting(redis, prefix, 'b');
  call.open('of the program');
  expect(await loading).toBe('of the program');
  expect(await asked).toEqual({ value: 'of the program', lease: undefined });
});

test('when a loader dies, one waiter gets the lease at its end', async () => {
  const leases = leasesOf(freshPrefix());
  const dead = tokenOf(await leases.request('a', { leaseMs: 100 }));
  const waiters = [leases.request('a', LONG), leases.request('a', LONG)];
  const token = tokenOf(await Promise.race(waiters));
  expect(await leases.store('a', dead, 'late')).toBe(false);
  expect(await leases.store('a', token, 'second')).toBe(true);
  const values = (await Promise.all(waiters)).map(({ value }) => value);
  expect(new Set(values)).toEqual(new Set(['second', undefined]));
});

describe('a change during the load', () => {
  test.each([
    ['delete', undefined],
    ['set', 'set'],
    ['invalidateTag', undefined],
  ] as const)('%s: the value is not stored', async (change, stored) => {
    const prefix = freshPrefix();
    const leases = leasesOf(prefix);
    const { cache } = pagesOf<string>(other, { prefix });
    const token = tokenOf(await leases.request('a', LONG));
    await {
      delete: () => cache.delete('a'),
      set: () => cache.set('a', 'set'),
      invalidateTag: () => cache.invalidateTag('t'),
    }[change]();
    expect(await leases.store('a', token, 'old', { tags: ['t'] })).toBe(false);
    expect(await cache.get('a')).toBe(stored);
  });

  test('after the invalidation of a tag that is known, nobody waits for the load', async () => {
    const prefix = freshPrefix();
    const leases = leasesOf(prefix);
    const old = tokenOf(await leases.request('a', { ...LONG, tags: ['t'] }));
    await pagesOf(other, { prefix }).cache.invalidateTag('t');
    const token = tokenOf(await leases.request('a', { ...LONG, tags: ['t'] }));
    expect(await leases.store('a', old, 'old', { tags: ['t'] })).toBe(false);
    expect(await leases.store('a', token, 'new', { tags: ['t'] })).toBe(true);
  });
});

test('a repeated store is recognised, one with an older token is refused', async () => {
  const prefix = freshPrefix();
  const leases = leasesOf(prefix);
  const token = tokenOf(await leases.request('a'));
  expect([await leases.store('a', token, 1), await leases.store('a', token, 1)]).toEqual([true, true]);
  await pagesOf(other, { prefix }).cache.set('a', 2);
  expect(await leases.store('a', token, 1)).toBe(false);
});

test('a known absence is null, for ttlMs', async () => {
  const prefix = freshPrefix();
  const leases = leasesOf(prefix);
  const token = tokenOf(await leases.request('a'));
  expect(await leases.store('a', token, null, { ttlMs: MINUTE_MS })).toBe(true);
  expect(await leases.request('a')).toEqual({ value: null, lease: undefined });
  expect(await redis.pttl(`${prefix}:cache:{pages}:value:a`)).toBeGreaterThan(MINUTE_MS / 2);
});

test('release gives the lease to a waiter', async () => {
  const prefix = freshPrefix();
  const leases = leasesOf(prefix);
  const token = tokenOf(await leases.request('a', LONG));
  const next = leasesOf(prefix, { client: other }).request('a', LONG);
  await waiting(redis, prefix, 'a');
  await leases.release('a', token);
  expect(tokenOf(await next)).not.toBe(token);
});

test('a stale value is returned at once, to one caller with the lease, and not again soon after a failed load', async () => {
  const prefix = freshPrefix();
  const leases = leasesOf(prefix, { retryMs: MINUTE_MS });
  const { cache } = pagesOf<string>(other, { prefix });
  await cache.set('a', 'stale', { staleMs: MINUTE_MS });
  await cache.expire('a', 0);
  const first = await leases.request('a', LONG);
  expect(first.value).toBe('stale');
  expect(await leases.request('a', LONG)).toEqual({ value: 'stale', lease: undefined });
  await leases.release('a', tokenOf(first));
  expect(await leases.request('a', LONG)).toEqual({ value: 'stale', lease: undefined });
});

test('a wait ends after waitMs or with its signal', async () => {
  const prefix = freshPrefix();
  const leases = leasesOf(prefix);
  await leases.request('a', LONG);
  expect(await leases.request('a', { waitMs: 1 })).toEqual({ value: undefined, lease: undefined });
  const controller = new AbortController();
  const asked = leases.request('a', { ...LONG, signal: controller.signal });
  await waiting(redis, prefix, 'a');
  controller.abort(new Error('over'));
  await expect(asked).rejects.toThrow('over');
});

test('shards place a key as a cache does', async () => {
  const prefix = freshPrefix();
  const leases = leasesOf(prefix, { shards: 4 });
  const { cache } = pagesOf<string>(other, { prefix, shards: 4 });
  for (const key of ['a', 'b', 'c', '{a}d']) {
    expect(await leases.store(key, tokenOf(await leases.request(key)), key)).toBe(true);
    expect(await cache.get(key)).toBe(key);
  }
});

test.each([
  ['waitMs', { waitMs: -1 }],
  ['leaseMs', { leaseMs: 99 }],
  ['tags', { tags: 't' as never }],
  ['ttlMs', { ttlMs: 5 } as never],
])('request refuses a wrong %s', async (name, options) => {
  const asked = leasesOf(freshPrefix()).request('a', options);
  await expect(asked).rejects.toMatchObject({
    code: 'ERR_INVALID_ARG',
    message: expect.stringContaining(name),
  });
});

test.each(['', '0', '-1', 'x', '1e3', 7 as never])('%j is no token', async (token) => {
  const leases = leasesOf(freshPrefix());
  await expect(leases.store('a', token, 1)).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
  await expect(leases.release('a', token)).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
});

test('the lease is gone after a store', async () => {
  const prefix = freshPrefix();
  const leases = leasesOf(prefix);
  await leases.store('a', tokenOf(await leases.request('a')), 1);
  await until(
    'the end of the lease',
    async () => (await redis.exists(`${prefix}:cache:{pages}:lease:a`)) === 0,
  );
  expect(await redis.keys(`${prefix}:*lease*`)).toEqual([]);
});

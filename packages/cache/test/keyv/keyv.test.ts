/** The store under Keyv. The suite of Keyv itself runs in tooling/consumers: it needs dozens of packages. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { connect, disconnect, freshPrefix, until } from '@mortise/test-kit';
import { Keyv } from 'keyv';
import type { KeyvStoreAdapter } from 'keyv';
import { KeyvStore } from '../../src/keyv/index.js';
import type { KeyvStoreOptions } from '../../src/keyv/index.js';

const redis = connect();
const other = connect();
const open: Keyv[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((keyv) => keyv.disconnect()));
});

function keyvOf<Value = unknown>(
  options: KeyvStoreOptions = {},
  { client = redis, ...given }: { client?: typeof redis; ttl?: number; namespace?: string } = {},
): Keyv<Value> {
  const store = new KeyvStore(client, 'values', { prefix: freshPrefix(), ...options });
  const keyv = new Keyv<Value>({ store, throwOnErrors: true, ...given });
  open.push(keyv);
  return keyv;
}

describe('set', () => {
  test.each([null, false, 0, '', 'text', { a: [1, 'b'] }, Buffer.from([0, 255]), [undefined, null]])(
    'stores %j',
    async (value) => {
      const keyv = keyvOf();
      expect(await keyv.set('a', value)).toBe(true);
      const expected = Array.isArray(value) ? [null, null] : value;
      expect(await keyv.get('a')).toEqual(expected);
      expect(await keyv.has('a')).toBe(true);
    },
  );

  test('stores what Keyv passes without a serializer, text and bytes alike', async () => {
    const keyv = keyvOf();
    const { store } = keyv as { store: KeyvStore };
    for (const value of ['text', Buffer.from('text'), { value: 'text' }]) {
      await store.set('a', value);
      expect(await store.get('a')).toEqual(value);
    }
  });

  test('a value ends with its time to live, to the ms that Keyv gave', async () => {
    const prefix = freshPrefix();
    const keyv = keyvOf({ prefix }, { ttl: 86_400_000 });
    await keyv.set('day', 1);
    await keyv.set('second', 1, 1_000);
    await keyv.set('brief', 1, 20);
    expect(await redis.pttl(`${prefix}:cache:{values}:value:%00=keyv%00keyv:day`)).toBeGreaterThan(
      86_390_000,
    );
    expect(await redis.pttl(`${prefix}:cache:{values}:value:%00=keyv%00keyv:second`)).toBeGreaterThan(900);
    await until('the end', async () => (await keyv.get('brief')) === undefined);
    expect(await keyv.get('second')).toBe(1);
  });

  test('a value without one is kept for ttlMs, and none longer than 365 days', async () => {
    const prefix = freshPrefix();
    const keyv = keyvOf({ prefix, ttlMs: 5_000 });
    await keyv.set('default', 1);
    await keyv.set('century', 1, 100 * 365 * 86_400_000);
    await keyv.set('over', 1, -1);
    const pttl = (key: string) => redis.pttl(`${prefix}:cache:{values}:value:%00=keyv%00keyv:${key}`);
    expect(await pttl('default')).toBeLessThanOrEqual(5_000);
    expect(await pttl('century')).toBeLessThanOrEqual(365 * 86_400_000);
    expect(await pttl('century')).toBeGreaterThan(364 * 86_400_000);
    expect(await pttl('over')).toBe(-2);
  });

  test('a value that is too large is refused', async () => {
    const keyv = keyvOf({ maxPayloadBytes: 100 });
    await expect(keyv.set('a', 'x'.repeat(200))).rejects.toMatchObject({ code: 'ERR_CACHE_VALUE_TOO_LARGE' });
    expect(await keyv.get('a')).toBeUndefined();
  });
});

describe('many keys', () => {
  test('are written and read in their order', async () => {
    const keyv = keyvOf();
    expect(await keyv.setMany([1, 2, 3].map((value) => ({ key: `k${value}`, value })))).toEqual([
      true,
      true,
      true,
    ]);
    expect(await keyv.get(['k3', 'none', 'k1'])).toEqual([3, undefined, 1]);
    expect(await keyv.hasMany(['k3', 'none'])).toEqual([true, false]);
    expect(await keyv.delete(['k1', 'none'])).toBe(true);
    expect(await keyv.delete(['k1', 'none'])).toBe(false);
    expect(await keyv.delete('k2')).toBe(true);
    expect(await keyv.get(['k1', 'k2', 'k3'])).toEqual([undefined, undefined, 3]);
  });
});

describe('clear', () => {
  test('ends one namespace, for all processes', async () => {
    const prefix = freshPrefix();
    const [ann, bob, none] = ['ann', 'bob', ''].map((namespace) => keyvOf({ prefix }, { namespace }));
    const annElsewhere = keyvOf({ prefix }, { client: other, namespace: 'ann' });
    for (const keyv of [ann!, bob!, none!]) await keyv.set('a', 1);
    await annElsewhere.clear();
    expect(await Promise.all([ann!, bob!, none!].map((keyv) => keyv.get('a')))).toEqual([undefined, 1, 1]);
    await none!.clear();
    expect(await Promise.all([bob!, none!].map((keyv) => keyv.get('a')))).toEqual([1, undefined]);
  });
});

describe('near', () => {
  test('a change by one process reaches the memory of the others', async () => {
    const prefix = freshPrefix();
    const [one, two] = [redis, other].map((client) =>
      keyvOf<string>({ prefix, near: { entries: 10 } }, { client }),
    );
    await one!.set('a', 'old');
    await until('a copy', async () => (await two!.get('a')) === 'old');
    await one!.set('a', 'new');
    await until('the change', async () => (await two!.get('a')) === 'new');
    expect(await two!.get('a')).toBe('new');
  });

  test('without Redis the values are in memory', async () => {
    const keyv = new Keyv({ store: new KeyvStore(null, 'values') });
    await keyv.set('a', { b: 1 });
    expect(await keyv.get('a')).toEqual({ b: 1 });
    await keyv.clear();
    expect(await keyv.get('a')).toBeUndefined();
    await keyv.disconnect();
  });
});

describe('without Redis', () => {
  test('reads find nothing, writes reject, and Keyv emits the failure', async () => {
    const client = connect();
    const store = new KeyvStore(client, 'values', { prefix: freshPrefix() });
    const keyv = new Keyv({ store });
    const errors: unknown[] = [];
    keyv.on('error', (error: unknown) => errors.push(error));
    await keyv.set('a', 1);
    disconnect(client);
    expect(await keyv.get('a')).toBeUndefined();
    expect(errors).toMatchObject([{ code: 'ERR_CLIENT_CLOSED' }]);
    expect(await keyv.set('a', 2)).toBe(false);
    expect(await keyv.delete('a')).toBe(false);
    expect(errors).toHaveLength(3);
  });
});

test('an unknown option is refused', () => {
  const options = { jitter: 0.1 } as KeyvStoreOptions;
  expect(() => new KeyvStore(redis, 'values', options)).toThrow(/jitter/);
});

test('the type of the store is that of Keyv', () => {
  const adapter: KeyvStoreAdapter = new KeyvStore(null, 'values');
  expect(adapter).toBeInstanceOf(KeyvStore);
});

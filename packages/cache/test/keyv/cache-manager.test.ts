/** The store under cache-manager and the cache module of NestJS. */
import 'reflect-metadata';
import { afterEach, describe, expect, test } from '@jest/globals';
import { connect, freshPrefix } from '@mortise/test-kit';
import { CACHE_MANAGER, CacheModule } from '@nestjs/cache-manager';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createCache } from 'cache-manager';
import type { Cache } from 'cache-manager';
import { Keyv } from 'keyv';
import { KeyvStore } from '../../src/keyv/index.js';

const redis = connect();
const caches: Cache[] = [];

afterEach(async () => {
  await Promise.all(caches.splice(0).map((cache) => cache.disconnect()));
});

function cacheOf(prefix = freshPrefix()): Cache {
  const store = new KeyvStore(redis, 'users', { prefix, near: { entries: 100 } });
  const cache = createCache({ stores: [new Keyv({ store })], ttl: 60_000 });
  caches.push(cache);
  return cache;
}

describe('cache-manager', () => {
  test('every call works', async () => {
    const cache = cacheOf();
    expect(await cache.get('a')).toBeUndefined();
    expect(await cache.set('a', { name: 'Ann' })).toEqual({ name: 'Ann' });
    expect(await cache.get('a')).toEqual({ name: 'Ann' });
    await cache.mset([
      { key: 'b', value: 2 },
      { key: 'c', value: 3, ttl: 1_000 },
    ]);
    expect(await cache.mget(['c', 'none', 'b'])).toEqual([3, undefined, 2]);
    expect((await cache.ttl('c'))! - Date.now()).toBeGreaterThan(500);
    expect(await cache.del('a')).toBe(true);
    expect(await cache.mdel(['b', 'c'])).toBe(true);
    expect(await cache.mget(['a', 'b', 'c'])).toEqual([undefined, undefined, undefined]);
    await cache.set('d', 4);
    expect(await cache.clear()).toBe(true);
    expect(await cache.get('d')).toBeUndefined();
  });

  test('wrap loads once, for the caches of two processes in turn', async () => {
    const prefix = freshPrefix();
    const [one, two] = [cacheOf(prefix), cacheOf(prefix)];
    let loads = 0;
    const load = async (): Promise<string> => `load ${(loads += 1)}`;
    expect(await Promise.all([one.wrap('a', load), one.wrap('a', load)])).toEqual(['load 1', 'load 1']);
    expect(await two.wrap('a', load)).toBe('load 1');
    expect(loads).toBe(1);
  });
});

describe('@nestjs/cache-manager', () => {
  test('a store is an option of its module', async () => {
    const prefix = freshPrefix();
    const stores = [new KeyvStore(redis, 'pages', { prefix })];

    @Module({ imports: [CacheModule.register({ stores, ttl: 60_000, namespace: 'app' })] })
    class App {}

    const app = await NestFactory.createApplicationContext(App, { logger: ['error'] });
    const cache = app.get<Cache>(CACHE_MANAGER);
    await cache.set('a', 'text');
    expect(await cache.get('a')).toBe('text');
    expect(await redis.exists(`${prefix}:cache:{pages}:value:%00=app%00app:a`)).toBe(1);
    await app.close();
  });
});

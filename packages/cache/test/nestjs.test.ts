import { afterEach, describe, expect, test } from '@jest/globals';
import type { Cache } from '@mortise/cache';
import type { Refresher, RowCache } from '@mortise/cache/rows';
import {
  Cached,
  Caches,
  CachesModule,
  Evicts,
  getCachesToken,
  getCacheToken,
  getRefresherToken,
  getRowCacheToken,
  InjectCache,
  InjectRefresher,
  InjectRowCache,
} from '@mortise/cache/nestjs';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import type { DynamicModule, INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { Injectable, Module, SetMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const redis = connect();

interface Page {
  readonly title: string;
}

const apps = new Set<INestApplicationContext>();

afterEach(async () => {
  await Promise.all([...apps].map((app) => app.close()));
  apps.clear();
});

async function boot(metadata: ModuleMetadata): Promise<INestApplicationContext> {
  @Module(metadata)
  class App {}
  const app = await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
  apps.add(app);
  return app;
}

@Injectable()
class Shop {
  readonly calls: string[] = [];
  readonly titles = new Map([['tools', 'Tools']]);

  constructor(@InjectCache('pages') readonly cache: Cache<Page>) {}

  @Cached('pages', { key: (id: string) => `page ${id}`, tags: (id) => [`tag ${id}`] })
  @SetMetadata('kind', 'page')
  async page(id: string): Promise<Page | null> {
    this.calls.push(id);
    const title = this.titles.get(id);
    if (title === 'broken') throw new Error('no such shelf');
    return title === undefined ? null : { title };
  }

  @Cached('pages', { key: 'all', tags: ['titles'], ttlMs: 3_600_000 })
  async all(): Promise<string[]> {
    this.calls.push('all');
    return [...this.titles.values()];
  }

  @Cached('pages', { key: (options: { readonly id: string }) => `item ${options.id}` })
  async item({ id }: { readonly id: string }): Promise<string> {
    return id;
  }

  @Evicts('pages', { keys: (id: string) => [`page ${id}`], tags: ['titles'] })
  async rename(id: string, title: string): Promise<string> {
    if (title === '') throw new RangeError('a title is needed');
    this.titles.set(id, title);
    return title;
  }
}

const wrong = { ttl: 5 };
const PAGES = CachesModule.forFeature({ caches: { pages: { near: {} } } });

function pages(): DynamicModule[] {
  return [CachesModule.forRoot({ redis, prefix: freshPrefix(), jitter: 0 }), PAGES];
}

describe('Cached and Evicts', () => {
  test('run a method when the cache has no result, and remove what has changed', async () => {
    const shop = (await boot({ imports: pages(), providers: [Shop] })).get(Shop);
    expect(await shop.page('tools')).toEqual({ title: 'Tools' });
    expect(await shop.page('tools')).toEqual({ title: 'Tools' });
    expect(await shop.page('none')).toBeNull();
    expect(await shop.page('none')).toBeNull();
    expect(await shop.all()).toEqual(['Tools']);
    expect(await shop.all()).toEqual(['Tools']);
    expect(shop.calls).toEqual(['tools', 'none', 'all']);
    expect(await shop.rename('tools', 'Hand tools')).toBe('Hand tools');
    expect(await shop.page('tools')).toEqual({ title: 'Hand tools' });
    expect(await shop.all()).toEqual(['Hand tools']);
    expect(await shop.page('none')).toBeNull();
    expect(shop.calls).toEqual(['tools', 'none', 'all', 'tools', 'all']);
    await shop.cache.invalidateTag('tag none');
    await shop.page('none');
    expect(shop.calls.at(-1)).toBe('none');
  });

  test('cache and remove nothing when the method throws', async () => {
    const shop = (await boot({ imports: pages(), providers: [Shop] })).get(Shop);
    shop.titles.set('broken', 'broken');
    await expect(shop.page('broken')).rejects.toThrow('no such shelf');
    await expect(shop.page('broken')).rejects.toThrow('no such shelf');
    expect(shop.calls).toEqual(['broken', 'broken']);
    await shop.page('tools');
    await expect(shop.rename('tools', '')).rejects.toThrow(RangeError);
    await shop.page('tools');
    expect(shop.calls).toEqual(['broken', 'broken', 'tools']);
  });

  test('reject when what makes the key throws', async () => {
    const shop = (await boot({ imports: pages(), providers: [Shop] })).get(Shop);
    const item = shop.item(undefined as never);
    await expect(item).rejects.toThrow(TypeError);
  });

  test('leave the name of the method, and what other decorators have left on it', () => {
    const page = Object.getOwnPropertyDescriptor(Shop.prototype, 'page')?.value as () => unknown;
    expect(page.name).toBe('page');
    expect(Reflect.getMetadata('kind', page)).toBe('page');
  });

  test('let the boot fail for a cache that is not there', async () => {
    const imports = [CachesModule.forRoot({ redis }), CachesModule.forFeature({ caches: { others: {} } })];
    await expect(boot({ imports, providers: [Shop] })).rejects.toThrow(getCacheToken('pages'));
  });
});

describe('CachesModule', () => {
  test('takes what a factory makes, and closes with the application', async () => {
    const prefix = freshPrefix();
    const named = connect();
    (named.options as { connectionName?: string }).connectionName = prefix;
    const own = async (): Promise<number> => {
      const list = (await redis.call('client', ['list'])) as string;
      return list.split('\n').filter((line) => line.includes(`name=${prefix}:mortise-near-`)).length;
    };
    const imports = [CachesModule.forRootAsync({ useFactory: () => ({ redis: named, prefix }) }), PAGES];
    const app = await boot({ imports, providers: [Shop] });
    await app.get(Shop).page('tools');
    await until('the near tier', async () => (await own()) === 2);
    await app.close();
    await until('the end of its connections', async () => (await own()) === 0);
    expect(named.status).toBe('ready');
  });

  test('provides row caches, and refreshers that run with the application', async () => {
    const load = async (ids: readonly string[]): Promise<Map<string, Page>> =>
      new Map(ids.map((id) => [id, { title: `title ${id}` }]));
    const imports = [
      CachesModule.forRoot({ redis, prefix: freshPrefix() }),
      CachesModule.forFeature({ rows: { items: { load } }, refreshers: { all: { tables: ['items'] } } }),
    ];
    @Injectable()
    class Shelf {
      constructor(
        @InjectRowCache('items') readonly rows: RowCache<Page>,
        @InjectRefresher('all') readonly refresher: Refresher,
      ) {}
    }
    const app = await boot({ imports, providers: [Shelf] });
    const { rows, refresher } = app.get(Shelf);
    await rows.schedule('42', { everyMs: 3_600_000 });
    await until('the row', async () => (await rows.get('42'))?.title === 'title 42');
    await app.close();
    const { batches } = refresher.stats();
    await rows.refresh('42');
    expect(refresher.stats().batches).toBe(batches);
    expect(app.get(getRefresherToken('all'))).toBe(refresher);
  });

  test('makes caches for providers by name, in an application with several modules', async () => {
    const imports = [
      CachesModule.forRoot({ redis, prefix: freshPrefix(), name: 'billing' }),
      CachesModule.forRoot({ redis, prefix: freshPrefix() }),
    ];
    const app = await boot({ imports });
    const [billing, others] = [app.get<Caches>(getCachesToken('billing')), app.get(Caches)];
    await billing.cache<string>('pages').set('a', 'billing');
    expect(await others.cache('pages').get('a')).toBeUndefined();
    expect(await billing.cache('pages').get('a')).toBe('billing');
  });

  test.each([
    [
      'an invalid option of a cache',
      () => [CachesModule.forRoot({ redis }), CachesModule.forFeature({ caches: { pages: { shards: 0 } } })],
      'CachesModule.forFeature: shards must be a whole number from 1 to 64, got 0',
    ],
    [
      'an unknown default',
      () => [CachesModule.forRoot({ redis, ...wrong })],
      'CachesModule: Cache has no option "ttl"',
    ],
    [
      'a wrong client',
      () => [CachesModule.forRoot({ redis: 'redis://127.0.0.1' as never })],
      'CachesModule: ',
    ],
    [
      'a refresher of an unknown table',
      () => [
        CachesModule.forRoot({ redis }),
        CachesModule.forFeature({ refreshers: { all: { tables: ['none'] } } }),
      ],
      getRowCacheToken('none'),
    ],
  ])('lets the boot fail for %s', async (_, imports, message) => {
    await expect(boot({ imports: imports() })).rejects.toThrow(message);
  });
});

import { describe, expect, test } from '@jest/globals';
import { Cache } from '@mortise/cache';
import { ChangeFeed, Refresher, RowCache } from '@mortise/cache/rows';
import {
  Cached,
  Caches,
  CachesModule,
  Evicts,
  getCachesToken,
  getCacheToken,
  getChangeFeedToken,
  getRefresherToken,
  getRowCacheToken,
  InjectCache,
  InjectCaches,
  InjectChangeFeed,
  InjectRefresher,
  InjectRowCache,
} from '@mortise/cache/nestjs';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { boot, describeModule } from '@mortise/test-kit/nestjs';
import type { DynamicModule } from '@nestjs/common';
import { Injectable, SetMetadata } from '@nestjs/common';
import { nearConnectionsOf } from '../fixture/cached.js';
import { memorySource } from '../fixture/memory-source.js';

const redis = connect();

interface Page {
  readonly title: string;
}

const source = memorySource();

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

  test.each([
    ['@Cached has no option "ttl"', () => Cached('pages', { key: 'all', ttl: 5 } as never)],
    ['@Evicts has no option "key"', () => Evicts('pages', { key: 'all' } as never)],
    ['options must be an object', () => Evicts('pages', null as never)],
  ])('refuse wrong options at once: %s', (message, decorate) => {
    expect(decorate).toThrow(message);
  });

  test('let the boot fail for a cache that is not there', async () => {
    const imports = [CachesModule.forRoot({ redis }), CachesModule.forFeature({ caches: { others: {} } })];
    await expect(boot({ imports, providers: [Shop] })).rejects.toThrow(getCacheToken('pages'));
  });
});

describe('CachesModule', () => {
  test('closes near tiers with the application, and not the client', async () => {
    const prefix = freshPrefix();
    const named = connect();
    (named.options as { connectionName?: string }).connectionName = prefix;
    const own = async (): Promise<number> => (await nearConnectionsOf(redis, prefix)).length;
    const app = await boot({
      imports: [CachesModule.forRoot({ redis: named, prefix }), PAGES],
      providers: [Shop],
    });
    await app.get(Shop).page('tools');
    await until('the near tier', async () => (await own()) === 2);
    await app.close();
    await until('the end of its connections', async () => (await own()) === 0);
    expect(named.status).toBe('ready');
  });

  test('runs refreshers and change feeds with the application', async () => {
    const load = async (ids: readonly string[]): Promise<Map<string, Page>> =>
      new Map(ids.map((id) => [id, { title: `title ${id}` }]));
    const imports = [
      CachesModule.forRoot({ redis, prefix: freshPrefix() }),
      CachesModule.forFeature({
        rows: { items: { load } },
        refreshers: { all: { tables: ['items'] } },
        feeds: { changes: { source, table: 'items' } },
      }),
    ];
    const app = await boot({ imports });
    const rows = app.get<RowCache<Page>>(getRowCacheToken('items'), { strict: false });
    const refresher = app.get<Refresher>(getRefresherToken('all'), { strict: false });
    const feed = app.get<ChangeFeed>(getChangeFeedToken('changes'), { strict: false });
    await rows.schedule('42', { everyMs: 3_600_000 });
    await until('the row', async () => (await rows.get('42'))?.title === 'title 42');
    await until('the feed', () => feed.stats().isReading);
    await app.close();
    expect(feed.stats().isReading).toBe(false);
    const { batches } = refresher.stats();
    await rows.refresh('42');
    expect(refresher.stats().batches).toBe(batches);
  });
});

describeModule({
  module: CachesModule,
  provided: [[Caches, getCachesToken, InjectCaches]],
  refused: [[{ ttl: 5 }, TypeError, 'Cache has no option "ttl"']],
  feature: {
    given: {
      caches: { pages: {} },
      rows: { items: { load: async () => new Map() } },
      refreshers: { all: { tables: ['items'] } },
      feeds: { changes: { source, table: 'items' } },
    },
    provided: [
      [Cache, (module) => getCacheToken('pages', module), (module) => InjectCache('pages', module)],
      [RowCache, (module) => getRowCacheToken('items', module), (module) => InjectRowCache('items', module)],
      [Refresher, (module) => getRefresherToken('all', module), (module) => InjectRefresher('all', module)],
      [
        ChangeFeed,
        (module) => getChangeFeedToken('changes', module),
        (module) => InjectChangeFeed('changes', module),
      ],
    ],
    refused: [
      [
        { caches: { pages: { shards: 0 } } },
        'CachesModule.forFeature: shards must be a whole number from 1 to 64, got 0',
      ],
      [{ refreshers: { all: {} } }, 'tables must be an array, got undefined'],
      [{ refreshers: { all: { tables: ['none'] } } }, getRowCacheToken('none')],
      [{ feeds: { changes: { source, table: 'none' } } }, getRowCacheToken('none')],
      [
        { rows: { items: {} }, feeds: { changes: { source, table: 'items', poll: 5 } } },
        'CachesModule.forFeature: ChangeFeed has no option "poll"',
      ],
    ],
  },
});

import { afterEach, describe, expect, test } from '@jest/globals';
import type { Cache } from '@mortise/cache';
import { Cached, CachesModule, Evicts, getCacheToken, InjectCache } from '@mortise/cache/nestjs';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import type { INestApplicationContext, ModuleMetadata } from '@nestjs/common';
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

function pages(prefix = freshPrefix()) {
  return CachesModule.forRoot({ redis, prefix, jitter: 0, caches: { pages: { near: {} } } });
}

describe('Cached and Evicts', () => {
  test('run a method when the cache has no result, and remove what has changed', async () => {
    const shop = (await boot({ imports: [pages()], providers: [Shop] })).get(Shop);
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
    const shop = (await boot({ imports: [pages()], providers: [Shop] })).get(Shop);
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
    const shop = (await boot({ imports: [pages()], providers: [Shop] })).get(Shop);
    const item = shop.item(undefined as never);
    await expect(item).rejects.toThrow(TypeError);
  });

  test('leave the name of the method, and what other decorators have left on it', () => {
    const page = Object.getOwnPropertyDescriptor(Shop.prototype, 'page')?.value as () => unknown;
    expect(page.name).toBe('page');
    expect(Reflect.getMetadata('kind', page)).toBe('page');
  });

  test('let the boot fail for a cache that is not there', async () => {
    const imports = [CachesModule.forRoot({ redis, caches: { others: {} } })];
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
    const imports = [
      CachesModule.forRootAsync({
        caches: { pages: { near: {} } },
        useFactory: () => ({ redis: named, prefix }),
      }),
    ];
    const app = await boot({ imports, providers: [Shop] });
    await app.get(Shop).page('tools');
    await until('the near tier', async () => (await own()) === 2);
    await app.close();
    await until('the end of its connections', async () => (await own()) === 0);
    expect(named.status).toBe('ready');
  });

  test('lets the boot fail for options that cannot be used, and says which', async () => {
    const wrong = CachesModule.forRoot({ redis, caches: { pages: { shards: 0 } } });
    await expect(boot({ imports: [wrong] })).rejects.toThrow(
      'CachesModule, pages: shards must be a whole number from 1 to 64, got 0',
    );
    const without = CachesModule.forRoot({ redis: 'redis://127.0.0.1' as never, caches: {} });
    await expect(boot({ imports: [without] })).rejects.toThrow(TypeError);
  });
});

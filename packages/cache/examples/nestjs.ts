import 'reflect-metadata';
import { Cached, CachesModule, Evicts } from '@mortise/cache/nestjs';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');

@Injectable()
class Shop {
  readonly #titles = new Map([['tools', 'Tools']]);

  @Cached('pages', { key: (id: string) => `title of ${id}`, tags: ['shop'] })
  async title(id: string): Promise<string | null> {
    console.log(`querying ${id}`);
    return this.#titles.get(id) ?? null;
  }

  @Evicts('pages', { keys: (id: string) => [`title of ${id}`] })
  async rename(id: string, title: string): Promise<void> {
    this.#titles.set(id, title);
  }
}

@Module({
  imports: [
    CachesModule.forRoot({ redis, prefix: 'example:nestjs' }),
    CachesModule.forFeature({ caches: { pages: { ttlMs: 60_000 } } }),
  ],
  providers: [Shop],
})
class App {}

const app = await NestFactory.createApplicationContext(App, { logger: ['error'] });
const shop = app.get(Shop);
await shop.rename('tools', 'Tools'); // also removes what an earlier run cached
console.log(await shop.title('tools'), await shop.title('tools'));
await shop.rename('tools', 'Hand tools');
console.log(await shop.title('tools'));
await app.close();
await redis.quit();

// Output:
// querying tools
// Tools Tools
// querying tools
// Hand tools

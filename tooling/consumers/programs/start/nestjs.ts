import 'reflect-metadata';
import { Cached, CachesModule } from '@mortise/cache/nestjs';
import { Locked, LocksModule } from '@mortise/locks/nestjs';
import type { Queue } from '@mortise/queues';
import { InjectQueue, QueuesModule, TaskHandler } from '@mortise/queues/nestjs';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const prefix = 'start-nestjs';

@Injectable()
class Shop {
  constructor(@InjectQueue('mails') private readonly mails: Queue) {}

  @Cached('prices', { key: (item: string) => item })
  async price(item: string): Promise<number> {
    return item === 'hammer' ? 12 : 7;
  }

  @Locked((item: string) => `stock:${item}`)
  async sell(item: string): Promise<unknown> {
    const { id } = await this.mails.enqueue('sold', { item, price: await this.price(item) });
    return this.mails.result(id);
  }
}

@Injectable()
class Mails {
  @TaskHandler('sold')
  async sold({ item, price }: { item: string; price: number }): Promise<string> {
    return `mailed: ${item} sold for ${price}`;
  }
}

@Module({
  imports: [
    LocksModule.forRoot({ redis, prefix }),
    CachesModule.forRoot({ redis, prefix }),
    CachesModule.forFeature({ caches: { prices: { ttlMs: 60_000 } } }),
    QueuesModule.forRoot({ redis, prefix, workers: { concurrency: 10 } }),
    QueuesModule.forFeature({ queues: { mails: { tasks: ['sold'] } } }),
  ],
  providers: [Shop, Mails],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
console.log(await app.get(Shop).sell('hammer'));
await app.close(); // drains the worker
await redis.quit();

// Output:
// mailed: hammer sold for 12

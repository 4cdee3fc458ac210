/** A test of a NestJS application on a real Redis, with a prefix of its own. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Queue } from '@mortise/queues';
import { getQueueToken, QueuesModule, TaskHandler } from '@mortise/queues/nestjs';
import { Injectable, Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';

type Mail = { 'mail.sold': { itemId: string } };

@Injectable()
class Mails {
  @TaskHandler('mail.sold')
  async sold({ itemId }: Mail['mail.sold']): Promise<string> {
    return `mailed that ${itemId} is sold`;
  }
}

/** The module under test gets the client and the prefix. */
@Module({ providers: [Mails] })
class AppModule {
  static with(redis: Redis, prefix: string): DynamicModule {
    const mail = { tasks: ['mail.sold'] };
    return {
      module: AppModule,
      imports: [
        QueuesModule.forRoot({ redis, prefix, workers: {} }),
        QueuesModule.forFeature({ queues: { mail } }),
      ],
    };
  }
}

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const tested = AppModule.with(redis, `test:${randomUUID()}`);
const app = await NestFactory.createApplicationContext(tested, { logger: ['error'] });

const mail = app.get<Queue<Mail>>(getQueueToken('mail'));
const { id } = await mail.enqueue('mail.sold', { itemId: 'sword' });
assert.equal(await mail.result(id), 'mailed that sword is sold');
console.log('passed');

await app.close(); // drains the worker, which uses the queue
await mail.obliterate();
await redis.quit();

// Output:
// passed

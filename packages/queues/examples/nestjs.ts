/** A NestJS application: one module gives the client and the worker, methods of providers run tasks. */
import type { Queue, TaskContext } from '@mortise/queues';
import { InjectQueue, QueuesModule, TaskHandler } from '@mortise/queues/nestjs';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';

type Mail = { 'mail.sold': { itemId: string }; 'mail.expired': { itemId: string } };

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');

@Injectable()
class Shop {
  constructor(@InjectQueue('mail') private readonly mail: Queue<Mail>) {}

  async sell(itemId: string): Promise<unknown> {
    const { id } = await this.mail.enqueue('mail.sold', { itemId });
    return this.mail.result(id, { waitMs: 5_000 });
  }
}

@Injectable()
class Mails {
  @TaskHandler('mail.sold', { timeoutMs: 10_000 })
  async sold({ itemId }: Mail['mail.sold'], { attempt }: TaskContext): Promise<string> {
    return `mailed that ${itemId} is sold, attempt ${attempt}`;
  }

  @TaskHandler('mail.expired')
  async expired({ itemId }: Mail['mail.expired']): Promise<void> {
    console.log(`mailed that ${itemId} has expired`);
  }
}

@Module({
  imports: [
    // Without `workers`, the same modules make a program that only enqueues.
    QueuesModule.forRoot({ redis, prefix: 'example', workers: { concurrency: 10 } }),
    QueuesModule.forFeature({ queues: { mail: { tasks: ['mail.sold', 'mail.expired'] } } }),
  ],
  providers: [Shop, Mails],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
console.log(await app.get(Shop).sell('item 42'));
await app.close(); // drains the worker
// The module does not close what it was given.
await redis.quit();

// Output:
// mailed that item 42 is sold, attempt 1

/** A NestJS application: one module gives the client, services inject locks or run under them. */
import type { Semaphore } from '@mortise/locks';
import { InjectLocks, InjectSemaphore, Locked, LocksModule } from '@mortise/locks/nestjs';
import type { Locks } from '@mortise/locks/nestjs';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');

@Injectable()
class Invoices {
  constructor(
    @InjectLocks() private readonly locks: Locks,
    @InjectSemaphore('printers') private readonly printers: Semaphore,
  ) {}

  /** Never twice at the same time for one invoice, whichever process is asked. */
  @Locked((id: string) => `invoice:${id}`, { waitMs: 5_000 })
  async pay(id: string): Promise<void> {
    console.log(`pays invoice ${id}`);
    console.log('another payment gets', await this.locks.mutex(`invoice:${id}`).tryAcquire());
  }

  async print(id: string): Promise<void> {
    await this.printers.using(async () => {
      console.log(`prints invoice ${id}, free printers:`, await this.printers.available());
    });
  }
}

@Module({
  imports: [
    LocksModule.forRoot({ redis, prefix: 'example', leaseMs: 10_000 }),
    LocksModule.forFeature({ semaphores: { printers: { permits: 2 } } }),
  ],
  providers: [Invoices],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const invoices = app.get(Invoices);
await invoices.pay('42');
await invoices.print('42');
await app.close();
// The module does not close what it was given.
await redis.quit();

// Output:
// pays invoice 42
// another payment gets null
// prints invoice 42, free printers: 1

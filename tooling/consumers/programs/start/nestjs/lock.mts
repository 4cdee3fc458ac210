import type { Mutex } from '@mortise/locks';
import { InjectMutex, LocksModule } from '@mortise/locks/nestjs';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';

@Injectable()
class Stock {
  constructor(@InjectMutex('stock') private readonly mutex: Mutex) {}

  count(): Promise<boolean> {
    return this.mutex.using(async (_signal, { fencingToken }) => fencingToken > 0);
  }
}

@Module({
  imports: [LocksModule.forRoot({ url, feature: { mutexes: { stock: {} } } })],
  providers: [Stock],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
console.log('counted with a token:', await app.get(Stock).count());
await app.close();

// Output:
// counted with a token: true

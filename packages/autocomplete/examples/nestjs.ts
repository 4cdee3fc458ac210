import 'reflect-metadata';
import type { AddressBook } from '@mortise/autocomplete';
import { AutocompleteModule, InjectAddressBook } from '@mortise/autocomplete/nestjs';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');

@Injectable()
class Staff {
  constructor(@InjectAddressBook('staff') private readonly book: AddressBook) {}

  async hire(key: string, display: string, score: number): Promise<void> {
    await this.book.add({ key, display, score });
  }

  async names(text: string): Promise<string[]> {
    const found = await this.book.complete(text, { limit: 5 });
    return found.map(({ display }) => display);
  }
}

@Module({
  imports: [
    AutocompleteModule.forRoot({ redis, prefix: 'example:nestjs' }),
    AutocompleteModule.forFeature({ books: { staff: { halfLifeMs: 30 * 86_400_000 } } }),
  ],
  providers: [Staff],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const staff = app.get(Staff);
await staff.hire('1', 'John Smith', 5);
await staff.hire('2', 'Smith, Joan', 9);
console.log(await staff.names('smi'));
await app.close();
await redis.quit();

// Output:
// [ 'Smith, Joan', 'John Smith' ]

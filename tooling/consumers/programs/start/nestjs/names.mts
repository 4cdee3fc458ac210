import type { AddressBook } from '@mortise/autocomplete';
import { AutocompleteModule, InjectAddressBook } from '@mortise/autocomplete/nestjs';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';

@Injectable()
class Staff {
  constructor(@InjectAddressBook('staff') readonly book: AddressBook) {}
}

@Module({
  imports: [AutocompleteModule.forRoot({ url, feature: { books: { staff: {} } } })],
  providers: [Staff],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const { book } = app.get(Staff);
await book.add({ key: '1', display: 'John Smith' });
const found = await book.complete('smi');
console.log(found.map(({ display }) => display));
await app.close();

// Output:
// [ 'John Smith' ]

/** A large list goes into a book while people use it, and may be interrupted at any time. */
import { randomUUID } from 'node:crypto';
import { AddressBook } from '@mortise/autocomplete';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const book = new AddressBook(redis, 'customers', { prefix: `example-${randomUUID()}` });

/** Rows of a database or a file: any iterable, also an async one. */
async function* rows(count: number): AsyncGenerator<{ key: string; display: string }> {
  for (let id = 1; id <= count; id += 1) yield { key: String(id), display: `Customer ${id}` };
}

const interrupt = new AbortController();
const loading = book.addMany(rows(2_000), {
  signal: interrupt.signal,
  onProgress: ({ entries }) => {
    if (entries >= 500) interrupt.abort(new Error('the process stops'));
  },
});
console.log(await loading.catch((error: unknown) => (error as Error).message));

// The book has all entries that were sent. Loading again is safe.
console.log('readable:', (await book.complete('customer 7', { limit: 1 })).length === 1);
const { entries } = await book.addMany(rows(2_000));
console.log(entries, 'entries sent,', await book.size(), 'in the book');
await redis.quit();

// Output:
// the process stops
// readable: true
// 2000 entries sent, 2000 in the book

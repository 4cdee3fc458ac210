import { afterEach, expect, test } from '@jest/globals';
import { AddressBook, RecentContacts } from '../../src/index.js';
import type { BookMatchers } from '../../src/testing/index.js';
import { bookMatchers, MemoryRedis } from '../../src/testing/index.js';

expect.extend(bookMatchers);
const expectBook = expect as unknown as (book: AddressBook) => BookMatchers & { not: BookMatchers };

let memory: MemoryRedis | undefined;

function opened(): MemoryRedis {
  memory = new MemoryRedis();
  return memory;
}

afterEach(async () => {
  await memory?.close();
});

test('an address book completes in the order of the scores', async () => {
  const book = new AddressBook(opened(), 'guild:7');
  await book.addMany([
    { key: 'a', display: 'John Smith', score: 1 },
    { key: 'b', display: 'Jörg Small', score: 2 },
    { key: 'c', display: 'Ann Lee', score: 3 },
  ]);
  await expectBook(book).toComplete('jo sm', ['b', 'a']);
  await expectBook(book).not.toComplete('jo', ['a']);
  await expect(expectBook(book).toComplete('ann', [])).rejects.toThrow(/\[ 'c' \]/);
});

test('recent contacts come first', async () => {
  const recent = new RecentContacts(opened());
  await recent.touch('me', 'Ann');
  await recent.touch('me', 'Andy');
  expect(await recent.complete('me', 'an')).toEqual(['Andy', 'Ann']);
});

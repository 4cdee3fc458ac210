/** Every public call: on a closed client, and with wrong arguments. */
import { expect, test } from '@jest/globals';
import { AddressBook, RecentContacts } from '@mortise/autocomplete';
import type { CallTable } from '@mortise/test-kit';
import {
  connect,
  freshPrefix,
  methodsOf,
  outcomesOf,
  uncodedMisuses,
  unknownOptions,
} from '@mortise/test-kit';
import type { Redis } from 'ioredis';

function tableOf(redis: Redis): CallTable {
  const prefix = freshPrefix();
  const book = new AddressBook(redis, 'guild', { prefix });
  const recent = new RecentContacts(redis, { prefix });
  return {
    'book.add': [book.add.bind(book), { key: 'a' }],
    'book.addMany': [book.addMany.bind(book), [{ key: 'b' }]],
    'book.remove': [book.remove.bind(book), 'a'],
    'book.boost': [book.boost.bind(book), 'a', 1, {}],
    'book.get': [book.get.bind(book), 'a'],
    'book.size': [book.size.bind(book)],
    'book.complete': [book.complete.bind(book), 'a', {}],
    'book.page': [book.page.bind(book), 'a', {}],
    'recent.touch': [recent.touch.bind(recent), 'anna', 'ben'],
    'recent.touchMany': [recent.touchMany.bind(recent), 'anna', ['ben']],
    'recent.remove': [recent.remove.bind(recent), 'anna', 'ben'],
    'recent.list': [recent.list.bind(recent), 'anna'],
    'recent.complete': [recent.complete.bind(recent), 'anna', '', {}],
  };
}

function constructors(redis: Redis): CallTable {
  return {
    AddressBook: [
      (...args: ConstructorParameters<typeof AddressBook>) => void new AddressBook(...args),
      redis,
      'guild',
      {},
    ],
    RecentContacts: [
      (...args: ConstructorParameters<typeof RecentContacts>) => void new RecentContacts(...args),
      redis,
      {},
    ],
  };
}

test('the table has every method that sends something', () => {
  const table = tableOf(connect());
  const methods = [...methodsOf('book', AddressBook), ...methodsOf('recent', RecentContacts)];
  expect([...new Set(methods)].filter((name) => !(name in table)).toSorted()).toEqual(['recent.displayOf']);
});

test('each call on a closed client rejects with ERR_CLIENT_CLOSED', async () => {
  const redis = connect();
  const table = tableOf(redis);
  await redis.quit();
  const expected = Object.keys(table).map((name) => [name, 'ERR_CLIENT_CLOSED']);
  expect(await outcomesOf(table)).toEqual(Object.fromEntries(expected));
});

test('so does a call of the tick in which the client is closed, if nobody awaited it before', async () => {
  const redis = connect();
  await redis.ping();
  const outcomes = outcomesOf({ call: tableOf(redis)['recent.touch']! });
  const quit = redis.quit();
  expect(await outcomes).toEqual({ call: 'ERR_CLIENT_CLOSED' });
  expect(await quit).toBe('OK');
});

test('each wrong argument is refused with a code, or taken', async () => {
  expect(await uncodedMisuses({ ...constructors(connect()), ...tableOf(connect()) })).toEqual([]);
});

test('options that there are not are refused', async () => {
  expect(await unknownOptions({ ...constructors(connect()), ...tableOf(connect()) })).toEqual([]);
});

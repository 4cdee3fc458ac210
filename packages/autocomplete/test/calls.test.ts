/** Every public call: on a closed client, and with wrong arguments. */
import { AddressBook, RecentContacts } from '@mortise/autocomplete';
import type { CallTable } from '@mortise/test-kit';
import { describeCalls, freshPrefix } from '@mortise/test-kit';
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

/** A telemetry may have no method; a payload is any JSON, and a score any number. */
function takes(option: string, value: unknown): boolean {
  if (option.endsWith(' telemetry')) return typeof value === 'object' && !Array.isArray(value);
  if (option === 'book.add payload')
    return value === -1 || (typeof value === 'object' && !Array.isArray(value));
  return option === 'book.add score' && value === -1;
}

describeCalls({
  tableOf,
  constructors,
  classes: { book: AddressBook, recent: RecentContacts },
  silent: ['recent.displayOf'],
  takes,
  coalesced: 'recent.touch',
});

import { describe, expect, test } from '@jest/globals';
import { AddressBook, RecentContacts } from '@mortise/autocomplete';
import {
  AddressBooks,
  AutocompleteModule,
  getAddressBooksToken,
  getAddressBookToken,
  getRecentContactsToken,
  InjectAddressBook,
  InjectAddressBooks,
  InjectRecentContacts,
} from '@mortise/autocomplete/nestjs';
import { connect, freshPrefix, Recording } from '@mortise/test-kit';
import { boot, describeModule } from '@mortise/test-kit/nestjs';

const redis = connect();

describeModule({
  module: AutocompleteModule,
  provided: [
    [RecentContacts, getRecentContactsToken, InjectRecentContacts],
    [AddressBooks, getAddressBooksToken, InjectAddressBooks],
  ],
  refused: [
    [{ recent: { capacity: 0 } }, RangeError, 'capacity must be a whole number from 1'],
    [{ books: { halfLifeMs: 1 } }, RangeError, 'halfLifeMs must be from 60000'],
    [
      { mentions: {} },
      TypeError,
      'AutocompleteModule has no option "mentions"; there are redis, url, prefix, telemetry, recent, books',
    ],
  ],
  feature: {
    given: { books: { all: { halfLifeMs: 60_000 } } },
    provided: [
      [
        AddressBook,
        (module) => getAddressBookToken('all', module),
        (module) => InjectAddressBook('all', module),
      ],
    ],
    refused: [
      [{ books: { '': {} } }, 'AutocompleteModule.forFeature: name must have 1 to 1024 bytes, got 0'],
      [
        { books: { a: { halfLife: 1 } } },
        'AutocompleteModule.forFeature: AddressBook has no option "halfLife"',
      ],
      [
        { books: { a: { prefix: 'b' } } },
        'AutocompleteModule.forFeature: AddressBook has no option "prefix"',
      ],
      [{ books: { a: null } }, 'AutocompleteModule.forFeature: books["a"] must be an object, got null'],
    ],
  },
});

describe('AutocompleteModule', () => {
  test('passes the options of each provider, and prefix and telemetry to all', async () => {
    const prefix = freshPrefix();
    const keysOf = (display: string): string[] => (display === '王小明' ? ['wang xiaoming'] : []);
    const telemetry = new Recording();
    const app = await boot({
      imports: [
        AutocompleteModule.forRoot({
          redis,
          prefix,
          telemetry,
          recent: { capacity: 1, keepMs: undefined, displayOf: (contact) => contact.split('|')[1]! },
          books: { keysOf, telemetry: undefined },
        }),
      ],
    });
    const [recent, books] = [app.get(RecentContacts), app.get(AddressBooks)];
    for (const contact of ['1|Will', '2|Wanda']) await recent.touch('anna', contact);
    await books.book('guild:7').add({ key: '3', display: '王小明' });
    expect(await recent.complete('anna', 'wa')).toEqual(['2|Wanda']);
    expect(await recent.list('anna')).toEqual(['2|Wanda']);
    expect(await books.book('guild:7').complete('wa')).toMatchObject([{ key: '3' }]);
    const entities = (await redis.keys(`${prefix}:autocomplete:*`)).map((key) => /\{(.*)\}/.exec(key)![1]);
    expect(new Set(entities)).toEqual(new Set(['anna', 'guild:7']));
    expect(telemetry.totals).toEqual({ changes: 3, completions: 2, suggestions: 2 });
  });

  test('opens a book of forFeature with its own options', async () => {
    const app = await boot({
      imports: [
        AutocompleteModule.forRoot({ redis, prefix: freshPrefix() }),
        AutocompleteModule.forFeature({ books: { all: { halfLifeMs: 60_000 } } }),
      ],
    });
    const book = app.get<AddressBook>(getAddressBookToken('all'));
    await expect(book.add({ key: 'ann', score: -1 })).rejects.toThrow('0 or more with halfLifeMs');
    await app.get(AddressBooks).book('all').add({ key: 'ann', score: -1 });
    expect(await book.size()).toBe(1);
  });
});

test('AddressBooks returns the same object for a name, up to a thousand of them', () => {
  const books = new AddressBooks(redis, { prefix: freshPrefix() });
  const first = books.book('first');
  expect(first).toBeInstanceOf(AddressBook);
  for (let index = 0; index < 999; index += 1) books.book(`other ${index}`);
  expect(books.book('first')).toBe(first);
  for (let index = 0; index < 1_000; index += 1) books.book(`another ${index}`);
  expect(books.book('first')).not.toBe(first);
});

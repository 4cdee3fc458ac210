import { describe, expect, test } from '@jest/globals';
import { RecentContacts } from '@mortise/autocomplete';
import type {
  AutocompleteFeature,
  AutocompleteModuleOptions,
  AutocompleteOptionsFactory,
} from '@mortise/autocomplete/nestjs';
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
import type { Telemetry } from '@mortise/redis';
import { connect, freshPrefix } from '@mortise/test-kit';
import type { INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AddressBook } from '../src/book/address-book.js';

const redis = connect();
const REDIS = 'redis';

async function boot(metadata: ModuleMetadata): Promise<INestApplicationContext> {
  @Module(metadata)
  class App {}
  return NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
}

describe('AutocompleteModule.forRoot', () => {
  test('provides its classes to the whole application, by type and by decorator', async () => {
    @Injectable()
    class Inner {
      constructor(
        readonly recent: RecentContacts,
        readonly books: AddressBooks,
        @InjectRecentContacts() readonly sameRecent: RecentContacts,
        @InjectAddressBooks() readonly sameBooks: AddressBooks,
      ) {}
    }
    @Module({ providers: [Inner] })
    class InnerModule {}
    const app = await boot({ imports: [AutocompleteModule.forRoot({ redis }), InnerModule] });
    const inner = app.get(Inner, { strict: false });
    expect(inner.recent).toBeInstanceOf(RecentContacts);
    expect(inner.books).toBeInstanceOf(AddressBooks);
    expect(inner.sameRecent).toBe(inner.recent);
    expect(inner.sameBooks).toBe(inner.books);
    expect(app.get(getRecentContactsToken())).toBe(inner.recent);
    expect(app.get(getAddressBooksToken())).toBe(inner.books);
  });

  test('gives each its options, and all the prefix and the telemetry', async () => {
    const prefix = freshPrefix();
    const keysOf = (display: string): string[] => (display === '王小明' ? ['wang xiaoming'] : []);
    const counted: string[] = [];
    const telemetry: Telemetry = { count: ({ name }) => counted.push(name) };
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
    expect(counted).toHaveLength(7);
  });

  test('a book is the same object each time, up to a thousand of them', async () => {
    const books = new AddressBooks(redis, { prefix: freshPrefix() });
    const first = books.book('first');
    expect(first).toBeInstanceOf(AddressBook);
    for (let index = 0; index < 999; index += 1) books.book(`other ${index}`);
    expect(books.book('first')).toBe(first);
    for (let index = 0; index < 1_000; index += 1) books.book(`another ${index}`);
    expect(books.book('first')).not.toBe(first);
  });

  test('sends nothing at boot and leaves the client open at the end', async () => {
    const own = connect();
    const app = await boot({ imports: [AutocompleteModule.forRoot({ redis: own, prefix: freshPrefix() })] });
    const recent = app.get(RecentContacts);
    await app.close();
    expect(await recent.list('jack')).toEqual([]);
    expect(own.status).toBe('ready');
  });

  test.each([
    [{}, TypeError, 'AutocompleteModule: redis must be a Redis or Cluster instance of ioredis 5.4 or later'],
    [
      { redis: 'redis://127.0.0.1' },
      TypeError,
      'AutocompleteModule: redis must be a Redis or Cluster instance',
    ],
    [
      { redis, recent: { capacity: 0 } },
      RangeError,
      'AutocompleteModule: capacity must be a whole number from 1',
    ],
    [
      { redis, mentions: {} },
      TypeError,
      'AutocompleteModule has no option "mentions"; there are redis, prefix, telemetry, recent, books',
    ],
    [{ redis, books: { halfLifeMs: 1 } }, RangeError, 'AutocompleteModule: halfLifeMs must be from 60000'],
    [{ redis, prefix: '' }, RangeError, 'AutocompleteModule: prefix must have 1 to 1024 bytes, got 0'],
    [
      { redis, name: 'x', recent: { keepMs: 1 } },
      RangeError,
      'AutocompleteModule "x": keepMs must be from 1000',
    ],
  ])('lets the boot fail for %#', async (options, error, message) => {
    const imports = [AutocompleteModule.forRoot(options as AutocompleteModuleOptions)];
    const failed = await boot({ imports }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(failed).toBeInstanceOf(error);
    expect((failed as Error).message).toContain(message);
  });

  test('several modules differ by their names', async () => {
    const app = await boot({
      imports: [AutocompleteModule.forRoot({ redis }), AutocompleteModule.forRoot({ redis, name: 'other' })],
    });
    const [one, other] = [app.get(getRecentContactsToken()), app.get(getRecentContactsToken('other'))];
    expect(other).toBeInstanceOf(RecentContacts);
    expect(other).not.toBe(one);
    expect(app.get(getAddressBooksToken('other'))).toBeInstanceOf(AddressBooks);
  });
});

describe('AutocompleteModule.forFeature', () => {
  test('provides books by name to one module, with options of their own', async () => {
    @Injectable()
    class Inner {
      constructor(
        @InjectAddressBook('guild:7') readonly guild: AddressBook,
        @InjectAddressBook('all', 'other') readonly all: AddressBook,
      ) {}
    }
    @Module({
      imports: [
        AutocompleteModule.forFeature({ books: { 'guild:7': { halfLifeMs: 60_000 } } }),
        AutocompleteModule.forFeature({ books: { all: {} } }, 'other'),
      ],
      providers: [Inner],
    })
    class InnerModule {}
    const prefix = freshPrefix();
    const app = await boot({
      imports: [
        AutocompleteModule.forRoot({ redis, prefix }),
        AutocompleteModule.forRoot({ redis, prefix: `${prefix}-other`, name: 'other' }),
        InnerModule,
      ],
    });
    const { guild, all } = app.get(Inner, { strict: false });
    await expect(guild.add({ key: 'ann', score: -1 })).rejects.toThrow('0 or more with halfLifeMs');
    await all.add({ key: 'ann', score: -1 });
    expect(await app.get(AddressBooks).book('all').size()).toBe(0);
    expect(await app.get<AddressBooks>(getAddressBooksToken('other')).book('all').size()).toBe(1);
    expect(getAddressBookToken('all', 'other')).toBe('address book "all" of AutocompleteModule "other"');
  });

  test.each([
    [{ '': {} }, 'AutocompleteModule.forFeature: name must have 1 to 1024 bytes, got 0'],
    [{ a: { halfLife: 1 } }, 'AutocompleteModule.forFeature: AddressBook has no option "halfLife"'],
    [{ a: { prefix: 'b' } }, 'AutocompleteModule.forFeature: AddressBook has no option "prefix"'],
  ])('lets the boot fail for %j', async (books, message) => {
    const imports = [
      AutocompleteModule.forRoot({ redis }),
      AutocompleteModule.forFeature({ books: books as AutocompleteFeature['books'] }),
    ];
    await expect(boot({ imports })).rejects.toThrow(message);
  });
});

describe('AutocompleteModule.forRootAsync', () => {
  @Module({ providers: [{ provide: REDIS, useValue: redis }], exports: [REDIS] })
  class RedisModule {}

  test('takes a factory with what it injects, or a class', async () => {
    @Injectable()
    class Options implements AutocompleteOptionsFactory {
      createAutocompleteOptions(): AutocompleteModuleOptions {
        return { redis, recent: { halfLifeMs: 60_000 } };
      }
    }
    const app = await boot({
      imports: [
        AutocompleteModule.forRootAsync({
          imports: [RedisModule],
          inject: [REDIS],
          useFactory: async (client: typeof redis) => ({ redis: client }),
        }),
        AutocompleteModule.forRootAsync({ name: 'ranked', useClass: Options }),
      ],
    });
    expect(app.get(RecentContacts)).toBeInstanceOf(RecentContacts);
    expect(app.get(getRecentContactsToken('ranked'))).toBeInstanceOf(RecentContacts);
  });
});

import { describe, expect, test } from '@jest/globals';
import { MentionCompleter, RecentContacts } from '@mortise/autocomplete';
import type { AutocompleteModuleOptions, AutocompleteOptionsFactory } from '@mortise/autocomplete/nestjs';
import {
  AddressBooks,
  AutocompleteModule,
  getAddressBooksToken,
  getMentionsToken,
  getRecentContactsToken,
  InjectAddressBooks,
  InjectMentions,
  InjectRecentContacts,
  Mentions,
} from '@mortise/autocomplete/nestjs';
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
  test('provides all three to the whole application, by type and by decorator', async () => {
    @Injectable()
    class Inner {
      constructor(
        readonly recent: RecentContacts,
        readonly books: AddressBooks,
        readonly mentions: Mentions,
        @InjectRecentContacts() readonly sameRecent: RecentContacts,
        @InjectAddressBooks() readonly sameBooks: AddressBooks,
        @InjectMentions() readonly sameMentions: Mentions,
      ) {}
    }
    @Module({ providers: [Inner] })
    class InnerModule {}
    const app = await boot({ imports: [AutocompleteModule.forRoot({ redis }), InnerModule] });
    const inner = app.get(Inner, { strict: false });
    expect(inner.recent).toBeInstanceOf(RecentContacts);
    expect(inner.books).toBeInstanceOf(AddressBooks);
    expect(inner.mentions).toBeInstanceOf(Mentions);
    expect(inner.sameRecent).toBe(inner.recent);
    expect(inner.sameBooks).toBe(inner.books);
    expect(inner.sameMentions).toBe(inner.mentions);
    expect(app.get(getRecentContactsToken())).toBe(inner.recent);
    expect(app.get(getAddressBooksToken())).toBe(inner.books);
    expect(app.get(getMentionsToken())).toBe(inner.mentions);
  });

  test('gives each its options and all the prefix; mentions come from both', async () => {
    const prefix = freshPrefix();
    const keysOf = (display: string): string[] => (display === '王小明' ? ['wang xiaoming'] : []);
    const app = await boot({
      imports: [
        AutocompleteModule.forRoot({
          redis,
          prefix,
          recent: { capacity: 1, idleMs: undefined as never, displayOf: (contact) => contact.split('|')[1]! },
          books: { keysOf },
          mentions: { keyOf: (contact) => contact.split('|')[0]!, timeoutMs: undefined as never },
        }),
      ],
    });
    const [recent, books, mentions] = [app.get(RecentContacts), app.get(AddressBooks), app.get(Mentions)];
    for (const contact of ['1|Will', '2|Wanda']) await recent.touch('anna', contact);
    await books.book('guild:7').add({ key: '3', display: '王小明' });
    await books.book('guild:8').add({ key: '2', display: 'Wanda', payload: 'avatar' });
    const completer = mentions.of('guild:7', 'guild:8');
    expect(completer).toBeInstanceOf(MentionCompleter);
    const { mentions: found } = await completer.complete('anna', 'wa');
    expect(found.map(({ key, source, payload }) => [key, source, payload])).toEqual([
      ['2', 'recent', 'avatar'],
      ['3', 0, undefined],
    ]);
    const entities = (await redis.keys(`${prefix}:autocomplete:*`)).map((key) => /\{(.*)\}/.exec(key)![1]);
    expect(new Set(entities)).toEqual(new Set(['anna', 'guild:7', 'guild:8']));
  });

  test('a book is the same object each time, up to a thousand of them', async () => {
    const books = new AddressBooks(redis, freshPrefix());
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
      { redis, mentions: { timeoutMs: 1 } },
      RangeError,
      'AutocompleteModule: timeoutMs must be from 10 to 60000',
    ],
    [
      { redis, mentions: { keyOf: 1 } },
      TypeError,
      'AutocompleteModule: keyOf must be a function, got number',
    ],
    [{ redis, prefix: '' }, RangeError, 'AutocompleteModule: prefix must have 1 to 1024 bytes, got 0'],
    [
      { redis, name: 'x', recent: { idleMs: 1 } },
      RangeError,
      'AutocompleteModule "x": idleMs must be from 1000',
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

  test('several modules are told apart by their names', async () => {
    const app = await boot({
      imports: [AutocompleteModule.forRoot({ redis }), AutocompleteModule.forRoot({ redis, name: 'other' })],
    });
    const [one, other] = [app.get(getRecentContactsToken()), app.get(getRecentContactsToken('other'))];
    expect(other).toBeInstanceOf(RecentContacts);
    expect(other).not.toBe(one);
    expect(app.get(getMentionsToken('other'))).toBeInstanceOf(Mentions);
    expect(app.get(getAddressBooksToken('other'))).toBeInstanceOf(AddressBooks);
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

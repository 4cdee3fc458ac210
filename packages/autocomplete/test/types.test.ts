import { expect, test } from '@jest/globals';
import { RecentContacts } from '@mortise/autocomplete';
import type { RecentContactsOptions } from '@mortise/autocomplete';
import type { AutocompleteModuleOptions } from '@mortise/autocomplete/nestjs';
import { AutocompleteModule, InjectAddressBook, InjectRecentContacts } from '@mortise/autocomplete/nestjs';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Cluster } from 'ioredis';

const redis = connect();

test('the types are those of the documents', async () => {
  const recent = new RecentContacts(redis, { prefix: freshPrefix(), capacity: 10, keepMs: 5_000 });
  const touched: void = await recent.touch('anna', 'jack');
  const contacts: string[] = await recent.list('anna');
  const matches: string[] = await recent.complete('anna', 'j', { limit: 1 });
  const wasThere: boolean = await recent.remove('anna', 'jack');
  expect([touched, contacts, matches, wasThere]).toEqual([undefined, ['jack'], ['jack'], true]);
});

test('values of wrong types are refused at run time as well', async () => {
  const recent = new RecentContacts(redis, { prefix: freshPrefix() });
  // @ts-expect-error -- a URL is no client
  expect(() => new RecentContacts('redis://127.0.0.1')).toThrow(TypeError);
  // @ts-expect-error -- a capacity is a number
  expect(() => new RecentContacts(redis, { capacity: '10' })).toThrow(TypeError);
  // @ts-expect-error -- a contact is a string
  await expect(recent.touch('anna', 42)).rejects.toThrow(TypeError);
  // @ts-expect-error -- the contact is missing
  await expect(recent.remove('anna')).rejects.toThrow(TypeError);
  // @ts-expect-error -- a limit is a number
  await expect(recent.complete('anna', 'j', { limit: '10' })).rejects.toThrow(TypeError);
});

test('the compiler refuses options that do not exist', () => {
  // @ts-expect-error -- no such option
  const options: RecentContactsOptions = { size: 10 };
  expect(options).toEqual({ size: 10 });
});

test('a Cluster is a client', async () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(new RecentContacts(cluster)).toBeInstanceOf(RecentContacts);
  cluster.disconnect();
});

test('forRoot takes a client and options of both, forRootAsync a factory of them', () => {
  const options: AutocompleteModuleOptions = {
    redis,
    prefix: undefined,
    recent: { capacity: 10, halfLifeMs: 60_000 },
    books: { keysOf: (display) => [display] },
  };
  expect(AutocompleteModule.forRoot(options)).toMatchObject({ module: AutocompleteModule, global: true });
  expect(AutocompleteModule.forRoot({ redis, name: 'second' })).toHaveProperty('exports');
  const asynchronous = AutocompleteModule.forRootAsync({
    inject: ['redis'],
    useFactory: async () => options,
  });
  expect(asynchronous.providers).toHaveLength(4);
  const cluster = (client: Cluster): AutocompleteModuleOptions => ({ redis: client });
  expect(cluster).toHaveLength(1);

  // @ts-expect-error -- no client
  AutocompleteModule.forRoot({ prefix: 'app' });
  // @ts-expect-error -- contacts have a capacity, books don't
  AutocompleteModule.forRoot({ redis, books: { capacity: 5 } });
  // @ts-expect-error -- one prefix for all
  AutocompleteModule.forRoot({ redis, recent: { prefix: 'app' } });
  // @ts-expect-error -- a book has no capacity
  AutocompleteModule.forFeature({ books: { guild: { capacity: 7 } } });
  // @ts-expect-error -- options without a client
  AutocompleteModule.forRootAsync({ useFactory: () => ({ prefix: 'app' }) });
});

test('decorators fit their properties', () => {
  class Decorated {
    @InjectRecentContacts() declare readonly recent: unknown;

    // @ts-expect-error -- books have names
    @InjectAddressBook(7) declare readonly book: unknown;
  }
  expect(Object.getOwnPropertyNames(Decorated.prototype)).toEqual(['constructor']);
});

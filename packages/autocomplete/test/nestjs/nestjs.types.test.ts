import { expect, test } from '@jest/globals';
import type { AutocompleteModuleOptions } from '@mortise/autocomplete/nestjs';
import { AutocompleteModule, InjectAddressBook, InjectRecentContacts } from '@mortise/autocomplete/nestjs';
import { connect } from '@mortise/test-kit';
import type { Cluster } from 'ioredis';

const redis = connect();

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
  expect(asynchronous.providers).toHaveLength(3);
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

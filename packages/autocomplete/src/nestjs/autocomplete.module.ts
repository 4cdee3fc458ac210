/** The NestJS module: it takes the client and the options once. An application names the books that it needs, or makes them by name. */
import type { RedisClient, Telemetry } from '@mortise/redis';
import type { FeatureShape } from '@mortise/redis/nestjs';
import { featureModule, rootModule, withDefaults } from '@mortise/redis/nestjs';
import type { DynamicModule } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { RecentContacts } from '../contacts/recent-contacts.js';
import type { AddressBookOptions, RecentContactsOptions } from '../options.js';
import { AddressBooks } from './address-books.js';
import { getAddressBooksToken, getAddressBookToken, getRecentContactsToken } from './tokens.js';

/** The client, which the module uses and never closes, and the options of its providers. */
export interface AutocompleteModuleOptions {
  readonly redis: RedisClient;
  /** Keeps several applications apart in one Redis. 1 to 1,024 bytes. Default `mortise`. */
  readonly prefix?: string | undefined;
  /** For the recent contacts and the books. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  readonly recent?: Omit<RecentContactsOptions, 'prefix'> | undefined;
  /** For all books. */
  readonly books?: Omit<AddressBookOptions, 'prefix'> | undefined;
}

/** A class for `useClass` or `useExisting` of `forRootAsync`. */
export interface AutocompleteOptionsFactory {
  createAutocompleteOptions(): AutocompleteModuleOptions | Promise<AutocompleteModuleOptions>;
}

/** Books by name; their options override those of the module. */
export interface AutocompleteFeature {
  readonly books?: Readonly<Record<string, Omit<AddressBookOptions, 'prefix'>>> | undefined;
}

const NAME = 'Autocomplete';
const FEATURE: FeatureShape<AutocompleteFeature, AddressBooks> = {
  name: NAME,
  root: getAddressBooksToken,
  kinds: { books: { token: getAddressBookToken, make: (all, name, options) => all.open(name, options) } },
};

/**
 * Provides `RecentContacts` and `AddressBooks` to the whole application. `forRoot` takes a client and options;
 * `forRootAsync` takes `useFactory` with `inject` and `imports`, `useClass` or `useExisting`. Invalid options fail the
 * boot. Sends nothing at boot, and never closes the client.
 */
@Module({})
export class AutocompleteModule extends rootModule<AutocompleteModuleOptions, typeof NAME>({
  name: NAME,
  known: new Set<keyof AutocompleteModuleOptions>(['redis', 'prefix', 'telemetry', 'recent', 'books']),
  provide: (module) => [
    {
      token: getRecentContactsToken(module),
      make: ({ redis, prefix, telemetry, recent }) =>
        new RecentContacts(redis, withDefaults({ prefix, telemetry }, recent)),
    },
    {
      token: getAddressBooksToken(module),
      make: ({ redis, prefix, telemetry, books }) =>
        new AddressBooks(redis, withDefaults({ prefix, telemetry }, books)),
    },
  ],
}) {
  /**
   * Provides books by name to one module of the application, for `InjectAddressBook(name)`. Invalid names or options fail
   * the boot.
   *
   * @param module The `name` given to `forRoot`. Default: none.
   */
  static forFeature(feature: AutocompleteFeature, module?: string): DynamicModule {
    return featureModule(AutocompleteModule, FEATURE, feature, module);
  }
}

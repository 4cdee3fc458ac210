/** The NestJS module: it takes the client and the options once. An application names the books that it needs, or makes them by name. */
import type { Telemetry } from '@mortise/redis';
import type { FeatureShape, ModuleClient } from '@mortise/redis/nestjs';
import { featureModule, rootModule, withDefaults } from '@mortise/redis/nestjs';
import type { DynamicModule } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { RecentContacts } from '../contacts/recent-contacts.js';
import type { AddressBookOptions, RecentContactsOptions } from '../options.js';
import { AddressBooks } from './address-books.js';
import { getAddressBooksToken, getAddressBookToken, getRecentContactsToken } from './tokens.js';

/** Options of the providers of `forRoot`. */
interface AutocompleteProviderOptions {
  /** Keeps several applications apart in one Redis. 1 to 1,024 bytes. Default `mortise`. */
  readonly prefix?: string | undefined;
  /** For the recent contacts and the books. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /** Options of the recent contacts. */
  readonly recent?: Omit<RecentContactsOptions, 'prefix'> | undefined;
  /** Options of all books. */
  readonly books?: Omit<AddressBookOptions, 'prefix'> | undefined;
}

/** A client (`redis`), which the module uses and never closes, or the `url` of a single node, for a client that the module closes. */
export type AutocompleteModuleOptions = AutocompleteProviderOptions & ModuleClient;

/** A class for `useClass` or `useExisting` of `forRootAsync`. */
export interface AutocompleteOptionsFactory {
  createAutocompleteOptions(): AutocompleteModuleOptions | Promise<AutocompleteModuleOptions>;
}

/** Books by name; their options override those of the module. */
export interface AutocompleteFeature {
  /** The options of each book, by its name. */
  readonly books?: Readonly<Record<string, Omit<AddressBookOptions, 'prefix'>>> | undefined;
}

const NAME = 'Autocomplete';
const FEATURE: FeatureShape<AutocompleteFeature, AddressBooks> = {
  name: NAME,
  root: getAddressBooksToken,
  kinds: { books: { token: getAddressBookToken, make: (all, name, options) => all.open(name, options) } },
};

/**
 * Provides `RecentContacts` and `AddressBooks` to the whole application. `forRoot` takes a client or a `url`, options, and a
 * `feature`, which names books for all modules as `forFeature` does for one. `forRootAsync` takes `useFactory` with `inject`
 * and `imports`, `useClass` or `useExisting`. Invalid options fail the boot. Nothing is sent at boot. A client of yours is
 * never closed.
 */
@Module({})
export class AutocompleteModule extends rootModule<
  AutocompleteModuleOptions,
  typeof NAME,
  AutocompleteFeature,
  AddressBooks
>({
  name: NAME,
  feature: FEATURE,
  known: new Set<keyof AutocompleteModuleOptions>(['redis', 'url', 'prefix', 'telemetry', 'recent', 'books']),
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

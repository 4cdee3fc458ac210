/**
 * The module gives NestJS the client and the options once. The recent contacts of all users are one object; address books and mention
 * completers are made by name when they are needed, so there is nothing to register for each guild.
 */
import { ArgumentRangeError, ArgumentTypeError } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import type { FactoryProvider, InjectionToken } from '@nestjs/common';
import { ConfigurableModuleBuilder, Module } from '@nestjs/common';
import type { MentionCompleterOptions } from '../mention-completer.js';
import type { RecentContactsOptions } from '../options.js';
import { RecentContacts } from '../recent-contacts.js';
import type { AddressBooksModuleOptions } from './address-books.js';
import { AddressBooks } from './address-books.js';
import { Mentions } from './mentions.js';
import { getAddressBooksToken, getMentionsToken, getRecentContactsToken } from './tokens.js';

/** The client, which the module uses and never closes, and the options of what it provides. */
export interface AutocompleteModuleOptions {
  readonly redis: RedisClient;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string | undefined;
  readonly recent?: Omit<RecentContactsOptions, 'prefix'> | undefined;
  readonly books?: AddressBooksModuleOptions | undefined;
  readonly mentions?: MentionCompleterOptions | undefined;
}

/** What a class has to have that is given to `forRootAsync` as `useClass` or `useExisting`. */
export interface AutocompleteOptionsFactory {
  createAutocompleteOptions(): AutocompleteModuleOptions | Promise<AutocompleteModuleOptions>;
}

interface Extras {
  /** Tells modules apart, where an application has several: for `InjectRecentContacts(name)` and the others. Default: none. */
  readonly name?: string | undefined;
}

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } =
  new ConfigurableModuleBuilder<AutocompleteModuleOptions>({ moduleName: 'Autocomplete' })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createAutocompleteOptions')
    .setExtras<Extras>({ name: undefined }, (definition, { name }) => {
      const [recentToken, booksToken] = [getRecentContactsToken(name), getAddressBooksToken(name)];
      const providers = [
        provider(name, recentToken, [], ({ redis, prefix, recent }) => {
          const given = Object.entries({ ...recent, prefix }).filter(([, value]) => value !== undefined);
          return new RecentContacts(redis, Object.fromEntries(given));
        }),
        provider(name, booksToken, [], ({ redis, prefix, books }) => new AddressBooks(redis, prefix, books)),
        provider(
          name,
          getMentionsToken(name),
          [recentToken, booksToken],
          ({ mentions }, recent: RecentContacts, books: AddressBooks) =>
            new Mentions(recent, books, mentions),
        ),
      ];
      return {
        ...definition,
        global: true,
        providers: [...(definition.providers ?? []), ...providers],
        exports: providers.map(({ provide }) => provide),
      };
    })
    .build();

/**
 * Provides `RecentContacts`, `AddressBooks` and `Mentions` to the whole application. `forRoot` takes a client and options; `forRootAsync`
 * takes what makes them, as `useFactory` with `inject` and `imports`, `useClass` or `useExisting`. A client or an option that
 * cannot be used lets the boot fail. Nothing is sent at boot, and the client is never closed.
 */
@Module({})
export class AutocompleteModule extends ConfigurableModuleClass {}

function provider<Provided, Needed extends unknown[]>(
  name: string | undefined,
  provide: InjectionToken<Provided>,
  needed: InjectionToken[],
  make: (options: AutocompleteModuleOptions, ...found: Needed) => Provided,
): FactoryProvider<Provided> {
  return {
    provide,
    inject: [MODULE_OPTIONS_TOKEN, ...needed],
    useFactory: (options: AutocompleteModuleOptions, ...found: Needed) => {
      try {
        return make(options, ...found);
      } catch (error) {
        // What lets the boot fail shows no more of an error than its message.
        const which = name === undefined ? '' : ` ${JSON.stringify(name)}`;
        const Misuse = error instanceof RangeError ? ArgumentRangeError : ArgumentTypeError;
        throw new Misuse(`AutocompleteModule${which}: ${(error as Error).message}`, { cause: error });
      }
    },
  };
}

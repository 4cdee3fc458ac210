import { featureToken, rootToken } from '@mortise/redis/nestjs';
import type { InjectionToken } from '@nestjs/common';
import { Inject } from '@nestjs/common';
import { RecentContacts } from '../contacts/recent-contacts.js';
import { AddressBooks } from './address-books.js';

type Decorator = PropertyDecorator & ParameterDecorator;

/** The token of a module's `RecentContacts`: the class itself, unless the module has a name. */
export function getRecentContactsToken(module?: string): InjectionToken<RecentContacts> {
  return rootToken('Autocomplete', RecentContacts, module);
}

/** The token of a module's `AddressBooks`: the class itself, unless the module has a name. */
export function getAddressBooksToken(module?: string): InjectionToken<AddressBooks> {
  return rootToken('Autocomplete', AddressBooks, module);
}

/** The token of a book that `AutocompleteModule.forFeature` names. */
export function getAddressBookToken(name: string, module?: string): string {
  return featureToken('Autocomplete', 'address book', name, module);
}

/** Injects the `RecentContacts` of a module. Without a name, the type alone also injects them. */
export function InjectRecentContacts(module?: string): Decorator {
  return Inject(getRecentContactsToken(module));
}

/** Injects the `AddressBooks` of a module. Without a name, the type alone also injects them. */
export function InjectAddressBooks(module?: string): Decorator {
  return Inject(getAddressBooksToken(module));
}

/** Injects a book that `AutocompleteModule.forFeature` names. */
export function InjectAddressBook(name: string, module?: string): Decorator {
  return Inject(getAddressBookToken(name, module));
}

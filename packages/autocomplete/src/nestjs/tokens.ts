import type { InjectionToken } from '@nestjs/common';
import { Inject } from '@nestjs/common';
import { RecentContacts } from '../recent-contacts.js';
import { AddressBooks } from './address-books.js';
import { Mentions } from './mentions.js';

/** What the `RecentContacts` of a module are provided as: the class itself, unless the module has a name. */
export function getRecentContactsToken(module?: string): InjectionToken<RecentContacts> {
  return module === undefined
    ? RecentContacts
    : `RecentContacts of AutocompleteModule ${JSON.stringify(module)}`;
}

/** What the `AddressBooks` of a module are provided as: the class itself, unless the module has a name. */
export function getAddressBooksToken(module?: string): InjectionToken<AddressBooks> {
  return module === undefined ? AddressBooks : `AddressBooks of AutocompleteModule ${JSON.stringify(module)}`;
}

/** What the `Mentions` of a module are provided as: the class itself, unless the module has a name. */
export function getMentionsToken(module?: string): InjectionToken<Mentions> {
  return module === undefined ? Mentions : `Mentions of AutocompleteModule ${JSON.stringify(module)}`;
}

/** Injects the `RecentContacts` of a module; those of the one without a name are injected by their type alone, too. */
export function InjectRecentContacts(module?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getRecentContactsToken(module));
}

/** Injects the `AddressBooks` of a module; those of the one without a name are injected by their type alone, too. */
export function InjectAddressBooks(module?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getAddressBooksToken(module));
}

/** Injects the `Mentions` of a module; those of the one without a name are injected by their type alone, too. */
export function InjectMentions(module?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getMentionsToken(module));
}

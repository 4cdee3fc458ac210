import { featureTokenOf, injectorOf, rootTokenOf } from '@mortise/redis/nestjs';
import { RecentContacts } from '../contacts/recent-contacts.js';
import { AddressBooks } from './address-books.js';

const NAME = 'Autocomplete';

/** The token of a module's `RecentContacts`: the class itself, unless the module has a name. */
export const getRecentContactsToken = rootTokenOf(NAME, RecentContacts);

/** The token of a module's `AddressBooks`: the class itself, unless the module has a name. */
export const getAddressBooksToken = rootTokenOf(NAME, AddressBooks);

/** The token of a book that `AutocompleteModule.forFeature` names. */
export const getAddressBookToken = featureTokenOf(NAME, 'address book');

/** Injects the `RecentContacts` of a module. For a module without a name, the type is enough. */
export const InjectRecentContacts = injectorOf(getRecentContactsToken);

/** Injects the `AddressBooks` of a module. For a module without a name, the type is enough. */
export const InjectAddressBooks = injectorOf(getAddressBooksToken);

/** Injects a book that `AutocompleteModule.forFeature` names. */
export const InjectAddressBook = injectorOf(getAddressBookToken);

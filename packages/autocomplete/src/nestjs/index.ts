export { AddressBooks } from './address-books.js';
export type {
  AutocompleteFeature,
  AutocompleteModuleOptions,
  AutocompleteOptionsFactory,
} from './autocomplete.module.js';
export { AutocompleteModule } from './autocomplete.module.js';
export {
  getAddressBooksToken,
  getAddressBookToken,
  getRecentContactsToken,
  InjectAddressBook,
  InjectAddressBooks,
  InjectRecentContacts,
} from './tokens.js';

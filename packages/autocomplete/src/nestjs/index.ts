export type { AddressBooksModuleOptions } from './address-books.js';
export { AddressBooks } from './address-books.js';
export type { AutocompleteModuleOptions, AutocompleteOptionsFactory } from './autocomplete.module.js';
export { AutocompleteModule } from './autocomplete.module.js';
export { Mentions } from './mentions.js';
export {
  getAddressBooksToken,
  getMentionsToken,
  getRecentContactsToken,
  InjectAddressBooks,
  InjectMentions,
  InjectRecentContacts,
} from './tokens.js';

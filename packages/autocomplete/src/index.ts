export { AddressBook } from './book/address-book.js';
export type { Page } from './book/complete/pages.js';
export type { StoredBookEntry } from './book/get/stored-entries.js';
export type { Suggestion } from './book/suggestion.js';
export { RecentContacts } from './contacts/recent-contacts.js';
export { InvalidCursorError, InvalidEntryError, PageTooDeepError, RequestReusedError } from './errors.js';
export type {
  AddEntry,
  AddManyOptions,
  AddManyResult,
  AddressBookOptions,
  BoostOptions,
  CompleteBookOptions,
  CompleteOptions,
  RecentContactsOptions,
} from './options.js';
export type { TextRange } from './text/folded-text.js';
export { prefixMatchOf } from './text/matches.js';
export { NORMALIZATION_VERSION, normalize } from './text/normalize.js';
export type { Telemetry } from '@mortise/redis';

export { AddressBook } from './book/address-book.js';
export type { StoredBookEntry } from './book/address-book.js';
export type { Page } from './book/pages.js';
export type { Suggestion } from './book/suggestion.js';
export {
  EntryTooLargeError,
  InvalidCursorError,
  NoSourceAnsweredError,
  NoWordsError,
  PageTooDeepError,
  RequestReusedError,
  SourceTimeoutError,
} from './errors.js';
export type { TextRange } from './folded-text.js';
export type {
  BookMention,
  Mention,
  MentionBook,
  MentionCompleterOptions,
  MentionFailure,
  MentionOptions,
  MentionResult,
  MentionSource,
} from './mention-completer.js';
export { MentionCompleter } from './mention-completer.js';
export { NORMALIZATION_VERSION, normalize } from './normalize.js';
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
export { RecentContacts } from './recent-contacts.js';

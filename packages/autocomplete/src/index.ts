export { NORMALIZATION_VERSION, normalize } from './normalize.js';
export type { CompleteOptions, RecentContactsOptions } from './options.js';
export { RecentContacts } from './recent-contacts.js';

export { BodyTooLargeError, UnknownMessageError } from './errors.js';
export type { MailboxStatus, Outgoing, SendResult } from './mailboxes.js';
export { Mailboxes } from './mailboxes.js';
export type { IdRange, Message } from './message.js';
export type { MailboxesOptions, ReceiveOptions, SendOptions } from './options.js';

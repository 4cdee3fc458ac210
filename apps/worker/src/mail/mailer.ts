import { CodedError } from '@mortise/redis';

import type { MailAddress } from '@mortise/api/market';
import type { Content } from './templates.js';

/** A mail to one recipient. */
export interface Mail extends Content {
  /** The task that sends it. It determines the Message-ID and the file name, equal for every attempt. */
  readonly taskId: string;
  readonly to: MailAddress;
}

/** Sends mails: to an SMTP server, or to a folder. */
export interface Mailer {
  /**
   * Resolves when the mail is accepted. Rejects with ERR_MAIL_REFUSED when it never will be, with ERR_MAIL_UNSENT when
   * another attempt may succeed, and with the signal's reason after an abort. After a rejection the mail may have arrived
   * nevertheless.
   */
  send(mail: Mail, signal: AbortSignal): Promise<void>;
  /** Closes all connections, also those that are sending. Idempotent. */
  close(): void;
}

/** The mail server refused this recipient or this mail permanently; another attempt would fail too. */
export class MailRefusedError extends CodedError {
  readonly code = 'ERR_MAIL_REFUSED';
}

/** The mail was not accepted this time: a temporary refusal, an unreachable server, a wrong setting of ours. */
export class MailUnsentError extends CodedError {
  readonly code = 'ERR_MAIL_UNSENT';
}

import { CodedError } from '@mortise/redis';

import type { MailAddress } from '@mortise/api/market';
import type { Content } from './templates.js';

/** A mail to one recipient. */
export interface Mail extends Content {
  /** The task that sends it: decides the Message-ID and the file name. The same for every attempt. */
  readonly taskId: string;
  readonly to: MailAddress;
}

/** Where mails go. There are two: an SMTP server, and a folder. */
export interface Mailer {
  /**
   * Resolves when the mail was accepted. Rejects with ERR_MAIL_REFUSED when it never will be, with
   * ERR_MAIL_UNSENT when another attempt may succeed, and with the signal's reason after an abort. A mail whose
   * sending rejected may have arrived nevertheless.
   */
  send(mail: Mail, signal: AbortSignal): Promise<void>;
  /** Gives connections up, also those that are sending. Idempotent. */
  close(): void;
}

/** The mail server refused this recipient or this mail for good; the next attempt would end the same way. */
export class MailRefusedError extends CodedError {
  readonly code = 'ERR_MAIL_REFUSED';
}

/** The mail was not accepted this time: a temporary refusal, a server out of reach, a wrong setting of ours. */
export class MailUnsentError extends CodedError {
  readonly code = 'ERR_MAIL_UNSENT';
}

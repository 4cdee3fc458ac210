import { createHash } from 'node:crypto';

import type { SendMailOptions } from 'nodemailer';

import type { MailAddress } from '@mortise/api/market';
import type { Mail } from './mailer.js';
import { taskName } from './task-name.js';

/** The sender of the mails. */
export interface Sender {
  /** The display name; may be empty. */
  readonly name: string;
  readonly address: MailAddress;
  /** The right side of every Message-ID. */
  readonly domain: string;
}

/**
 * The mail in nodemailer's form. Message-ID and MIME boundaries come from the task's id, so recipients recognise a mail
 * that is sent twice. The envelope is explicit, not read from the headers: one sender, one recipient.
 */
export function compose(mail: Mail, { name, address, domain }: Sender): SendMailOptions {
  return {
    messageId: `<${taskName(mail.taskId)}@${domain}>`,
    date: dateOf(mail.taskId),
    from: { name, address },
    to: { name: '', address: mail.to },
    envelope: { from: address, to: [mail.to] },
    subject: mail.subject,
    text: mail.text,
    html: mail.html,
    // Keeps autoresponders silent (RFC 3834).
    headers: { 'Auto-Submitted': 'auto-generated' },
    xMailer: false,
    baseBoundary: createHash('sha256').update(mail.taskId).digest('hex').slice(0, 16),
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** The instant in a UUID version 7, so that every attempt sends the same bytes; otherwise now. */
function dateOf(taskId: string): Date {
  const [, high, low] =
    /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.exec(taskId) ?? [];
  return high && low ? new Date(Number.parseInt(high + low, 16)) : new Date();
}

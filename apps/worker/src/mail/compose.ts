import { createHash } from 'node:crypto';

import type { SendMailOptions } from 'nodemailer';

import type { MailAddress } from '@mortise/api/market';
import type { Mail } from './mailer.js';
import { taskName } from './task-name.js';

/** Who the mails are from. */
export interface Sender {
  /** The display name; may be empty. */
  readonly name: string;
  readonly address: MailAddress;
  /** The right side of every Message-ID. */
  readonly domain: string;
}

/**
 * The mail as nodemailer takes it. Message-ID and MIME boundaries come from the task's id, so a mail that is sent
 * twice is recognised by its Message-ID. The envelope is given, not read from the headers: one sender, one recipient.
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

/** The instant that a UUID version 7 carries, so that every attempt gives the same bytes; else the present one. */
function dateOf(taskId: string): Date {
  const [, high, low] =
    /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.exec(taskId) ?? [];
  return high && low ? new Date(Number.parseInt(high + low, 16)) : new Date();
}

import { crewWork } from '../../crew.js';
import type { Competitor, Scenario } from '../../scenario.js';
import { UNREAD } from './kind.js';
import { BOOK, MORTISE, STREAM_GROUPS } from './kinds/index.js';
import { MAILBOXES } from './mailbox.process.js';
import type { MailboxReport, MailboxSettings } from './mailbox.process.js';

const SECONDS = 1;
const WARM_UP_SECONDS = 0.5;

function competitor(name: string, version: string, settings: Omit<MailboxSettings, 'url'>): Competitor {
  return {
    name,
    version,
    prepare: (_redis, { url, seconds = SECONDS }) =>
      crewWork<MailboxReport>({
        module: new URL('mailbox.process.js', import.meta.url),
        settings: [{ url, ...settings } satisfies MailboxSettings],
        warmUpSeconds: WARM_UP_SECONDS,
        seconds,
        outcome: ([report]) => ({ operations: report!.messages }),
      }),
  };
}

function scenario(recipients: number): Scenario {
  const who = recipients === 1 ? '1 recipient' : `${recipients} recipients`;
  return {
    name: `messaging.mailbox-${String(recipients).padStart(2, '0')}`,
    title: `Messaging: mailboxes, ${who}`,
    operation: 'one message of 167 bytes as JSON sent, received and acked',
    method:
      `One process; for each recipient ${UNREAD} messages are sent, one after the other, then received and acked together, and so on. ` +
      `${MORTISE.name}: Mailboxes; the others, which have no such thing, use a chat of two members for each recipient.`,
    competitors: [
      competitor(MORTISE.name, MORTISE.version, { kind: MAILBOXES, recipients }),
      ...[BOOK, STREAM_GROUPS].map(({ name, version }) =>
        competitor(name, version, { kind: name, recipients }),
      ),
    ],
    columns: [
      'operations/s',
      'Redis CPU µs',
      'Node CPU µs',
      'commands sent',
      'commands run',
      'bytes in',
      'bytes out',
    ],
  };
}

export const mailbox: readonly Scenario[] = [scenario(1), scenario(50)];

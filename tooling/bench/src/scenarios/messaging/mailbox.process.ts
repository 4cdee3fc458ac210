/** One process with recipients, each with a sender: ten messages, which are received and acked, and so on. */
import { Mailboxes } from '@mortise/messaging';
import type { MakeSegment } from '../../crew-member.js';
import { UNREAD } from './kind.js';
import { chatKind } from './kinds/index.js';
import { sharedConnection } from './kinds/connection.js';
import { memberOf, TEXT } from './message.js';

export interface MailboxSettings {
  readonly url: string;
  /** `MAILBOXES`, or the name of a way to have chats. */
  readonly kind: string;
  readonly recipients: number;
}

export interface MailboxReport {
  readonly messages: number;
}

/** The work of two callers for one recipient. */
interface Mail {
  send(): Promise<unknown>;
  /** Receives up to ten and acks them; how many it has found. */
  receive(): Promise<number>;
}

export const MAILBOXES = 'mailboxes';
const SENDER = 'sender';

const make: MakeSegment<MailboxSettings, MailboxReport> = async ({ url, kind, recipients }) => {
  const all = await Promise.all(
    Array.from({ length: recipients }, (_, index) =>
      kind === MAILBOXES ? ofMailbox(url, memberOf(index)) : ofChat(url, kind, memberOf(index)),
    ),
  );
  let messages = 0;
  const exchange = async (mail: Mail): Promise<never> => {
    for (;;) {
      for (let sent = 0; sent < UNREAD; sent += 1) await mail.send();
      const found = await mail.receive();
      if (found !== UNREAD) throw new Error(`${found} messages were received instead of ${UNREAD}`);
      messages += found;
    }
  };
  return {
    start: () => {
      for (const mail of all) void exchange(mail);
    },
    open: () => {
      messages = 0;
    },
    close: () => ({ messages }),
  };
};

function ofMailbox(url: string, recipient: string): Promise<Mail> {
  const mailboxes = new Mailboxes<string>(sharedConnection(url));
  return Promise.resolve({
    send: () => mailboxes.send(recipient, TEXT, { from: SENDER }),
    receive: async () => {
      const messages = await mailboxes.receive(recipient, { limit: UNREAD });
      await mailboxes.ack(recipient, messages.at(-1)!.id);
      return messages.length;
    },
  });
}

/** A chat of its own for each recipient, who has read what it begins with. */
async function ofChat(url: string, kind: string, recipient: string): Promise<Mail> {
  const client = chatKind(kind).connect(url);
  const sender = `${SENDER}-to-${recipient}`;
  await client.create(recipient, [sender, recipient], TEXT);
  await client.pull(recipient);
  return {
    send: () => client.post(recipient, sender, TEXT),
    receive: () => client.pull(recipient),
  };
}

export default make;

/** One process whose members wait for what never comes. */
import { Chats, Mailboxes } from '@mortise/messaging';
import { Redis } from 'ioredis';
import { sentCommands } from '../../sent-commands.js';
import { sharedConnection } from './kinds/connection.js';
import { memberOf } from './message.js';

export interface Waiting {
  readonly url: string;
  readonly kind: WaitKind;
  readonly waiters: number;
}

export type WaitKind = 'pull with waitMs' | 'follow' | 'receive of a mailbox' | 'XREAD BLOCK' | 'BLPOP';

const CHAT_MEMBERS = 10;
/** Longer than it is looked at. */
const WAIT_MS = 300_000;

/** The chats that they wait for; every member has acked everything. */
async function found({ url, kind, waiters }: Waiting): Promise<void> {
  if (kind !== 'pull with waitMs' && kind !== 'follow') return;
  const chats = new Chats(sharedConnection(url));
  for (let first = 0; first < waiters; first += CHAT_MEMBERS) {
    const [sender, ...members] = Array.from({ length: CHAT_MEMBERS }, (_, index) => memberOf(first + index));
    await chats.create({ chatId: `chat-of-${sender}`, sender: sender!, members });
  }
}

/** Begins; what is waited for in the end is a failure of the benchmark. */
async function wait({ url, kind, waiters }: Waiting): Promise<void> {
  const begin = await waiterOf(kind, url);
  for (let waiter = 0; waiter < waiters; waiter += 1) {
    begin(memberOf(waiter)).then(
      () => process.exit(1),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  }
}

async function waiterOf(kind: WaitKind, url: string): Promise<(member: string) => Promise<unknown>> {
  switch (kind) {
    case 'pull with waitMs': {
      const chats = new Chats(sharedConnection(url));
      return (member) => chats.pull(member, { waitMs: WAIT_MS });
    }
    case 'follow': {
      const chats = new Chats(sharedConnection(url));
      return (member) => chats.follow(member)[Symbol.asyncIterator]().next();
    }
    case 'receive of a mailbox': {
      const mailboxes = new Mailboxes(sharedConnection(url));
      return (member) => mailboxes.receive(member, { waitMs: WAIT_MS });
    }
    case 'XREAD BLOCK': {
      return (member) => new Redis(url).xread('BLOCK', 0, 'STREAMS', `stream:${member}`, '$');
    }
    case 'BLPOP': {
      return (member) => new Redis(url).blpop(`list:${member}`, 0);
    }
    default: {
      throw new Error(`unknown kind ${JSON.stringify(kind satisfies never)}`);
    }
  }
}

/** How many commands the process has sent so far. */
function sent(): Promise<number> {
  return Promise.resolve(sentCommands());
}

const actions = { found, wait, sent };

export type WaitingActions = typeof actions;
export default actions;

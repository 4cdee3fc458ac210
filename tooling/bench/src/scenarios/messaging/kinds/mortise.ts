import { Chats } from '@mortise/messaging';
import type { Redis } from 'ioredis';
import { versionOf } from '../../../version-of.js';
import type { Audience, ChatClient, ChatKind, ChatOptions } from '../kind.js';
import { UNREAD } from '../kind.js';
import { sharedConnection } from './connection.js';
import { Receipts } from './receipts.js';

const NAME = '@mortise/messaging';
const VERSION = versionOf(NAME);

let shared: Chats<string> | undefined;

/** All callers of a process share one, which sends together what they post at the same time. */
function chatsAt(url: string, { kept }: ChatOptions = {}): Chats<string> {
  shared ??= new Chats<string>(sharedConnection(url), kept === undefined ? {} : { maxMessages: kept });
  return shared;
}

function client(url: string, isAutoAck: boolean, options?: ChatOptions): ChatClient {
  const chats = chatsAt(url, options);
  const post = (chat: string, sender: string, text: string): Promise<unknown> =>
    chats.post(chat, sender, text);
  return {
    create: (chat, [sender, ...members], text) =>
      chats.create({ chatId: chat, sender: sender!, members, body: text }),
    post,
    postMany: (chat, sender, texts) => Promise.all(texts.map((text) => post(chat, sender, text))),
    pull: async (member) => {
      const pending = await chats.pull(member, { limit: UNREAD, autoAck: isAutoAck });
      if (!isAutoAck) {
        await Promise.all(
          pending.map(({ chatId, messages }) => chats.ack(chatId, member, messages.at(-1)!.id)),
        );
      }
      return pending.reduce((sum, { messages }) => sum + messages.length, 0);
    },
  };
}

async function accepted(redis: Redis, chat: string): Promise<number> {
  const chats = new Chats(redis);
  const { members } = await chats.members(chat, { limit: 1 });
  const all = await chats.chatsOf(members[0]!.member);
  return all.find(({ chatId }) => chatId === chat)!.lastId;
}

async function follow(url: string, member: string, onMessage: () => void): Promise<void> {
  const events = chatsAt(url).follow(member)[Symbol.asyncIterator]();
  const listen = async (): Promise<void> => {
    for (;;) {
      const { done, value } = await events.next();
      if (done) return;
      if (value.type === 'message') onMessage();
    }
  };
  void listen();
  return Promise.resolve();
}

async function attend(url: string, members: readonly string[]): Promise<Audience> {
  const receipts = new Receipts(members);
  await Promise.all(members.map((member) => follow(url, member, () => receipts.add(member, 1))));
  return receipts;
}

export const MORTISE: ChatKind = {
  name: NAME,
  version: VERSION,
  connect: (url, options) => client(url, false, options),
  passing: '*:ids*',
  accepted,
  follow,
  isPushed: true,
  attend,
};

/** The call that reads messages also acks them. */
export const MORTISE_AUTO_ACK: ChatKind = {
  name: `${NAME}, autoAck`,
  version: VERSION,
  connect: (url, options) => client(url, true, options),
  accepted,
  isPushed: false,
};

/** One process whose members read what is new for them in all their chats, one after the other. */
import { chatKind } from './kinds/index.js';
import type { ChatClient } from './kind.js';
import { UNREAD } from './kind.js';
import { memberOf, TEXT } from './message.js';

export interface Filling {
  readonly url: string;
  readonly kind: string;
  /** Number of the first member. */
  readonly first: number;
  readonly members: number;
  /** Chats of each member; a sender posts 10 messages to each. */
  readonly chats: number;
}

export interface Pulling extends Omit<Filling, 'chats'> {
  /** Pulls of each member. */
  readonly pulls: number;
  /** The number of messages that each pull has to return. */
  readonly messages: number;
}

const CALLERS = 50;
let puller: ChatClient | undefined;

/** Each member's chats get their messages. */
async function fill({ url, kind, first, members, chats }: Filling): Promise<void> {
  let next = 0;
  const call = async (): Promise<void> => {
    const client = chatKind(kind).connect(url);
    while (next < members * chats) {
      const index = next++;
      const member = memberOf(first + Math.floor(index / chats));
      await fillChat(client, `${member}-${index % chats}`, member);
    }
  };
  await Promise.all(Array.from({ length: Math.min(CALLERS, members * chats) }, call));
}

async function fillChat(client: ChatClient, chat: string, member: string): Promise<void> {
  const sender = `sender-to-${member}`;
  await client.create(chat, [sender, member], TEXT);
  for (let message = 1; message < UNREAD; message += 1) await client.post(chat, sender, TEXT);
}

/** How long each took, ms. */
async function pull({ url, kind, first, members, pulls, messages }: Pulling): Promise<number[]> {
  puller ??= chatKind(kind).connect(url);
  const took: number[] = [];
  for (let index = 0; index < members * pulls; index += 1) {
    const member = memberOf(first + (index % members));
    const startedAt = performance.now();
    const found = await puller.pull(member);
    took.push(performance.now() - startedAt);
    if (found !== messages) throw new Error(`${kind}: ${found} messages were found instead of ${messages}`);
  }
  return took;
}

const actions = { fill, pull };

export type PullActions = typeof actions;
export default actions;

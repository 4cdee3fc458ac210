/** One process that posts without end by senders that each wait for one post before the next; or one that follows. */
import type { MakeSegment } from '../../crew-member.js';
import { percentile } from '../../percentile.js';
import { chatKind } from './kinds/index.js';
import { chatOf, memberOf, TEXT } from './message.js';

export interface PostSettings {
  readonly url: string;
  readonly kind: string;
  readonly role: 'post' | 'follow';
  readonly senders: number;
  /** Senders are spread over so many chats. */
  readonly chats: number;
}

export interface PostReport {
  /** Posted, or received by who follows. */
  readonly messages: number;
  /** Posted by when the window ends, before it too. */
  readonly all: number;
  readonly p50: number;
  readonly p99: number;
}

/** Is a member of all chats. */
export const FOLLOWER = 'follower';

const make: MakeSegment<PostSettings, PostReport> = (settings) =>
  settings.role === 'post' ? posting(settings) : following(settings);

const posting: MakeSegment<PostSettings, PostReport> = async ({ url, kind, senders, chats }) => {
  const clients = Array.from({ length: senders }, () => chatKind(kind).connect(url));
  const members = clients.map((_, sender) => memberOf(sender));
  for (let chat = 0; chat < chats; chat += 1) {
    const posters = members.filter((_, sender) => sender % chats === chat);
    await clients[0]!.create(chatOf(chat), [...posters, FOLLOWER], TEXT);
  }
  let took: number[] = [];
  let all = 0;
  const send = async (sender: number): Promise<never> => {
    const client = clients[sender]!;
    const chat = chatOf(sender % chats);
    const member = memberOf(sender);
    for (;;) {
      const startedAt = performance.now();
      await client.post(chat, member, TEXT);
      took.push(performance.now() - startedAt);
      all += 1;
    }
  };
  return {
    start: () => {
      for (let sender = 0; sender < senders; sender += 1) void send(sender);
    },
    open: () => {
      took = [];
    },
    close: () => ({ messages: took.length, all, p50: percentile(took, 0.5), p99: percentile(took, 0.99) }),
  };
};

const following: MakeSegment<PostSettings, PostReport> = ({ url, kind }) => {
  let messages = 0;
  return Promise.resolve({
    start: () => chatKind(kind).follow!(url, FOLLOWER, () => (messages += 1)),
    open: () => {
      messages = 0;
    },
    close: () => ({ messages, all: messages, p50: Number.NaN, p99: Number.NaN }),
  });
};

export default make;

/** Follows the chats of members: push, with catch-up. */
import { encodeName, requireName } from '@mortise/redis';
import type { ChatsContext } from '../chat/chats-context.js';
import type { FollowOptions } from '../options.js';
import type { ChatEvent } from './chat-event.js';
import { Feeds } from './feeds.js';
import { Following } from './following.js';
import { splitToken } from './resume-token.js';

export class Follower<Body> {
  readonly #context: ChatsContext;
  readonly #feeds: Feeds;

  constructor(context: ChatsContext) {
    this.#context = context;
    this.#feeds = new Feeds(context);
  }

  follow(
    member: string,
    { after, includeMuted = false, signal }: FollowOptions,
  ): AsyncIterableIterator<ChatEvent<Body>> {
    requireName('member', member);
    return new Following<Body>(this.#context, this.#feeds, {
      member,
      positions: after === undefined ? [] : splitToken(member, after),
      isMutedIncluded: includeMuted,
      signal,
    });
  }

  /** The member has acked, here: tokens needn't say so any more. */
  acked(chatId: string, member: string, ackedId: number): void {
    this.#feeds.find(chatId)?.acked(encodeName(member), ackedId);
  }
}

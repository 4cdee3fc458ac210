/** Follows the chats of members: push, with catch-up. */
import { encodeName, requireName } from '@mortise/redis';
import type { ChatsContext } from '../chat/chats-context.js';
import type { MemberIndex } from '../member/member-index.js';
import type { FollowOptions } from '../options.js';
import type { ChatEvents } from './chat-event.js';
import { Feeds } from './feeds.js';
import { Following } from './following.js';
import type { Places } from './resume-token.js';
import { splitToken } from './resume-token.js';

const NOWHERE: Places = { positions: [], bookmarks: new Map() };

export class Follower<Body> {
  readonly #context: ChatsContext;
  readonly #feeds: Feeds;
  readonly #index: MemberIndex;

  constructor(context: ChatsContext, index: MemberIndex) {
    this.#context = context;
    this.#index = index;
    this.#feeds = new Feeds(context);
  }

  follow(member: string, options: FollowOptions): ChatEvents<Body> {
    const { after, includeMuted = false, signal } = options;
    requireName('member', member);
    return new Following<Body>(this.#context, this.#feeds, this.#index, {
      member,
      places: after === undefined ? NOWHERE : splitToken(member, after),
      isMutedIncluded: includeMuted,
      signal,
      unreadable: options,
    });
  }

  /** The member has acked, here: tokens needn't say so any more. */
  acked(chatId: string, member: string, ackedId: number): void {
    this.#feeds.find(chatId)?.acked(encodeName(member), ackedId);
  }
}

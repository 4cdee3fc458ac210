/** Follows the chats of members: push, with catch-up. */
import { encodeName, requireName } from '@mortise/redis';
import type { ChatsContext } from '../log/context.js';
import type { MemberIndex } from '../members/member-index.js';
import type { FollowOptions } from '../options.js';
import { resolveFollowOptions } from '../resolve-options.js';
import type { ChatEvents } from './chat-event.js';
import { CountedEvents } from './counted-events.js';
import { Feeds } from './feeds.js';
import { splitToken } from './resume-token.js';
import { Subscription } from './subscription.js';
import { UnreadCounts } from './unread-counts.js';

export class Follower<Body> {
  readonly #context: ChatsContext;
  readonly #feeds: Feeds;
  readonly #index: MemberIndex;
  readonly #counts: UnreadCounts;

  constructor(context: ChatsContext, index: MemberIndex) {
    this.#context = context;
    this.#index = index;
    this.#feeds = new Feeds(context);
    this.#counts = new UnreadCounts(context);
  }

  follow(member: string, options: FollowOptions): ChatEvents<Body> {
    requireName('member', member);
    const { after, includeMuted, includeUnread, signal } = resolveFollowOptions(options);
    const events = new Subscription<Body>(this.#context, this.#feeds, this.#index, {
      member,
      positions: after === undefined ? [] : splitToken(member, after),
      includeMuted,
      signal,
      unreadable: options,
    });
    return includeUnread ? new CountedEvents(events, this.#counts, member, signal) : events;
  }

  /** The member has acked in this process, so tokens need not contain that. */
  acked(chatId: string, member: string, ackedId: number): void {
    this.#feeds.find(chatId)?.acked(encodeName(member), ackedId);
  }
}

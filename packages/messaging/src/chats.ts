/**
 * Chats of many members. Each message is kept until all of them have acked it.
 *
 * The slot of a chat is the truth: its members, their cursors, and the log of messages. The slot of a member has an index of
 * their chats, which may have too many entries but never too few. So every change is one script in one slot, without locks.
 * A crash between the two slots leaves at most a useless entry, which readers skip and remove.
 *
 * Fan-out on read: a message is stored once, and a member is a cursor of 42 B. Rejected: a list for each member, where a
 * message to 1,000 members costs 8.6 ms of Redis; here it costs 0.04 ms, with push.
 */
import type { RedisClient } from '@mortise/redis';
import { Codecs, requireClient, SafeTelemetry, WaiterHub } from '@mortise/redis';
import type { ChatEvents } from './follow/chat-event.js';
import { Follower } from './follow/follower.js';
import { Signals } from './follow/signals.js';
import { MessagingKeys } from './keys.js';
import type { ChatMessage } from './log/chat-message.js';
import type { IdRange } from './log/entry.js';
import type { ChatsContext } from './log/context.js';
import type { CreateResult } from './members/creator.js';
import { Creator } from './members/creator.js';
import { MemberIndex } from './members/member-index.js';
import type { MembersPage } from './members/members.js';
import { Members } from './members/members.js';
import type { JoinResult } from './members/membership.js';
import { Membership } from './members/membership.js';
import { Mutes } from './members/mutes.js';
import type {
  AckOptions,
  ChatsOfOptions,
  ChatsOptions,
  CreateOptions,
  FollowOptions,
  HistoryOptions,
  JoinOptions,
  MembersOptions,
  MuteOptions,
  PostOptions,
  PullOptions,
  Role,
  SetRoleOptions,
} from './options.js';
import { resolveChatsOptions } from './resolve-options.js';
import type { PostResult } from './post/poster.js';
import { Poster } from './post/poster.js';
import { Reviser } from './post/reviser.js';
import { Acks } from './pull/acks.js';
import { ChatReader } from './pull/chat-reader.js';
import type { ChatOverview } from './pull/chats-of.js';
import { ChatsOf } from './pull/chats-of.js';
import { Puller } from './pull/pull.js';
import { QuietChats } from './pull/quiet-chats.js';
import { Trimmer } from './pull/trimmer.js';
import type { Pulled } from './pull/pulled.js';
import { telemetryAttributes } from './telemetry/metrics.js';

/** Chats with many members; `Body` is the type of messages. */
export class Chats<Body = unknown> {
  readonly #creator: Creator;
  readonly #poster: Poster;
  readonly #reviser: Reviser;
  readonly #acks: Acks;
  readonly #puller: Puller<Body>;
  readonly #chatsOf: ChatsOf;
  readonly #reader: ChatReader<Body>;
  readonly #membership: Membership;
  readonly #members: Members;
  readonly #mutes: Mutes;
  readonly #trimmer: Trimmer;
  readonly #follower: Follower<Body>;
  readonly #signals: Signals;

  /** Sends nothing. Throws TypeError or RangeError for unknown options and values out of range. */
  constructor(redis: RedisClient, options: ChatsOptions = {}) {
    const context: ChatsContext = {
      redis: requireClient(redis),
      limits: resolveChatsOptions(options),
      codecs: Codecs.of(options.codecs),
      keys: new MessagingKeys(options.prefix),
      hub: WaiterHub.of(redis),
      telemetry: SafeTelemetry.of(options.telemetry, telemetryAttributes('chat')),
    };
    const index = new MemberIndex(context);
    this.#mutes = new Mutes(context, index);
    this.#creator = new Creator(context, index, this.#mutes);
    this.#membership = new Membership(context, index, this.#mutes);
    this.#members = new Members(context);
    this.#poster = new Poster(context);
    this.#reviser = new Reviser(context);
    this.#follower = new Follower(context, index);
    const quiet = new QuietChats(context.limits.keepMs);
    // Tells followers of this process about acks, so that their tokens stay short, and pulls, so that these ask less.
    this.#acks = new Acks(context, (chatId, member, ackedId) => {
      this.#follower.acked(chatId, member, ackedId);
      quiet.acked(chatId, member, ackedId);
    });
    this.#puller = new Puller(context, index, this.#acks, quiet);
    this.#chatsOf = new ChatsOf(context, index);
    this.#reader = new ChatReader(context);
    this.#signals = new Signals(context);
    this.#trimmer = new Trimmer(context);
  }

  /**
   * Creates a chat of the sender, who owns it, and the members. A `body` is its first message. An existing chat is not changed,
   * so repeating the call with the same `chatId` is safe. Two round trips: the first writes the indexes of all members (on
   * Cluster in parallel), the second is one atomic script. A crash in between leaves nothing visible. O(members). Errors:
   * ERR_TOO_MANY_MEMBERS, ERR_TOO_MANY_CHATS, ERR_BODY_TOO_LARGE, ERR_INVALID_BODY.
   */
  async create(options: CreateOptions<Body>): Promise<CreateResult> {
    return this.#creator.create(options);
  }

  /**
   * Appends a message, which is any JSON value, and pushes it to the followers of the chat. A sender with no unread messages
   * acks their own message with it. Messages to one chat in the same tick are one round trip and one atomic script, in the
   * order of the calls. O(1), and O(dropped) at a limit. With an `id`, repeating the call within `dedupMs` is safe, even after
   * the message was acked or the sender has left. Errors: ERR_UNKNOWN_CHAT, ERR_NOT_A_MEMBER, ERR_READ_ONLY_MEMBER,
   * ERR_BODY_TOO_LARGE, ERR_INVALID_BODY.
   */
  async post(chatId: string, sender: string, body: Body, options: PostOptions = {}): Promise<PostResult> {
    return this.#poster.post(chatId, sender, body, options);
  }

  /**
   * Returns the unread messages of a member in all of their chats. Chats come in the order of joining, the oldest messages of
   * each first. Chats without unread messages are omitted. The call moves no cursor: the same messages come again until they
   * are acked. `autoAck` acks the returned messages after the read. Unread messages that a chat dropped are its `gap`. A call
   * returns at most `limit` messages of a chat and 10,000 in all, so with many chats each has fewer. With `waitMs` the call
   * waits for something new, on subscriptions that the process shares.
   *
   * Up to 3 round trips of plain reads, in parallel on the nodes of a Cluster, and one for the acks. Messages above
   * `maxReplyBytes` cost 1 more, and so do chats that have changed meanwhile, have a gap or begin with deleted messages.
   * Useless index entries are removed in the background. O(chats + messages). A damaged chat is omitted and passed to
   * `onUnreadable`. Error: ERR_READ_TIMEOUT if Redis has not answered a second after `waitMs`.
   */
  async pull(member: string, options: PullOptions = {}): Promise<Pulled<Body>[]> {
    return this.#puller.pull(member, options);
  }

  /**
   * Moves the member's cursor to an id, frees the messages that all members have acked, and returns the cursor. A cursor never
   * moves back: a lower id changes nothing. Acks of one chat in the same tick are one round trip and one atomic script.
   * O(log(members) + freed). Repeating it is safe. Errors: ERR_UNKNOWN_MESSAGE for an id above the newest, or of another
   * `epoch`; ERR_NOT_A_MEMBER, ERR_UNKNOWN_CHAT.
   */
  async ack(chatId: string, member: string, upToId: number, options: AckOptions = {}): Promise<number> {
    return this.#acks.ack(chatId, member, upToId, options);
  }

  /**
   * Acks everything that a `pull` returned: each chat up to its last message, or up to the end of its gap. Chats that the
   * member has left since are skipped. Costs what `ack` does, for each chat. Repeating the call is safe.
   */
  async ackAll(member: string, pulled: readonly Pulled<Body>[]): Promise<void> {
    return this.#puller.ackAll(member, pulled);
  }

  /**
   * Counts a member's unread messages: in one chat, or in all chats that are not muted. Reads no messages. One chat costs one
   * round trip, all chats what `chatsOf` costs. Errors for one chat: ERR_UNKNOWN_CHAT, ERR_NOT_A_MEMBER.
   */
  async unread(member: string, chatId?: string): Promise<number> {
    return this.#chatsOf.unread(member, chatId);
  }

  /**
   * Adds a member, who reads messages from now on. An existing member keeps their cursor and role, so repeating the call is
   * safe. If ioredis resends the call after a lost reply, the answer is `isNew: false`. Two round trips; the joins of a tick
   * share the second. Two more end a mute of an earlier membership. O(log(members)). Errors: ERR_UNKNOWN_CHAT,
   * ERR_TOO_MANY_MEMBERS, ERR_TOO_MANY_CHATS.
   */
  async join(chatId: string, member: string, options: JoinOptions = {}): Promise<JoinResult> {
    return this.#membership.join(chatId, member, options);
  }

  /**
   * Removes a member, and frees the messages that all others have acked. A chat without members is deleted. Returns whether the
   * member was in the chat. Three round trips: end the member's mute, leave, remove the index entry. The leaves of a tick and
   * chat share the second, one atomic script. O(log(members) + freed). Repeating the call is safe; if ioredis resends it after
   * a lost reply, the answer is false.
   */
  async leave(chatId: string, member: string): Promise<boolean> {
    return this.#membership.leave(chatId, member);
  }

  /**
   * Changes the role of a member. With `by`, the call is refused unless `by` is an owner; so a chat without owners never gets
   * one. One round trip, atomic, O(log(members)). Errors: ERR_UNKNOWN_CHAT, ERR_NOT_A_MEMBER (the member, or `by`),
   * ERR_NOT_ALLOWED.
   */
  async setRole(chatId: string, member: string, role: Role, options: SetRoleOptions = {}): Promise<void> {
    return this.#membership.setRole(chatId, member, role, options);
  }

  /**
   * Returns a page of the members of a chat with their cursors, which are read receipts. Every member who stays is on some
   * page; the last page of a chat with more than a few hundred members may be empty. One round trip. O(limit); O(members) up to
   * a few hundred members. Error: ERR_UNKNOWN_CHAT.
   */
  async members(chatId: string, options: MembersOptions = {}): Promise<MembersPage> {
    return this.#members.list(chatId, options);
  }

  /**
   * Returns the chats of a member with their unread counts, in the order of joining. Up to 3 round trips of plain reads, in
   * parallel on the nodes of a Cluster, and 1 more for gaps. O(chats): no messages are read. The call treats damaged chats and
   * useless index entries as `pull` does.
   */
  async chatsOf(member: string, options: ChatsOfOptions = {}): Promise<ChatOverview[]> {
    return this.#chatsOf.list(member, options);
  }

  /**
   * Returns stored messages of a chat by ascending ids, with edits and deletions. These are the newest ones, those before an
   * id, or those after it. Of the messages that all members have acked, only the newest `keepAcked` are stored. One round trip,
   * atomic, O(limit), and O(stored) in the middle of a long chat. Error: ERR_UNKNOWN_CHAT.
   */
  async history(chatId: string, options: HistoryOptions = {}): Promise<ChatMessage<Body>[]> {
    return this.#reader.history(chatId, options);
  }

  /**
   * Drops the stored messages up to an id, read or not. Returns the dropped ids, or null when none was stored. Operators use
   * this when a member who never acks keeps too much. Cursors stay where they are, so members who had not acked these messages
   * get them as their `gap`. One round trip, atomic. O(dropped). Repeating the call is safe, and then returns null. Errors:
   * ERR_UNKNOWN_MESSAGE for an id above the newest, or of another `epoch`; ERR_UNKNOWN_CHAT.
   */
  async trim(chatId: string, upToId: number, options: AckOptions = {}): Promise<IdRange | null> {
    return this.#trimmer.trim(chatId, upToId, options);
  }

  /**
   * Changes a message of the sender in place, appends an event, and returns the id of the event. A later `pull` of the message
   * returns the new body. One round trip, atomic, O(distance from the nearer end). With an `id`, repeating the call within
   * `dedupMs` is safe. The id identifies one of the sender's edits of this message: posts and edits of other messages may have
   * the same id. Errors: ERR_UNKNOWN_MESSAGE for an entry that is not stored or not a message, ERR_NOT_ALLOWED for anybody but
   * the author, and those of `post`.
   */
  async edit(
    chatId: string,
    sender: string,
    messageId: number,
    body: Body,
    options: PostOptions = {},
  ): Promise<PostResult> {
    return this.#reviser.edit(chatId, sender, messageId, body, options);
  }

  /**
   * Deletes a message: removes its body at once, appends an event, and returns the id of the event. The author and owners may
   * do so, even if the message is no longer stored. Deleted messages are not unread. Costs and errors are those of `edit`.
   * Repeating the call is safe.
   */
  async delete(chatId: string, sender: string, messageId: number): Promise<PostResult> {
    return this.#reviser.delete(chatId, sender, messageId);
  }

  /**
   * Hides a chat from a member's `pull` and `follow`, unless these include muted chats, until `untilMs`, `unmute` or `leave`.
   * Three round trips, since membership is checked before and after the mute is written. The mutes of a member and tick share
   * the second one. Repeating the call is safe. The end of `untilMs` does not wake a waiting `pull`. Its next recheck finds the
   * messages, within 5 s if the process has few waits. Error: ERR_NOT_A_MEMBER, also for an unknown chat.
   */
  async mute(chatId: string, member: string, options: MuteOptions = {}): Promise<void> {
    return this.#mutes.mute(chatId, member, options);
  }

  /** Ends a mute. One round trip. Repeating the call is safe. */
  async unmute(chatId: string, member: string): Promise<void> {
    return this.#mutes.unmute(chatId, member);
  }

  /**
   * Yields the events of a member's chats, from their cursors or from the token of an event on. Each entry of a chat comes
   * once, in the order of the ids, including the member's own. A pushed entry is delivered as it is; a missed one is read from
   * the log. A `gap` reports dropped entries that the member has not acked elsewhere, and a `reset` a new numbering. The
   * iteration acks nothing: pass the `epoch` of the event to `ack`. Chats that the member joins or leaves are added and
   * removed; messages from before a join are never delivered, not even with an older token. Joins and leaves of other members,
   * typing and presence reach only present followers, and may be lost.
   *
   * Muted chats have no events unless `includeMuted`. A mute takes effect a round trip after it was set, and `untilMs` follows
   * the clock of this process. An unmuted chat continues where it stopped.
   *
   * The followers of a process share one subscription for each chat; a push costs Redis one command for any number of members.
   * While nothing happens, a follower sends one read a minute, and so does each chat for all of its followers. A follower that
   * is not read keeps up to 4 pages of 64 entries, and delays nobody. It starts with the first `next()`, or with `open()`,
   * which resolves when later posts will be pushed. A damaged chat is omitted, passed to `onUnreadable`, and tried again every
   * 5 s. The iteration ends with `return()` (leaving the loop), with the signal, with ERR_CLIENT_CLOSED or with an error of the
   * server. It survives an outage. Throws RangeError for an invalid or damaged token, and for one of another member.
   */
  follow(member: string, options: FollowOptions = {}): ChatEvents<Body> {
    return this.#follower.follow(member, options);
  }

  /**
   * Notifies present followers of the chat that the member is typing. Stores nothing. One round trip. Errors:
   * ERR_UNKNOWN_CHAT, ERR_NOT_A_MEMBER.
   */
  async typing(chatId: string, member: string): Promise<void> {
    return this.#signals.typing(chatId, member);
  }

  /**
   * Sends the member's status, any text of 1 to 1,024 bytes, to present followers of their chats. Stores nothing: the
   * application repeats the status. One round trip, then one for each 100 chats, with a script for each chat. O(chats).
   */
  async presence(member: string, status: string): Promise<void> {
    return this.#signals.presence(member, status);
  }
}

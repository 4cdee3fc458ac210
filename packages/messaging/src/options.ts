import type { PayloadCodec, Telemetry } from '@mortise/redis';
import type { ChatUnreadableError } from './errors.js';

/** Limits of every mailbox. */
export interface MailboxesOptions {
  /** Maximum of messages in a mailbox, 1 to 1,000,000; the oldest are dropped, and reported. Default 10,000. */
  readonly maxMessages?: number | undefined;
  /** Maximum of message bytes in a mailbox, 1 KiB to 256 MiB; the oldest are dropped, and reported. Default 16 MiB. */
  readonly maxBytes?: number | undefined;
  /** Maximum size of a body as JSON in UTF-8, bytes, up to 8 MiB and not above `maxBytes`. Default 64 KiB. */
  readonly maxPayloadBytes?: number | undefined;
  /**
   * How long a message is kept, ms: 100 ms to 3,650 days, and up to 1/64 longer. After that the next `send` drops it. A
   * mailbox without a `send` is emptied. Default 30 days.
   */
  readonly keepMs?: number | undefined;
  /**
   * The least time for which the id of a sender is remembered, ms: 100 ms to 3,650 days. The limit is the last 9,000 ids of a
   * mailbox. Default 10 minutes.
   */
  readonly dedupMs?: number | undefined;
  /** Keeps several applications apart in one Redis. 1 to 1,024 bytes. Default `mortise`. */
  readonly prefix?: string | undefined;
  /**
   * Codecs that encode bodies before they are stored, in this order, and decode them: see `@mortise/messaging/codecs`. 1 to 8.
   * A body that this program can't decode is returned as it is stored; `isEncoded(body)` tells. Senders, members and ids are
   * not encoded. Default: none.
   */
  readonly codecs?: readonly PayloadCodec[] | undefined;
  /** Receives counts and measurements, see docs/messaging/reference/metrics.md. Default: none. */
  readonly telemetry?: Telemetry | undefined;
}

/** Options of one `send`. */
export interface SendOptions {
  /** The sender: any string of 1 to 1,024 bytes. */
  readonly from: string;
  /** Identifies the message among those of its sender: sending it again within `dedupMs` does nothing. Default: a new UUID for each call. */
  readonly id?: string | undefined;
  /** Expiry of the message, ms from now, up to 3,650 days. Default: `keepMs` of the mailbox. */
  readonly ttlMs?: number | undefined;
}

/** Chooses a device of the recipient. */
export interface DeviceOptions {
  /** Any string of 1 to 1,024 bytes. Default `main`. */
  readonly device?: string | undefined;
}

/** Options of one `addDevice`. */
export interface AddDeviceOptions {
  /** Start of the device's cursor. `newest`: messages from now on. `oldest`: also the stored ones. Default `newest`. */
  readonly at?: 'newest' | 'oldest' | undefined;
}

/** A place in the numbering of a mailbox. `status` and the events of `follow` have one. */
export interface MailboxPosition {
  /** The epoch of the mailbox; null if there was no mailbox. */
  readonly epoch: number | null;
  readonly lastId: number;
}

/** Options of one `follow` of a mailbox. */
export interface FollowMailboxOptions {
  /** An event of `follow`, or a result of `status`: the iteration begins with the arrivals after it. Default: now. */
  readonly after?: MailboxPosition | undefined;
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of one `receive`. */
export interface ReceiveOptions extends DeviceOptions {
  /** Maximum of returned messages, 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
  /** The end to read from: the oldest first, or the latest first. Default `oldest`. */
  readonly order?: 'oldest' | 'latest' | undefined;
  /**
   * How long to wait while the mailbox is empty, ms. With `Infinity` the wait lasts until `signal`. If Redis has not answered a
   * second after the end, the call rejects with ERR_READ_TIMEOUT. With 0, the options of the client limit the read. Default 0.
   */
  readonly waitMs?: number | undefined;
  /** Ends the call at once, even if Redis cannot be reached: `receive` rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Limits of every chat. */
export interface ChatsOptions {
  /** Maximum of entries in a chat, 1 to 1,000,000; the oldest are dropped, and reported. Default 10,000. */
  readonly maxMessages?: number | undefined;
  /** Maximum of entry bytes in a chat, 1 KiB to 256 MiB; the oldest are dropped, and reported. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** Maximum size of a body as JSON in UTF-8, bytes, up to 8 MiB and not above `maxBytes`. Default 64 KiB. */
  readonly maxPayloadBytes?: number | undefined;
  /**
   * How long a message is kept, ms: 100 ms to 3,650 days, and up to 1/64 longer. After that the next `post` drops it. A
   * chat without a `post` is emptied. Default 90 days.
   */
  readonly keepMs?: number | undefined;
  /** Number of newest messages kept for `history` after all members have acked them, up to `maxMessages`. Default 0. */
  readonly keepAcked?: number | undefined;
  /** Maximum of members of a chat, 1 to 100,000. Default 10,000. */
  readonly maxMembers?: number | undefined;
  /** Maximum of chats of a member, 1 to 100,000. Default 1,000. */
  readonly maxChats?: number | undefined;
  /**
   * The least time for which the id of a sender is remembered, ms: 100 ms to 3,650 days. The limit is the last 9,000 ids of a
   * chat. Default 10 minutes.
   */
  readonly dedupMs?: number | undefined;
  /** Keeps several applications apart in one Redis. 1 to 1,024 bytes. Default `mortise`. */
  readonly prefix?: string | undefined;
  /** Codecs of the bodies of messages and edits, as for mailboxes. */
  readonly codecs?: readonly PayloadCodec[] | undefined;
  /** Receives counts and measurements, see docs/messaging/reference/metrics.md. Default: none. */
  readonly telemetry?: Telemetry | undefined;
}

/** The role of a member: an owner may do everything, a member may post, a reader may read. */
export type Role = 'owner' | 'member' | 'reader';

/** Options of one `create`. */
export interface CreateOptions<Body = unknown> {
  /** The creator, who owns the chat: any string of 1 to 1,024 bytes. */
  readonly sender: string;
  /** The other members; the sender and repeated names count once. */
  readonly members: readonly string[];
  /** The first message. Default: none. */
  readonly body?: Body | undefined;
  /** Identifies the chat: creating it again changes nothing. Default: a new UUID. */
  readonly chatId?: string | undefined;
  /** Identifies the first message, as in `post`. */
  readonly id?: string | undefined;
}

/** Options of one `post` or `edit`. */
export interface PostOptions {
  /** Identifies the message among those of its sender: posting it again within `dedupMs` does nothing. Default: a new UUID for each call. */
  readonly id?: string | undefined;
}

/** Options of one `ack`. */
export interface AckOptions {
  /**
   * The epoch of the id, as `pull`, `chatsOf` and `reset` return it. So an id of an ended chat acks nothing in a later chat of
   * the same name. Default: the epoch of the present chat.
   */
  readonly epoch?: number | undefined;
}

/** Options of one `join`. */
export interface JoinOptions {
  /** Default `member`. A member of the chat keeps their role. */
  readonly role?: Role | undefined;
}

/** Options of one `setRole`. */
export interface SetRoleOptions {
  /** The member who changes the role, who must be an owner. Default: not checked. */
  readonly by?: string | undefined;
}

/** Options of the calls that read all chats of a member. */
export interface UnreadableOptions {
  /**
   * Called with each chat that was omitted because its stored data is damaged, at each call (in `follow` every 5 s). The other
   * chats are returned. Default: a line on stderr, for each chat at most once a minute.
   */
  readonly onUnreadable?: ((error: ChatUnreadableError) => void) | undefined;
}

/** Options of one `pull`. */
export interface PullOptions extends UnreadableOptions {
  /** Maximum of messages of each chat, 1 to 1,000. A call returns at most 10,000 in all. Default 100. */
  readonly limit?: number | undefined;
  /**
   * Maximum of stored message bytes of all chats, up to 256 MiB. The message that has waited longest is returned whatever its
   * size. Messages that don't fit stay unread; the next `pull` after your ack returns them. Redis sends at most twice this
   * size, and one message. Default 64 MiB.
   */
  readonly maxReplyBytes?: number | undefined;
  /**
   * How long to wait while there is nothing new, ms. With `Infinity` the wait lasts until `signal`. If Redis has not answered a
   * second after the end, the call rejects with ERR_READ_TIMEOUT. With 0, the options of the client limit the read. Default 0.
   */
  readonly waitMs?: number | undefined;
  /**
   * Ends the call at once, even if Redis cannot be reached: `pull` rejects with the signal's reason. If the signal is aborted
   * during the acks of `autoAck`, `pull` returns the messages that were read. Messages that were not acked come again.
   */
  readonly signal?: AbortSignal | undefined;
  /** Acks the returned messages after reading them: a crash before they are handled loses them. Default false. */
  readonly autoAck?: boolean | undefined;
  /** Includes muted chats. Default false. */
  readonly includeMuted?: boolean | undefined;
}

/** Options of one `members`. */
export interface MembersOptions {
  /** The `cursor` of the page before; null begins at the start. */
  readonly cursor?: string | null | undefined;
  /** The page size, 1 to 1,000; approximate for a large chat. Default 100. */
  readonly limit?: number | undefined;
}

/** Options of one `chatsOf`. */
export interface ChatsOfOptions extends UnreadableOptions {
  /** Includes muted chats. Default true. */
  readonly includeMuted?: boolean | undefined;
}

/** Options of one `history`. */
export interface HistoryOptions {
  /** Only messages with lower ids, and of these the newest. */
  readonly before?: number | undefined;
  /** Only messages with higher ids, and of these the oldest. */
  readonly after?: number | undefined;
  /** Maximum of messages, 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
}

/** Options of one `mute`. */
export interface MuteOptions {
  /** The end of the mute, in ms since 1970. Default: until `unmute`. */
  readonly untilMs?: number | undefined;
}

/** Options of one `follow`. */
export interface FollowOptions extends UnreadableOptions {
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined;
  /** The token of the last event that was handled: the iteration continues after this event. */
  readonly after?: string | undefined;
  /** Includes chats that the member has muted. Default false. */
  readonly includeMuted?: boolean | undefined;
  /**
   * Adds `unread` to messages, edits, deletions and gaps: the number of unread messages of the member in that chat. Each of
   * these events costs one more read, which the followers of a chat share within a tick. Default false.
   */
  readonly includeUnread?: boolean | undefined;
}

export const DAY_MS = 86_400_000;
export const KIB = 1_024;
export const MIB = 1_024 * KIB;

export const MAILBOX_DEFAULTS = {
  maxMessages: 10_000,
  maxBytes: 16 * MIB,
  maxPayloadBytes: 64 * KIB,
  keepMs: 30 * DAY_MS,
  dedupMs: 600_000,
  limit: 100,
  order: 'oldest',
  waitMs: 0,
  device: 'main',
  at: 'newest',
} as const;

export const CHAT_DEFAULTS = {
  maxMessages: 10_000,
  maxBytes: 64 * MIB,
  maxPayloadBytes: 64 * KIB,
  keepMs: 90 * DAY_MS,
  keepAcked: 0,
  maxMembers: 10_000,
  maxChats: 1_000,
  dedupMs: 600_000,
  limit: 100,
  maxReplyBytes: 64 * MIB,
  waitMs: 0,
} as const;

import type { Telemetry } from '@mortise/redis';
import type { ChatUnreadableError } from './errors.js';

/** Limits of every mailbox. */
export interface MailboxesOptions {
  /** The most messages in a mailbox, 1 to 1,000,000; the oldest are dropped, and reported. Default 10,000. */
  readonly maxMessages?: number;
  /** The most bytes of messages in a mailbox, up to 256 MiB; the oldest are dropped, and reported. Default 16 MiB. */
  readonly maxBytes?: number;
  /** The most bytes of one body, as JSON in UTF-8, up to 8 MiB and not above `maxBytes`. Default 64 KiB. */
  readonly maxPayloadBytes?: number;
  /**
   * How long a message is kept, in ms, and up to 1/64 longer. Then the next `send` drops it; without one the mailbox is
   * emptied. Default 30 days.
   */
  readonly keepMs?: number;
  /** How long a sender's id is remembered at least, in ms, for the last 9,000 of a mailbox. Default 10 minutes. */
  readonly dedupMs?: number;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string;
  /** Receives counts and measurements, see the README. Default: none. */
  readonly telemetry?: Telemetry;
}

/** Options of one `send`. */
export interface SendOptions {
  /** The sender: any string of 1 to 1,024 bytes. */
  readonly from: string;
  /** Identifies the message among those of its sender: sending it again within `dedupMs` does nothing. Default: a new UUID for each call. */
  readonly id?: string;
  /** The message expires after this time, in ms. Default: `keepMs` of the mailbox. */
  readonly ttlMs?: number;
}

/** Chooses a device of the recipient. */
export interface DeviceOptions {
  /** Any string of 1 to 1,024 bytes. Default `main`. */
  readonly device?: string;
}

/** Options of one `addDevice`. */
export interface AddDeviceOptions {
  /** Where its cursor begins: `newest`, messages from now on; `oldest`, also the stored ones. Default `newest`. */
  readonly at?: 'newest' | 'oldest';
}

/** Options of one `receive`. */
export interface ReceiveOptions extends DeviceOptions {
  /** The most messages to return, 1 to 1,000. Default 100. */
  readonly limit?: number;
  /** The end to read from: the oldest first, or the latest first. Default `oldest`. */
  readonly order?: 'oldest' | 'latest';
  /**
   * How long to wait while the mailbox is empty, in ms; `Infinity`: until `signal`. Default 0. An outage is not an empty
   * mailbox: a read that Redis has not answered a second after the end is ERR_READ_TIMEOUT. With 0, the options of the client
   * decide how long a read takes.
   */
  readonly waitMs?: number;
  /** Ends it at once, also while Redis can't be reached: `receive` then rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
}

/** Limits of every chat. */
export interface ChatsOptions {
  /** The most entries in a chat, 1 to 1,000,000; the oldest are dropped, and reported. Default 10,000. */
  readonly maxMessages?: number;
  /** The most bytes of entries in a chat, up to 256 MiB; the oldest are dropped, and reported. Default 64 MiB. */
  readonly maxBytes?: number;
  /** The most bytes of one body, as JSON in UTF-8, up to 8 MiB and not above `maxBytes`. Default 64 KiB. */
  readonly maxPayloadBytes?: number;
  /**
   * How long a message is kept, in ms, and up to 1/64 longer. Then the next `post` drops it; without one the chat is emptied.
   * Default 90 days.
   */
  readonly keepMs?: number;
  /** How many of the newest messages are kept for `history` when all members have acked them. Default 0. */
  readonly keepAcked?: number;
  /** The most members of a chat, 1 to 100,000. Default 10,000. */
  readonly maxMembers?: number;
  /** The most chats of a member, 1 to 100,000. Default 1,000. */
  readonly maxChats?: number;
  /** How long a sender's id is remembered at least, in ms, for the last 9,000 of a chat. Default 10 minutes. */
  readonly dedupMs?: number;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string;
  /** Receives counts and measurements, see the README. Default: none. */
  readonly telemetry?: Telemetry;
}

/** The role of a member: an owner may do everything, a member post, a reader read. */
export type Role = 'owner' | 'member' | 'reader';

/** Options of one `create`. */
export interface CreateOptions<Body = unknown> {
  /** The creator, who owns the chat: any string of 1 to 1,024 bytes. */
  readonly sender: string;
  /** The others; the sender and repeated names count once. */
  readonly members: readonly string[];
  /** The first message. Default: none. */
  readonly body?: Body;
  /** Identifies the chat: creating it again changes nothing. Default: a new UUID. */
  readonly chatId?: string;
  /** Identifies the first message, as in `post`. */
  readonly id?: string;
}

/** Options of one `post` or `edit`. */
export interface PostOptions {
  /** Identifies the message among those of its sender: posting it again within `dedupMs` does nothing. Default: a new UUID for each call. */
  readonly id?: string;
}

/** Options of one `ack`. */
export interface AckOptions {
  /**
   * The epoch of the id, as `pull`, `chatsOf` and `reset` return it: an id of a chat that has ended acks nothing in a later
   * chat of the same name. Default: the epoch of the chat that is there.
   */
  readonly epoch?: number;
}

/** Options of one `join`. */
export interface JoinOptions {
  /** Default `member`. A member of the chat keeps their role. */
  readonly role?: Role;
}

/** Options of one `setRole`. */
export interface SetRoleOptions {
  /** The member who changes the role: has to be an owner. Default: not checked. */
  readonly by?: string;
}

/** Options of the calls that read all chats of a member. */
export interface UnreadableOptions {
  /**
   * Is called with each chat that was left out because its stored data is damaged, each time (in `follow`: every 5 s while it
   * is); the other chats are returned. Default: one line on stderr for each chat of the process.
   */
  readonly onUnreadable?: (error: ChatUnreadableError) => void;
}

/** Options of one `pull`. */
export interface PullOptions extends UnreadableOptions {
  /** The most messages of each chat, 1 to 1,000; with many chats, fewer: no more than 10,000 of all. Default 100. */
  readonly limit?: number;
  /**
   * The most bytes of messages of all chats, as stored, up to 256 MiB. The message that has waited longest is returned
   * whatever its size. Messages that don't fit stay unread; the next `pull` after your ack returns them. Redis sends at most
   * twice as much, and one message. Default 64 MiB.
   */
  readonly maxBytes?: number;
  /**
   * How long to wait while there is nothing new, in ms; `Infinity`: until `signal`. Default 0. An outage is not "nothing
   * new": a read that Redis has not answered a second after the end is ERR_READ_TIMEOUT. With 0, the options of the client
   * decide how long a read takes.
   */
  readonly waitMs?: number;
  /**
   * Ends it at once, also while Redis can't be reached: `pull` then rejects with the reason of the signal. While `autoAck` is
   * acking, it returns the messages that were read: those that were not acked come again.
   */
  readonly signal?: AbortSignal;
  /** Acks the returned messages after they were read: a crash before they are handled loses them. Default false. */
  readonly autoAck?: boolean;
  /** Also chats that the member has muted. Default false. */
  readonly includeMuted?: boolean;
}

/** Options of one `members`. */
export interface MembersOptions {
  /** Continues a listing: the `cursor` of the page before. */
  readonly cursor?: string;
  /** The page size, 1 to 1,000; approximate for a large chat. Default 100. */
  readonly limit?: number;
}

/** Options of one `chatsOf`. */
export interface ChatsOfOptions extends UnreadableOptions {
  /** Also chats that the member has muted. Default true. */
  readonly includeMuted?: boolean;
}

/** Options of one `history`. */
export interface HistoryOptions {
  /** Only messages with lower ids, the last ones of them. */
  readonly before?: number;
  /** Only messages with higher ids, the first ones of them. */
  readonly after?: number;
  /** The most messages, 1 to 1,000. Default 100. */
  readonly limit?: number;
}

/** Options of one `mute`. */
export interface MuteOptions {
  /** The end of the mute, in ms since 1970. Default: until `unmute`. */
  readonly untilMs?: number;
}

/** Options of one `follow`. */
export interface FollowOptions extends UnreadableOptions {
  /** Ends the iteration. */
  readonly signal?: AbortSignal;
  /** The token of the last event that was handled: continues after it. */
  readonly after?: string;
  /** Also chats that the member has muted. Default false. */
  readonly includeMuted?: boolean;
}

const DAY_MS = 86_400_000;
const KIB = 1_024;
const MIB = 1_024 * KIB;

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
  pullBytes: 64 * MIB,
  waitMs: 0,
} as const;

import { encodeName, requireDuration, requireInteger, requireName, requireOneOf } from '@mortise/redis';
import type { Telemetry } from '@mortise/redis';
import type { ChatUnreadableError } from './errors.js';

/** Bounds of every mailbox. */
export interface MailboxesOptions {
  /** The most messages in a mailbox, 1 to 1,000,000; the oldest are dropped, visibly. Default 10,000. */
  readonly maxMessages?: number;
  /** The most bytes of messages in a mailbox, up to 256 MiB; the oldest are dropped, visibly. Default 16 MiB. */
  readonly maxBytes?: number;
  /** The most bytes of one body, as JSON in UTF-8, up to 8 MiB and not above `maxBytes`. Default 64 KiB. */
  readonly maxBodyBytes?: number;
  /**
   * A message is kept for so long, in ms, and up to 1/64 longer; after that the next `send` drops it, and without one the
   * mailbox is emptied. Default 30 days.
   */
  readonly retentionMs?: number;
  /** A sender's id is remembered for so long at least, in ms, for the last 9,000 of a mailbox. Default 10 minutes. */
  readonly dedupMs?: number;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string;
  /** Is told what is counted and measured, see the README. Default: nobody. */
  readonly telemetry?: Telemetry;
}

/** Of one message. */
export interface SendOptions {
  /** Who sends: any string of 1 to 1,024 bytes. */
  readonly from: string;
  /** Identifies the message among those of its sender: sending it again within `dedupMs` does nothing. Default: a new UUID for each call. */
  readonly id?: string;
  /** The message is nobody's any more after so long, in ms. Default: `retentionMs` of the mailbox. */
  readonly ttlMs?: number;
}

/** Which device of the recipient is meant. */
export interface DeviceOptions {
  /** Any string of 1 to 1,024 bytes. Default `main`. */
  readonly device?: string;
}

/** Of one `addDevice`. */
export interface AddDeviceOptions {
  /** What it gets: `newest`, messages from now on; `oldest`, also those that are still stored. Default `newest`. */
  readonly at?: 'newest' | 'oldest';
}

/** Of one `receive`. */
export interface ReceiveOptions extends DeviceOptions {
  /** The most messages to return, 1 to 1,000. Default 100. */
  readonly limit?: number;
  /** From which end: the oldest first, or the latest first. Default `oldest`. */
  readonly order?: 'oldest' | 'latest';
  /**
   * Waits for so long, in ms, while the mailbox is empty; `Infinity`: until `signal`. Default 0. An outage is no empty mailbox:
   * what Redis has not answered a second after the end is ERR_READ_TIMEOUT. With 0 it goes on as long as the options of the
   * client let a command wait.
   */
  readonly waitMs?: number;
  /** Ends it at once, also while Redis can't be reached: `receive` then rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
}

/** Bounds of every chat. */
export interface ChatsOptions {
  /** The most entries in a chat, 1 to 1,000,000; the oldest are dropped, visibly. Default 10,000. */
  readonly maxMessages?: number;
  /** The most bytes of entries in a chat, up to 256 MiB; the oldest are dropped, visibly. Default 64 MiB. */
  readonly maxBytes?: number;
  /** The most bytes of one body, as JSON in UTF-8, up to 8 MiB and not above `maxBytes`. Default 64 KiB. */
  readonly maxBodyBytes?: number;
  /**
   * A message is kept for so long, in ms, and up to 1/64 longer; after that the next `post` drops it, and without one the
   * chat is emptied. Default 90 days.
   */
  readonly retentionMs?: number;
  /** So many of the newest messages are kept for `history` when all members have acked them. Default 0. */
  readonly keepAcked?: number;
  /** The most members of a chat, 1 to 100,000. Default 10,000. */
  readonly maxMembers?: number;
  /** The most chats of a member, 1 to 100,000. Default 1,000. */
  readonly maxChats?: number;
  /** A sender's id is remembered for so long at least, in ms, for the last 9,000 of a chat. Default 10 minutes. */
  readonly dedupMs?: number;
  /** Keeps several applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string;
  /** Is told what is counted and measured, see the README. Default: nobody. */
  readonly telemetry?: Telemetry;
}

/** What a member may do: an owner everything, a member post, a reader read. */
export type Role = 'owner' | 'member' | 'reader';

/** Of one `create`. */
export interface CreateOptions<Body = unknown> {
  /** Who creates the chat, and owns it: any string of 1 to 1,024 bytes. */
  readonly sender: string;
  /** The others; the sender and doubles count once. */
  readonly members: readonly string[];
  /** The first message. Default: none. */
  readonly body?: Body;
  /** Identifies the chat: creating it again leaves it alone. Default: a new UUID. */
  readonly chatId?: string;
  /** Identifies the first message, as in `post`. */
  readonly id?: string;
}

/** Of one `post` or `edit`. */
export interface PostOptions {
  /** Identifies the message among those of its sender: posting it again within `dedupMs` does nothing. Default: a new UUID for each call. */
  readonly id?: string;
}

/** Of one `ack`. */
export interface AckOptions {
  /**
   * The epoch in which the id was given, as `pull`, `chatsOf` and `reset` tell it: an id of a chat that has ended acks
   * nothing in one that was created again under its name. Default: the id is taken to be of the chat that is there.
   */
  readonly epoch?: number;
}

/** Of one `join`. */
export interface JoinOptions {
  /** Default `member`. Somebody who is in the chat keeps the role that they have. */
  readonly role?: Role;
}

/** Of one `setRole`. */
export interface SetRoleOptions {
  /** Who does it: has to be an owner. Default: nobody is asked. */
  readonly by?: string;
}

/** Of whatever reads all chats of a member. */
export interface UnreadableOptions {
  /**
   * Is told of each chat that was left out because what is stored of it is damaged, each time (of `follow`: each 5 s, for as long as
   * it is); the others are returned. Default: one line on stderr for each chat of the process.
   */
  readonly onUnreadable?: (error: ChatUnreadableError) => void;
}

/** Of one `pull`. */
export interface PullOptions extends UnreadableOptions {
  /** The most messages of each chat, 1 to 1,000; with many chats, fewer: no more than 10,000 of all. Default 100. */
  readonly limit?: number;
  /**
   * The most bytes of messages of all chats, as they are stored, up to 256 MiB. The message that has waited for the longest time
   * is returned whatever its size; the rest stays unread, of a chat or a whole chat, and comes when what was returned is acked.
   * Redis sends at most twice as much, and one message. Default 64 MiB.
   */
  readonly maxBytes?: number;
  /**
   * Waits for so long, in ms, while there is nothing new; `Infinity`: until `signal`. Default 0. An outage is not nothing new:
   * what Redis has not answered a second after the end is ERR_READ_TIMEOUT. With 0 it goes on as long as the options of the
   * client let a command wait.
   */
  readonly waitMs?: number;
  /**
   * Ends it at once, also while Redis can't be reached: `pull` then rejects with the reason of the signal. When the acks of
   * `autoAck` are under way, it returns what was read: what they don't reach comes again.
   */
  readonly signal?: AbortSignal;
  /** Acks what is returned, after it was read: a crash before it is processed loses it. Default false. */
  readonly autoAck?: boolean;
  /** Also chats that the member has muted. Default false. */
  readonly includeMuted?: boolean;
}

/** Of one `members`. */
export interface MembersOptions {
  /** Where to go on: the `cursor` of the page before. */
  readonly cursor?: string;
  /** About how many, 1 to 1,000. Default 100. */
  readonly limit?: number;
}

/** Of one `chatsOf`. */
export interface ChatsOfOptions extends UnreadableOptions {
  /** Also chats that the member has muted. Default true. */
  readonly includeMuted?: boolean;
}

/** Of one `history`. */
export interface HistoryOptions {
  /** Only messages with lower ids, the last ones of them. */
  readonly before?: number;
  /** Only messages with higher ids, the first ones of them. */
  readonly after?: number;
  /** The most messages, 1 to 1,000. Default 100. */
  readonly limit?: number;
}

/** Of one `mute`. */
export interface MuteOptions {
  /** Until this instant, in ms since 1970. Default: until `unmute`. */
  readonly untilMs?: number;
}

/** Of one `follow`. */
export interface FollowOptions extends UnreadableOptions {
  /** Ends the iteration. */
  readonly signal?: AbortSignal;
  /** The token of the last event that was handled: goes on behind it. */
  readonly after?: string;
  /** Also chats that the member has muted. Default false. */
  readonly includeMuted?: boolean;
}

const DAY_MS = 86_400_000;
const KIB = 1_024;
const MIB = 1_024 * KIB;

export const DEFAULTS = {
  maxMessages: 10_000,
  maxBytes: 16 * MIB,
  maxBodyBytes: 64 * KIB,
  retentionMs: 30 * DAY_MS,
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
  maxBodyBytes: 64 * KIB,
  retentionMs: 90 * DAY_MS,
  keepAcked: 0,
  maxMembers: 10_000,
  maxChats: 1_000,
  dedupMs: 600_000,
  limit: 100,
  pullBytes: 64 * MIB,
  waitMs: 0,
} as const;

/** The numbering of a mailbox outlives its messages by so long, so that a late ack doesn't meet new messages. */
const NUMBERING_MS = 7 * DAY_MS;
const MAX_MS = 3_650 * DAY_MS;

export interface Limits {
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly maxBodyBytes: number;
  readonly retentionMs: number;
  readonly dedupMs: number;
  /** Until the numbering of a mailbox is forgotten. */
  readonly headMs: number;
  /** Longer than any entry is stored. */
  readonly marksMs: number;
}

export interface ChatLimits {
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly maxBodyBytes: number;
  readonly retentionMs: number;
  readonly keepAcked: number;
  readonly maxMembers: number;
  readonly maxChats: number;
  readonly dedupMs: number;
}

export function resolveChatsOptions(options: ChatsOptions): ChatLimits {
  const count = (name: 'maxMessages' | 'maxMembers' | 'maxChats' | 'keepAcked', min: number, max: number) =>
    requireInteger(name, options[name] ?? CHAT_DEFAULTS[name], { min, max });
  const maxBytes = requireInteger('maxBytes', options.maxBytes ?? CHAT_DEFAULTS.maxBytes, {
    min: KIB,
    max: 256 * MIB,
  });
  const maxMessages = count('maxMessages', 1, 1_000_000);
  return {
    maxMessages,
    maxBytes,
    maxBodyBytes: requireInteger('maxBodyBytes', options.maxBodyBytes ?? CHAT_DEFAULTS.maxBodyBytes, {
      min: 1,
      max: Math.min(8 * MIB, maxBytes),
    }),
    retentionMs: milliseconds('retentionMs', options.retentionMs ?? CHAT_DEFAULTS.retentionMs),
    keepAcked: count('keepAcked', 0, maxMessages),
    maxMembers: count('maxMembers', 1, 100_000),
    maxChats: count('maxChats', 1, 100_000),
    dedupMs: milliseconds('dedupMs', options.dedupMs ?? CHAT_DEFAULTS.dedupMs),
  };
}

export function resolveMailboxesOptions(options: MailboxesOptions): Limits {
  const maxBytes = requireInteger('maxBytes', options.maxBytes ?? DEFAULTS.maxBytes, {
    min: KIB,
    max: 256 * MIB,
  });
  const retentionMs = milliseconds('retentionMs', options.retentionMs ?? DEFAULTS.retentionMs);
  const dedupMs = milliseconds('dedupMs', options.dedupMs ?? DEFAULTS.dedupMs);
  return {
    maxMessages: requireInteger('maxMessages', options.maxMessages ?? DEFAULTS.maxMessages, {
      min: 1,
      max: 1_000_000,
    }),
    maxBytes,
    maxBodyBytes: requireInteger('maxBodyBytes', options.maxBodyBytes ?? DEFAULTS.maxBodyBytes, {
      min: 1,
      max: Math.min(8 * MIB, maxBytes),
    }),
    retentionMs,
    dedupMs,
    headMs: retentionMs + Math.max(dedupMs, NUMBERING_MS),
    marksMs: 3 * retentionMs,
  };
}

export function resolveReceiveOptions(options: ReceiveOptions): {
  limit: number;
  isLatest: boolean;
  waitMs: number;
} {
  return {
    limit: requireInteger('limit', options.limit ?? DEFAULTS.limit, { min: 1, max: 1_000 }),
    isLatest: requireOneOf('order', options.order ?? DEFAULTS.order, ['oldest', 'latest']) === 'latest',
    waitMs: requireDuration('waitMs', options.waitMs ?? DEFAULTS.waitMs, { min: 0, max: Infinity }),
  };
}

export function resolvePullOptions(options: PullOptions): {
  limit: number;
  maxBytes: number;
  waitMs: number;
  autoAck: boolean;
  includeMuted: boolean;
} {
  return {
    limit: requireInteger('limit', options.limit ?? CHAT_DEFAULTS.limit, { min: 1, max: 1_000 }),
    maxBytes: requireInteger('maxBytes', options.maxBytes ?? CHAT_DEFAULTS.pullBytes, {
      min: 1,
      max: 256 * MIB,
    }),
    waitMs: requireDuration('waitMs', options.waitMs ?? CHAT_DEFAULTS.waitMs, { min: 0, max: Infinity }),
    autoAck: options.autoAck ?? false,
    includeMuted: options.includeMuted ?? false,
  };
}

/** As it stands in the mailbox. */
export function resolveDevice({ device = DEFAULTS.device }: DeviceOptions): string {
  return encodeName(requireName('device', device));
}

export function resolveAddDeviceOptions({ at = DEFAULTS.at }: AddDeviceOptions): 'newest' | 'oldest' {
  return requireOneOf('at', at, ['newest', 'oldest']);
}

/** Whole ms, or 0 for none. */
export function resolveTtlMs({ ttlMs }: SendOptions): number {
  return ttlMs === undefined ? 0 : Math.ceil(requireDuration('ttlMs', ttlMs, { min: 1, max: MAX_MS }));
}

function milliseconds(option: string, value: number): number {
  return Math.ceil(requireDuration(option, value, { min: 100, max: MAX_MS }));
}

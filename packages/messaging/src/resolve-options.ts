/** Checks arguments, and fills in the defaults of options.ts. Misuse is a TypeError or RangeError with ERR_INVALID_ARG. */
import {
  ArgumentRangeError,
  ArgumentTypeError,
  encodeName,
  requireBoolean,
  requireDuration,
  requireFunction,
  requireInteger,
  requireName,
  requireObject,
  requireOneOf,
  requireOptions,
  requireSignal,
  shownValue,
} from '@mortise/redis';
import { CHAT_DEFAULTS, DAY_MS, KIB, MAILBOX_DEFAULTS, MIB } from './options.js';
import type {
  AckOptions,
  AddDeviceOptions,
  ChatsOfOptions,
  ChatsOptions,
  CreateOptions,
  DeviceOptions,
  FollowMailboxOptions,
  FollowOptions,
  HistoryOptions,
  JoinOptions,
  MailboxesOptions,
  MailboxPosition,
  MembersOptions,
  MuteOptions,
  PostOptions,
  PullOptions,
  ReceiveOptions,
  Role,
  SendOptions,
  SetRoleOptions,
  UnreadableOptions,
} from './options.js';

/** The numbering of a mailbox outlives its messages by this time, so that a late ack does not hit new messages. */
const NUMBERING_MS = 7 * DAY_MS;
const MAX_MS = 3_650 * DAY_MS;

const LOG_OPTIONS = [
  'maxMessages',
  'maxBytes',
  'maxPayloadBytes',
  'keepMs',
  'dedupMs',
  'prefix',
  'codecs',
  'telemetry',
];
const MAILBOXES_OPTIONS = new Set(LOG_OPTIONS);
const CHATS_OPTIONS = new Set([...LOG_OPTIONS, 'keepAcked', 'maxMembers', 'maxChats']);
const DEVICE_OPTIONS = new Set(['device']);
const ADD_DEVICE_OPTIONS = new Set(['at']);
const SEND_OPTIONS = new Set(['from', 'id', 'ttlMs']);
const OUTGOING_OPTIONS = new Set([...SEND_OPTIONS, 'recipient', 'body']);
const RECEIVE_OPTIONS = new Set(['device', 'limit', 'order', 'waitMs', 'signal']);
const CREATE_OPTIONS = new Set(['sender', 'members', 'body', 'chatId', 'id']);
const POST_OPTIONS = new Set(['id']);
const ACK_OPTIONS = new Set(['epoch']);
const JOIN_OPTIONS = new Set(['role']);
const SET_ROLE_OPTIONS = new Set(['by']);
const PULL_OPTIONS = new Set([
  'limit',
  'maxReplyBytes',
  'waitMs',
  'signal',
  'autoAck',
  'includeMuted',
  'onUnreadable',
]);
const MEMBERS_OPTIONS = new Set(['cursor', 'limit']);
const CHATS_OF_OPTIONS = new Set(['includeMuted', 'onUnreadable']);
const HISTORY_OPTIONS = new Set(['before', 'after', 'limit']);
const MUTE_OPTIONS = new Set(['untilMs']);
const FOLLOW_MAILBOX_OPTIONS = new Set(['after', 'signal']);
const FOLLOW_OPTIONS = new Set(['signal', 'after', 'includeMuted', 'includeUnread', 'onUnreadable']);

/** Limits of a log, of a mailbox or a chat. */
interface LogLimits {
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly maxPayloadBytes: number;
  readonly keepMs: number;
  readonly dedupMs: number;
  /** For the scripts that append: an f64 for each limit, big-endian, in the order that they state. */
  readonly packed: Buffer;
}

export interface MailboxLimits extends LogLimits {
  /** After this time the numbering of a mailbox is forgotten. */
  readonly headMs: number;
  /** Longer than any entry is stored. */
  readonly tombstoneMs: number;
}

export interface ChatLimits extends LogLimits {
  readonly keepAcked: number;
  readonly maxMembers: number;
  readonly maxChats: number;
}

export function resolveChatsOptions(options: ChatsOptions): ChatLimits {
  requireOptions('Chats', options, CHATS_OPTIONS);
  const limits = resolveLog(options, CHAT_DEFAULTS);
  const { keepMs, dedupMs, maxMessages, maxBytes } = limits;
  const count = (name: 'maxMembers' | 'maxChats' | 'keepAcked', min: number, max: number) =>
    requireInteger(name, options[name] ?? CHAT_DEFAULTS[name], { min, max });
  const keepAcked = count('keepAcked', 0, maxMessages);
  return {
    ...limits,
    keepAcked,
    maxMembers: count('maxMembers', 1, 100_000),
    maxChats: count('maxChats', 1, 100_000),
    packed: pack([keepMs, dedupMs, maxMessages, maxBytes, keepAcked]),
  };
}

export function resolveMailboxesOptions(options: MailboxesOptions): MailboxLimits {
  requireOptions('Mailboxes', options, MAILBOXES_OPTIONS);
  const limits = resolveLog(options, MAILBOX_DEFAULTS);
  const { keepMs, dedupMs, maxMessages, maxBytes } = limits;
  const [headMs, tombstoneMs] = [keepMs + Math.max(dedupMs, NUMBERING_MS), 3 * keepMs];
  const packed = pack([keepMs, dedupMs, maxMessages, maxBytes, headMs, tombstoneMs]);
  return { ...limits, headMs, tombstoneMs, packed };
}

function resolveLog(
  options: MailboxesOptions,
  defaults: typeof MAILBOX_DEFAULTS | typeof CHAT_DEFAULTS,
): Omit<LogLimits, 'packed'> {
  const count = (name: 'maxMessages' | 'maxBytes' | 'maxPayloadBytes', min: number, max: number) =>
    requireInteger(name, options[name] ?? defaults[name], { min, max });
  const maxBytes = count('maxBytes', KIB, 256 * MIB);
  return {
    maxMessages: count('maxMessages', 1, 1_000_000),
    maxBytes,
    maxPayloadBytes: count('maxPayloadBytes', 1, Math.min(8 * MIB, maxBytes)),
    keepMs: milliseconds('keepMs', options.keepMs ?? defaults.keepMs),
    dedupMs: milliseconds('dedupMs', options.dedupMs ?? defaults.dedupMs),
  };
}

export function resolveReceiveOptions(options: ReceiveOptions) {
  requireOptions('receive', options, RECEIVE_OPTIONS);
  return {
    device: encodeDevice(options),
    limit: requireLimit(options),
    isLatest:
      requireOneOf('order', options.order ?? MAILBOX_DEFAULTS.order, ['oldest', 'latest']) === 'latest',
    waitMs: requireWait(options),
    signal: requireSignal(options.signal),
  };
}

export function resolvePullOptions(options: PullOptions) {
  requireOptions('pull', options, PULL_OPTIONS);
  requireListener(options);
  return {
    limit: requireLimit(options),
    maxReplyBytes: requireInteger('maxReplyBytes', options.maxReplyBytes ?? CHAT_DEFAULTS.maxReplyBytes, {
      min: 1,
      max: 256 * MIB,
    }),
    waitMs: requireWait(options),
    signal: requireSignal(options.signal),
    autoAck: requireBoolean('autoAck', options.autoAck ?? false),
    includeMuted: requireBoolean('includeMuted', options.includeMuted ?? false),
  };
}

export function resolveChatsOfOptions(options: ChatsOfOptions): { includeMuted: boolean } {
  requireOptions('chatsOf', options, CHATS_OF_OPTIONS);
  requireListener(options);
  return { includeMuted: requireBoolean('includeMuted', options.includeMuted ?? true) };
}

export function resolveFollowMailboxOptions(options: FollowMailboxOptions): {
  after: MailboxPosition | undefined;
  signal: AbortSignal | undefined;
} {
  const { after, signal } = requireOptions('follow', options, FOLLOW_MAILBOX_OPTIONS);
  return { after: after === undefined ? after : requirePosition(after), signal: requireSignal(signal) };
}

/** Other members, as of an event, are left out. */
function requirePosition(after: MailboxPosition): MailboxPosition {
  const { epoch, lastId } = requireObject('after', after);
  return {
    epoch: epoch === null ? epoch : requireInteger('after.epoch', epoch, { min: 1 }),
    lastId: requireInteger('after.lastId', lastId, { min: 0 }),
  };
}

export function resolveFollowOptions(options: FollowOptions) {
  requireOptions('follow', options, FOLLOW_OPTIONS);
  requireListener(options);
  return {
    after: options.after,
    includeMuted: requireBoolean('includeMuted', options.includeMuted ?? false),
    includeUnread: requireBoolean('includeUnread', options.includeUnread ?? false),
    signal: requireSignal(options.signal),
  };
}

export function resolveHistoryOptions(options: HistoryOptions) {
  const { before, after } = requireOptions('history', options, HISTORY_OPTIONS);
  if (before !== undefined) requireInteger('before', before, { min: 1 });
  if (after !== undefined) requireInteger('after', after, { min: 0 });
  return { before, after, limit: requireLimit(options) };
}

/** Undefined cursor: the first page. */
export function resolveMembersOptions(options: MembersOptions): { cursor: string; limit: number } {
  requireOptions('members', options, MEMBERS_OPTIONS);
  const cursor: unknown = options.cursor ?? '';
  if (typeof cursor !== 'string')
    throw new ArgumentTypeError(`cursor must be a string, got ${typeof cursor}`);
  // Refuses a cursor that ZSCAN would refuse with an error of the server.
  if (!/^$|^n|^s\d{1,19}$/.test(cursor)) {
    throw new ArgumentRangeError(`cursor must be one of an earlier page, got ${shownValue(cursor)}`);
  }
  return { cursor, limit: requireLimit(options) };
}

/** The epoch, or undefined for the present chat. */
export function resolveAckOptions(options: AckOptions): number | undefined {
  const { epoch } = requireOptions('ack', options, ACK_OPTIONS);
  return epoch === undefined ? undefined : requireInteger('epoch', epoch, { min: 1 });
}

export function resolvePostOptions(call: 'post' | 'edit', options: PostOptions): string | undefined {
  return requireOptions(call, options, POST_OPTIONS).id;
}

export function resolveJoinOptions(options: JoinOptions): Role {
  return requireOptions('join', options, JOIN_OPTIONS).role ?? 'member';
}

export function resolveSetRoleOptions(options: SetRoleOptions): string | undefined {
  return requireOptions('setRole', options, SET_ROLE_OPTIONS).by;
}

export function resolveCreateOptions<Body>(options: CreateOptions<Body>): CreateOptions<Body> {
  return requireOptions('create', options, CREATE_OPTIONS);
}

/** The end of the mute, in ms since 1970; undefined for none. */
export function resolveMuteOptions(options: MuteOptions): number | undefined {
  const { untilMs } = requireOptions('mute', options, MUTE_OPTIONS);
  return untilMs === undefined ? undefined : requireInteger('untilMs', untilMs, { min: 1 });
}

/** The device as stored. */
export function resolveDeviceOptions(call: string, options: DeviceOptions): string {
  return encodeDevice(requireOptions(call, options, DEVICE_OPTIONS));
}

export function resolveAddDeviceOptions(options: AddDeviceOptions): 'newest' | 'oldest' {
  const { at = MAILBOX_DEFAULTS.at } = requireOptions('addDevice', options, ADD_DEVICE_OPTIONS);
  return requireOneOf('at', at, ['newest', 'oldest']);
}

export function resolveSendOptions(options: SendOptions): SendOptions {
  return requireOptions('send', options, SEND_OPTIONS);
}

export function resolveOutgoing<Message extends SendOptions>(message: Message): Message {
  return requireOptions('sendMany', message, OUTGOING_OPTIONS);
}

/** Whole ms, or 0 for no expiry. */
export function resolveTtlMs({ ttlMs }: SendOptions): number {
  return ttlMs === undefined ? 0 : Math.ceil(requireDuration('ttlMs', ttlMs, { min: 1, max: MAX_MS }));
}

function encodeDevice({ device = MAILBOX_DEFAULTS.device }: DeviceOptions): string {
  return encodeName(requireName('device', device));
}

function requireLimit({ limit = CHAT_DEFAULTS.limit }: { readonly limit?: number | undefined }): number {
  return requireInteger('limit', limit, { min: 1, max: 1_000 });
}

function requireWait({ waitMs = CHAT_DEFAULTS.waitMs }: { readonly waitMs?: number | undefined }): number {
  return requireDuration('waitMs', waitMs, { min: 0, max: Infinity });
}

function requireListener({ onUnreadable }: UnreadableOptions): void {
  if (onUnreadable !== undefined) requireFunction('onUnreadable', onUnreadable);
}

function pack(limits: readonly number[]): Buffer {
  const packed = Buffer.allocUnsafe(8 * limits.length);
  for (const [place, limit] of limits.entries()) packed.writeDoubleBE(limit, 8 * place);
  return packed;
}

function milliseconds(option: string, value: number): number {
  return Math.ceil(requireDuration(option, value, { min: 100, max: MAX_MS }));
}

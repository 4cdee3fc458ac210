export { ClientClosedError, isEncoded } from '@mortise/redis';
export type { EncodedValue, PayloadCodec, Telemetry } from '@mortise/redis';
export type { ChatMessage } from './log/chat-message.js';
export { Chats } from './chats.js';
export type { CreateResult } from './members/creator.js';
export type { JoinResult } from './members/membership.js';
export type { PostResult } from './post/poster.js';
export {
  ChatUnreadableError,
  InvalidBodyError,
  NotAllowedError,
  ReadTimeoutError,
  TooManyError,
  UnknownIdError,
} from './errors.js';
export type {
  ChatEvent,
  ChatEvents,
  EndedEvent,
  GapEvent,
  MembershipEvent,
  MessageEvent,
  PresenceEvent,
  ResetEvent,
  TypingEvent,
} from './follow/chat-event.js';
export type { IdRange } from './log/entry.js';
export type { MailboxEvent } from './mailbox/arrivals.js';
export type { AddDeviceResult } from './mailbox/devices.js';
export { Mailboxes } from './mailboxes.js';
export type { Message } from './mailbox/message.js';
export type { MailboxDevice, MailboxStatus } from './mailbox/status.js';
export type { Outgoing, SendResult } from './mailbox/sender.js';
export type { ChatMember, MembersPage } from './members/members.js';
export type { ChatOverview } from './pull/chats-of.js';
export type { Pulled } from './pull/pulled.js';
export type {
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

export type { ChatMessage } from './chat/chat-message.js';
export { Chats } from './chat/chats.js';
export type { CreateResult } from './chat/founder.js';
export type { JoinResult } from './chat/membership.js';
export type { PostResult } from './chat/poster.js';
export {
  BodyTooLargeError,
  ChatUnreadableError,
  InvalidBodyError,
  NotAllowedError,
  NotAMemberError,
  ReadOnlyMemberError,
  ReadTimeoutError,
  SenderBlockedError,
  TooManyBlockedError,
  TooManyChatsError,
  TooManyDevicesError,
  TooManyMembersError,
  UnknownChatError,
  UnknownDeviceError,
  UnknownMessageError,
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
export type { AddDeviceResult } from './mailbox/devices.js';
export { Mailboxes } from './mailbox/mailboxes.js';
export type { Message } from './mailbox/message.js';
export type { MailboxDevice, MailboxStatus } from './mailbox/overview.js';
export type { Outgoing, SendResult } from './mailbox/sender.js';
export type { ChatMember, MembersPage } from './member/members.js';
export type { ChatOverview } from './member/overview.js';
export type { Pulled } from './member/pulled.js';
export type {
  AddDeviceOptions,
  DeviceOptions,
  MailboxesOptions,
  ReceiveOptions,
  SendOptions,
} from './options.js';
export type {
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
  UnreadableOptions,
} from './options.js';

export type { ChatMessage } from './chat/chat-message.js';
export { Chats } from './chat/chats.js';
export type { CreateResult } from './chat/founder.js';
export type { JoinResult } from './chat/membership.js';
export type { PostResult } from './chat/poster.js';
export {
  BodyTooLargeError,
  ChannelEndedError,
  ChatUnreadableError,
  FileAbortedError,
  FileCorruptError,
  FileExpiredError,
  FileForgottenError,
  FileLeaseLostError,
  FileNotResumableError,
  GzipMemberTooLargeError,
  InvalidBodyError,
  LineTooLongError,
  NotAllowedError,
  NotAMemberError,
  ReadOnlyMemberError,
  ReadTimeoutError,
  ReceiverBusyError,
  ReceiverDeadError,
  ReceiversDifferError,
  SenderBlockedError,
  SourceChangedError,
  TooManyBlockedError,
  TooManyChatsError,
  TooManyDevicesError,
  TooManyMembersError,
  TooManyReceiversError,
  UnknownChatError,
  UnknownDeviceError,
  UnknownFileError,
  UnknownMessageError,
  UnknownReceiverError,
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
export { FileChannel } from './files/file-channel.js';
export type { FileRef } from './files/file-channel.js';
export { FilePart } from './files/file-part.js';
export { FileReceiver } from './files/file-receiver.js';
export { FileSender } from './files/file-sender.js';
export type { SentFile } from './files/sent-file.js';
export { IncomingFile } from './files/incoming-file.js';
export type { ReceiverLease } from './files/receiver-lease.js';
export type { ChannelReceiver, FileChannelOptions, ListedFile, SentUnderId } from './files/listed-file.js';
export type {
  FileProgress,
  FileReceiverOptions,
  FileSenderOptions,
  FilesOptions,
  ReadOptions,
  SendFileOptions,
} from './files/options.js';
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

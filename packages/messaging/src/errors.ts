import { CodedError } from '@mortise/redis';

/** The body is larger, as JSON in UTF-8, than `maxBodyBytes`. Nothing was sent. */
export class BodyTooLargeError extends CodedError {
  readonly code = 'ERR_BODY_TOO_LARGE';

  constructor(
    readonly recipient: string,
    readonly bytes: number,
    readonly maxBytes: number,
  ) {
    super(`the body for "${recipient}" has ${bytes} bytes, the limit is ${maxBytes}`);
  }
}

/** The body is nested deeper than anything that reads it has to bear. Nothing was sent. */
export class InvalidBodyError extends CodedError {
  readonly code = 'ERR_INVALID_BODY';

  constructor(
    readonly recipient: string,
    readonly maxDepth: number,
  ) {
    super(`the body for "${recipient}" is nested deeper than ${maxDepth}`);
  }
}

/**
 * The acked id is higher than any id of the mailbox or chat, or of another epoch of the chat: it is of another one, or of one
 * that was forgotten since. Or the message that is to be edited or deleted isn't stored (any more).
 */
export class UnknownMessageError extends CodedError {
  readonly code = 'ERR_UNKNOWN_MESSAGE';

  constructor(
    /** The mailbox or chat. */
    readonly recipient: string,
    readonly id: number,
    readonly lastId: number,
    kind: 'mailbox' | 'chat' = 'mailbox',
    epoch?: number,
  ) {
    const which = epoch === undefined ? `message ${id}` : `message ${id} of epoch ${epoch}`;
    super(`${kind} "${recipient}" has no ${which}, the last one is ${lastId}`);
  }
}

/** There is no such chat (any more): nobody created it, or its last member left. */
export class UnknownChatError extends CodedError {
  readonly code = 'ERR_UNKNOWN_CHAT';

  constructor(readonly chatId: string) {
    super(`there is no chat "${chatId}"`);
  }
}

/** Only members of the chat may do this. Nothing was changed. */
export class NotAMemberError extends CodedError {
  readonly code = 'ERR_NOT_A_MEMBER';

  constructor(
    readonly chatId: string,
    readonly member: string,
  ) {
    super(`"${member}" is not a member of chat "${chatId}"`);
  }
}

/** The member may read the chat, not write to it. Nothing was changed. */
export class ReadOnlyMemberError extends CodedError {
  readonly code = 'ERR_READ_ONLY_MEMBER';

  constructor(
    readonly chatId: string,
    readonly member: string,
  ) {
    super(`"${member}" may only read chat "${chatId}"`);
  }
}

/** Only the author of the message, or an owner of the chat, may do this. Nothing was changed. */
export class NotAllowedError extends CodedError {
  readonly code = 'ERR_NOT_ALLOWED';

  constructor(
    readonly chatId: string,
    readonly member: string,
    action: string,
  ) {
    super(`"${member}" may not ${action} in chat "${chatId}"`);
  }
}

/** The chat has as many members as `maxMembers` allows. Nobody was added. */
export class TooManyMembersError extends CodedError {
  readonly code = 'ERR_TOO_MANY_MEMBERS';

  constructor(
    readonly chatId: string,
    readonly members: number,
    readonly maxMembers: number,
  ) {
    super(`chat "${chatId}" would have ${members} members, the limit is ${maxMembers}`);
  }
}

/** The member is in as many chats as `maxChats` allows. */
export class TooManyChatsError extends CodedError {
  readonly code = 'ERR_TOO_MANY_CHATS';

  constructor(
    readonly member: string,
    readonly maxChats: number,
  ) {
    super(`"${member}" is in ${maxChats} chats, which is the limit`);
  }
}

/** The recipient takes nothing from this sender. */
export class SenderBlockedError extends CodedError {
  readonly code = 'ERR_SENDER_BLOCKED';

  constructor(
    readonly recipient: string,
    readonly sender: string,
  ) {
    super(`"${recipient}" takes nothing from "${sender}"`);
  }
}

/** The recipient has no such device. */
export class UnknownDeviceError extends CodedError {
  readonly code = 'ERR_UNKNOWN_DEVICE';

  constructor(
    readonly recipient: string,
    readonly device: string,
  ) {
    super(`"${recipient}" has no device "${device}"`);
  }
}

/** The mailbox has as many devices as it may have. Nobody was added. */
export class TooManyDevicesError extends CodedError {
  readonly code = 'ERR_TOO_MANY_DEVICES';

  constructor(
    readonly recipient: string,
    readonly maxDevices: number,
  ) {
    super(`"${recipient}" has ${maxDevices} devices, which is the limit`);
  }
}

/** The mailbox has as many blocked senders as it may have. Nobody was blocked. */
export class TooManyBlockedError extends CodedError {
  readonly code = 'ERR_TOO_MANY_BLOCKED';

  constructor(
    readonly recipient: string,
    readonly maxBlocked: number,
  ) {
    super(`"${recipient}" has blocked ${maxBlocked} senders, which is the limit`);
  }
}

/** The channel of files has ended: it takes no further files. */
export class ChannelEndedError extends CodedError {
  readonly code = 'ERR_CHANNEL_ENDED';

  constructor(readonly channel: string) {
    super(`channel "${channel}" has ended`);
  }
}

/** The channel of files was made with other receivers. Nothing was sent. */
export class ReceiversDifferError extends CodedError {
  readonly code = 'ERR_RECEIVERS_DIFFER';

  constructor(readonly channel: string) {
    super(`channel "${channel}" has other receivers`);
  }
}

/** The channel of files has no such receiver. */
export class UnknownReceiverError extends CodedError {
  readonly code = 'ERR_UNKNOWN_RECEIVER';

  constructor(
    readonly channel: string,
    readonly receiver: string,
  ) {
    super(`channel "${channel}" has no receiver "${receiver}"`);
  }
}

/** Another process took the file, or the name of the receiver, over: this one was silent for longer than `leaseMs`. */
export class FileLeaseLostError extends CodedError {
  readonly code = 'ERR_FILE_LEASE_LOST';

  constructor(
    readonly channel: string,
    /** What the lease was for: a file, or a receiver. */
    readonly subject: string,
  ) {
    super(`the lease of ${subject} in channel "${channel}" is another's now`);
  }
}

/** The sender gave the file up. */
export class FileAbortedError extends CodedError {
  readonly code = 'ERR_FILE_ABORTED';

  constructor(
    readonly file: string,
    readonly reason: string,
  ) {
    super(`file "${file}" was aborted: ${reason}`);
  }
}

/** What was read is not what was sent, or the compressed data is not whole. */
export class FileCorruptError extends CodedError {
  readonly code = 'ERR_FILE_CORRUPT';

  constructor(
    readonly file: string,
    readonly problem: string,
  ) {
    super(`file "${file}" is corrupt: ${problem}`);
  }
}

/** The file, or a part that this receiver hasn't read, is not stored any more: `ttlMs` is over, or the receiver was not waited for. */
export class FileExpiredError extends CodedError {
  readonly code = 'ERR_FILE_EXPIRED';

  constructor(
    readonly file: string,
    readonly offset: number,
  ) {
    super(`file "${file}" is not stored any more from byte ${offset} on`);
  }
}

/** A receiver of a compressed file that is larger than the window was stopped in its midst: it cannot go on there. */
export class FileNotResumableError extends CodedError {
  readonly code = 'ERR_FILE_NOT_RESUMABLE';

  constructor(readonly file: string) {
    super(`file "${file}" is compressed and its beginning was freed: it cannot be read from here`);
  }
}

/** A line has more bytes than `maxLineBytes`, or than the window of its file can hold. */
export class LineTooLongError extends CodedError {
  readonly code = 'ERR_LINE_TOO_LONG';

  constructor(
    readonly file: string,
    readonly maxLineBytes: number,
  ) {
    super(`file "${file}" has a line of more than ${maxLineBytes} bytes`);
  }
}

/** A receiver is needed for the sender to go on, and has no lease; the policy of the sender is to fail then. The file was aborted. */
export class ReceiverDeadError extends CodedError {
  readonly code = 'ERR_RECEIVER_DEAD';

  constructor(
    readonly channel: string,
    readonly receivers: readonly string[],
  ) {
    super(`channel "${channel}" waits for receivers that are gone: ${receivers.join(', ')}`);
  }
}

/** The source is not what was sent of it before: it was truncated, or has other content. The file was aborted. */
export class SourceChangedError extends CodedError {
  readonly code = 'ERR_SOURCE_CHANGED';

  constructor(
    readonly file: string,
    readonly problem: string,
  ) {
    super(`the source of file "${file}" has changed: ${problem}`);
  }
}

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

/** `waitMs` is over, and what was asked at its end has no answer yet: Redis can't be reached, or is silent. Nothing was moved. */
export class ReadTimeoutError extends CodedError {
  readonly code = 'ERR_READ_TIMEOUT';

  constructor(
    /** Who is read for: the recipient, or the member. */
    readonly reader: string,
    readonly waitMs: number,
  ) {
    super(`Redis gave no answer for "${reader}" within ${waitMs} ms`);
  }
}

/**
 * What is stored of a chat is damaged: a key has another type, or an entry is none. The reason is its `cause`. Others are read
 * without it.
 */
export class ChatUnreadableError extends CodedError {
  readonly code = 'ERR_CHAT_UNREADABLE';

  constructor(
    readonly chatId: string,
    cause: unknown,
  ) {
    super(`chat "${chatId}" cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
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

/** Another process is the receiver, or other programs are, until its lease ends. */
export class ReceiverBusyError extends CodedError {
  readonly code = 'ERR_RECEIVER_BUSY';

  constructor(
    readonly channel: string,
    readonly receiver: string,
    /** What is left of the lease, in ms, as far as it is known. */
    readonly retryAfterMs: number,
  ) {
    super(`receiver "${receiver}" of channel "${channel}" is another process`);
  }
}

/** The channel of files has as many receivers as it may have. */
export class TooManyReceiversError extends CodedError {
  readonly code = 'ERR_TOO_MANY_RECEIVERS';

  constructor(
    readonly channel: string,
    readonly maxReceivers: number,
  ) {
    super(`channel "${channel}" would have more than ${maxReceivers} receivers`);
  }
}

/**
 * A member of gzip is larger than what the window of the file can hold, so reading could not go on within it after a restart. Nothing of it
 * was freed. Give the sender a larger window, or send the text.
 */
export class GzipMemberTooLargeError extends CodedError {
  readonly code = 'ERR_GZIP_MEMBER_TOO_LARGE';

  constructor(
    readonly file: string,
    readonly maxBytes: number,
  ) {
    super(`file "${file}" has a member of gzip of more than ${maxBytes} bytes, which its window cannot hold`);
  }
}

/** The channel of files lists no such file: there was none, or all are done with it. */
export class UnknownFileError extends CodedError {
  readonly code = 'ERR_UNKNOWN_FILE';

  constructor(
    readonly channel: string,
    readonly number: number,
  ) {
    super(`channel "${channel}" lists no file ${number}`);
  }
}

/**
 * Another process took the file, or the name of the receiver, over: this one was silent for longer than `leaseMs`. Or nothing of it is kept any more: it was
 * waited for longer than `ttlMs`.
 */
export class FileLeaseLostError extends CodedError {
  readonly code = 'ERR_FILE_LEASE_LOST';

  constructor(
    readonly channel: string,
    /** What the lease was for: a file, or a receiver. */
    readonly subject: string,
  ) {
    super(`the lease of ${subject} in channel "${channel}" is lost: another has it, or ttlMs is over`);
  }
}

/** The sender gave the file up; or, for the sender, all receivers did, before its end was sent. */
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

/**
 * Redis has forgotten that the file was listed, or some of its chunks, as a failover does with what was not replicated. A sender that has a
 * stream for a source has to `send` it again; one that has a path does so by itself.
 */
export class FileForgottenError extends CodedError {
  readonly code = 'ERR_FILE_FORGOTTEN';

  constructor(
    readonly file: string,
    /** Its cause: why the file could not be sent again. */
    options?: ErrorOptions,
  ) {
    super(`Redis has forgotten what it was told of file "${file}"`, options);
  }
}

/** A compressed file was acked as plain bytes, within a member of gzip: it cannot be inflated from there. */
export class FileNotResumableError extends CodedError {
  readonly code = 'ERR_FILE_NOT_RESUMABLE';

  constructor(readonly file: string) {
    super(`file "${file}" was acked as plain bytes: it cannot be inflated from there`);
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

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

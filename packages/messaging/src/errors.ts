import { CodedError } from '@mortise/redis';

/** The body can't be stored: it is larger than `maxPayloadBytes`, or nested too deep. Nothing was sent. */
export class InvalidBodyError extends CodedError {
  /** The size as JSON in UTF-8, of ERR_BODY_TOO_LARGE. */
  readonly bytes: number | undefined;
  readonly maxBytes: number | undefined;
  /** Of ERR_INVALID_BODY. */
  readonly maxDepth: number | undefined;

  constructor(
    readonly code: 'ERR_INVALID_BODY' | 'ERR_BODY_TOO_LARGE',
    /** The mailbox or chat. */
    readonly recipient: string,
    problem: string,
    { bytes, maxBytes, maxDepth }: { bytes?: number; maxBytes?: number; maxDepth?: number },
  ) {
    super(`the body for "${recipient}" ${problem}`);
    this.bytes = bytes;
    this.maxBytes = maxBytes;
    this.maxDepth = maxDepth;
  }

  static tooLarge(recipient: string, bytes: number, maxBytes: number): InvalidBodyError {
    const problem = `has ${bytes} bytes, the limit is ${maxBytes}`;
    return new InvalidBodyError('ERR_BODY_TOO_LARGE', recipient, problem, { bytes, maxBytes });
  }

  static tooDeep(recipient: string, maxDepth: number): InvalidBodyError {
    const problem = `is nested deeper than ${maxDepth}`;
    return new InvalidBodyError('ERR_INVALID_BODY', recipient, problem, { maxDepth });
  }
}

/**
 * There is no such chat (nobody created it, or its last member left), no such device of a mailbox, or no such message: its id
 * is higher than any of the mailbox or chat, is of another epoch, or names a message that is not stored any more.
 */
export class NotFoundError extends CodedError {
  /** The message, of ERR_UNKNOWN_MESSAGE. */
  readonly id: number | undefined;
  readonly lastId: number | undefined;
  /** Of ERR_UNKNOWN_DEVICE. */
  readonly device: string | undefined;

  constructor(
    readonly code: 'ERR_UNKNOWN_CHAT' | 'ERR_UNKNOWN_DEVICE' | 'ERR_UNKNOWN_MESSAGE',
    /** The mailbox or chat. */
    readonly recipient: string,
    message: string,
    { id, lastId, device }: { id?: number; lastId?: number; device?: string } = {},
  ) {
    super(message);
    this.id = id;
    this.lastId = lastId;
    this.device = device;
  }

  static chat(chatId: string): NotFoundError {
    return new NotFoundError('ERR_UNKNOWN_CHAT', chatId, `there is no chat "${chatId}"`);
  }

  static device(recipient: string, device: string): NotFoundError {
    const problem = `"${recipient}" has no device "${device}"`;
    return new NotFoundError('ERR_UNKNOWN_DEVICE', recipient, problem, { device });
  }

  static message(
    kind: 'mailbox' | 'chat',
    recipient: string,
    {
      id,
      lastId,
      epoch,
    }: { readonly id: number; readonly lastId: number; readonly epoch?: number | undefined },
  ): NotFoundError {
    const which = epoch === undefined ? `message ${id}` : `message ${id} of epoch ${epoch}`;
    const problem = `${kind} "${recipient}" has no ${which}, the last one is ${lastId}`;
    return new NotFoundError('ERR_UNKNOWN_MESSAGE', recipient, problem, { id, lastId });
  }
}

/** Somebody may not do this: no member of the chat, a reader, no owner, not the author; or a blocked sender. Nothing was changed. */
export class NotAllowedError extends CodedError {
  constructor(
    readonly code: 'ERR_NOT_ALLOWED' | 'ERR_NOT_A_MEMBER' | 'ERR_READ_ONLY_MEMBER' | 'ERR_SENDER_BLOCKED',
    /** The mailbox or chat. */
    readonly recipient: string,
    /** The member or sender who was refused. */
    readonly member: string,
    message: string,
  ) {
    super(message);
  }

  static notAMember(chatId: string, member: string): NotAllowedError {
    const problem = `"${member}" is not a member of chat "${chatId}"`;
    return new NotAllowedError('ERR_NOT_A_MEMBER', chatId, member, problem);
  }

  static readOnly(chatId: string, member: string): NotAllowedError {
    return new NotAllowedError(
      'ERR_READ_ONLY_MEMBER',
      chatId,
      member,
      `"${member}" may only read chat "${chatId}"`,
    );
  }

  static action(chatId: string, member: string, action: string): NotAllowedError {
    return new NotAllowedError(
      'ERR_NOT_ALLOWED',
      chatId,
      member,
      `"${member}" may not ${action} in chat "${chatId}"`,
    );
  }

  static blocked(recipient: string, sender: string): NotAllowedError {
    return new NotAllowedError(
      'ERR_SENDER_BLOCKED',
      recipient,
      sender,
      `"${recipient}" takes nothing from "${sender}"`,
    );
  }
}

/** A limit of how many there may be is reached. Nothing was added. */
export class TooManyError extends CodedError {
  constructor(
    readonly code:
      | 'ERR_TOO_MANY_MEMBERS'
      | 'ERR_TOO_MANY_CHATS'
      | 'ERR_TOO_MANY_DEVICES'
      | 'ERR_TOO_MANY_BLOCKED',
    /** The chat whose members, or the member or recipient whose chats, devices or blocked senders are too many. */
    readonly subject: string,
    readonly max: number,
    message: string,
  ) {
    super(message);
  }

  static members(chatId: string, members: number, max: number): TooManyError {
    const problem = `chat "${chatId}" would have ${members} members, the limit is ${max}`;
    return new TooManyError('ERR_TOO_MANY_MEMBERS', chatId, max, problem);
  }

  static chats(member: string, max: number): TooManyError {
    return new TooManyError(
      'ERR_TOO_MANY_CHATS',
      member,
      max,
      `"${member}" is in ${max} chats, which is the limit`,
    );
  }

  static devices(recipient: string, max: number): TooManyError {
    return new TooManyError(
      'ERR_TOO_MANY_DEVICES',
      recipient,
      max,
      `"${recipient}" has ${max} devices, which is the limit`,
    );
  }

  static blocked(recipient: string, max: number): TooManyError {
    const problem = `"${recipient}" has blocked ${max} senders, which is the limit`;
    return new TooManyError('ERR_TOO_MANY_BLOCKED', recipient, max, problem);
  }
}

/** `waitMs` is over, and Redis has not answered the last read: it can't be reached, or is silent. Nothing was moved. */
export class ReadTimeoutError extends CodedError {
  readonly code = 'ERR_READ_TIMEOUT';

  constructor(
    /** The recipient or member. */
    readonly reader: string,
    readonly waitMs: number,
  ) {
    super(`Redis gave no answer for "${reader}" within ${waitMs} ms`);
  }
}

/** A key of the chat has another type, or an entry is none. The reason is the `cause`. Other chats are read without it. */
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

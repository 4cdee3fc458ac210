import type { JsonProblem } from '@mortise/redis';
import { CodedError } from '@mortise/redis';

/** The fields that an error adds; the problems of the API show them. */
type Fields<Refusal> = Omit<Refusal, 'code' | keyof Error>;

/**
 * The body cannot be stored. Nothing was sent.
 *
 * @code ERR_INVALID_BODY The body is not JSON (NaN, a Map, a function, undefined, BigInt, a cycle), or nested deeper
 * than 128.
 * @remedy Send JSON: a date as a number or text, a Map as an object.
 * @code ERR_BODY_TOO_LARGE The body has more than `maxPayloadBytes`.
 * @remedy Shorten the body, or raise `maxPayloadBytes`. Store large data elsewhere and send its address.
 */
export class InvalidBodyError extends CodedError {
  static override readonly className: string = 'InvalidBodyError';
  /** The mailbox or chat. */
  declare readonly recipient: string;
  readonly code: 'ERR_INVALID_BODY' | 'ERR_BODY_TOO_LARGE';
  /** For ERR_BODY_TOO_LARGE: the size as JSON in UTF-8, and its limit. */
  declare readonly bytes?: number;
  declare readonly maxBytes?: number;
  /** The limit of levels, for ERR_INVALID_BODY if the body is nested too deep. */
  declare readonly maxDepth?: number;

  constructor(recipient: string, { text, ...fields }: JsonProblem, maxBytes: number) {
    const isTooLarge = fields.bytes !== undefined;
    const code = isTooLarge ? 'ERR_BODY_TOO_LARGE' : 'ERR_INVALID_BODY';
    super(`the body for "${recipient}" ${text}`, undefined, code);
    this.code = code;
    Object.assign(this, { recipient, ...fields, ...(isTooLarge && { maxBytes }) });
  }
}

/**
 * There is no such chat, device or message.
 *
 * @code ERR_UNKNOWN_CHAT The chat was never created, or its last member left.
 * @remedy `create` it, or show that it has ended.
 * @code ERR_UNKNOWN_DEVICE The recipient has no such device.
 * @remedy `addDevice` it again: it begins at the newest message, or at the oldest.
 * @code ERR_UNKNOWN_MESSAGE An ack names an id that no message has yet, or of another epoch. Or the message is no
 * longer stored.
 * @remedy Read again, and ack the ids that `receive` or `pull` returns; those of a chat with its `epoch`.
 */
export class UnknownIdError extends CodedError {
  static override readonly className: string = 'UnknownIdError';
  /** For ERR_UNKNOWN_CHAT. */
  declare readonly chatId?: string;
  /** For the others: the mailbox, or the chat of a message. */
  declare readonly recipient?: string;
  declare readonly device?: string;
  /** The message. */
  declare readonly id?: number;
  declare readonly lastId?: number;

  private constructor(
    readonly code: 'ERR_UNKNOWN_CHAT' | 'ERR_UNKNOWN_DEVICE' | 'ERR_UNKNOWN_MESSAGE',
    fields: Fields<UnknownIdError>,
    message: string,
  ) {
    super(message, undefined, code);
    Object.assign(this, fields);
  }

  static chat(chatId: string): UnknownIdError {
    return new UnknownIdError('ERR_UNKNOWN_CHAT', { chatId }, `there is no chat "${chatId}"`);
  }

  static device(recipient: string, device: string): UnknownIdError {
    const problem = `"${recipient}" has no device "${device}"`;
    return new UnknownIdError('ERR_UNKNOWN_DEVICE', { recipient, device }, problem);
  }

  static message(
    kind: 'mailbox' | 'chat',
    recipient: string,
    {
      id,
      lastId,
      epoch,
    }: { readonly id: number; readonly lastId: number; readonly epoch?: number | undefined },
  ): UnknownIdError {
    const which = epoch === undefined ? `message ${id}` : `message ${id} of epoch ${epoch}`;
    const problem = `${kind} "${recipient}" has no ${which}, the last one is ${lastId}`;
    return new UnknownIdError('ERR_UNKNOWN_MESSAGE', { recipient, id, lastId }, problem);
  }
}

/**
 * The caller may not do this. Nothing was changed.
 *
 * @code ERR_NOT_ALLOWED Only the author of the message, or an owner of the chat, may do this.
 * @remedy Show the member that only others may do this. In `setRole`, leave `by` out to act without a check.
 * @code ERR_NOT_A_MEMBER Only members of the chat may do this.
 * @remedy `join` the member first, if your application allows it.
 * @code ERR_READ_ONLY_MEMBER The member may read the chat, not write to it.
 * @remedy Give the member another role with `setRole`.
 * @code ERR_SENDER_BLOCKED The recipient has blocked the sender. This message was not sent.
 * @remedy Tell the sender, or nothing. Don't try again.
 */
export class NotAllowedError extends CodedError {
  static override readonly className: string = 'NotAllowedError';
  /** The chat and the refused member. */
  declare readonly chatId?: string;
  declare readonly member?: string;
  /** For ERR_SENDER_BLOCKED: the mailbox and the sender. */
  declare readonly recipient?: string;
  declare readonly sender?: string;

  private constructor(
    readonly code: 'ERR_NOT_ALLOWED' | 'ERR_NOT_A_MEMBER' | 'ERR_READ_ONLY_MEMBER' | 'ERR_SENDER_BLOCKED',
    fields: Fields<NotAllowedError>,
    message: string,
  ) {
    super(message, undefined, code);
    Object.assign(this, fields);
  }

  static notAMember(chatId: string, member: string): NotAllowedError {
    const problem = `"${member}" is not a member of chat "${chatId}"`;
    return new NotAllowedError('ERR_NOT_A_MEMBER', { chatId, member }, problem);
  }

  static readOnly(chatId: string, member: string): NotAllowedError {
    const problem = `"${member}" may only read chat "${chatId}"`;
    return new NotAllowedError('ERR_READ_ONLY_MEMBER', { chatId, member }, problem);
  }

  static action(chatId: string, member: string, action: string): NotAllowedError {
    const problem = `"${member}" may not ${action} in chat "${chatId}"`;
    return new NotAllowedError('ERR_NOT_ALLOWED', { chatId, member }, problem);
  }

  static blocked(recipient: string, sender: string): NotAllowedError {
    const problem = `"${recipient}" takes nothing from "${sender}"`;
    return new NotAllowedError('ERR_SENDER_BLOCKED', { recipient, sender }, problem);
  }
}

/**
 * A maximum number is reached. Nothing was added.
 *
 * @code ERR_TOO_MANY_MEMBERS A chat would have more than `maxMembers` members.
 * @remedy Raise `maxMembers`, or make another chat.
 * @code ERR_TOO_MANY_CHATS A member would be in more than `maxChats` chats.
 * @remedy Let the member `leave` chats, or raise `maxChats`.
 * @code ERR_TOO_MANY_DEVICES A mailbox would have more than 100 devices.
 * @remedy `removeDevice` those that have not received for long.
 * @code ERR_TOO_MANY_BLOCKED A mailbox would have more than 10,000 blocked senders.
 * @remedy `unblock` senders, or check senders in your application.
 */
export class TooManyError extends CodedError {
  static override readonly className: string = 'TooManyError';
  /** For ERR_TOO_MANY_MEMBERS. */
  declare readonly chatId?: string;
  declare readonly members?: number;
  declare readonly maxMembers?: number;
  /** For ERR_TOO_MANY_CHATS. */
  declare readonly member?: string;
  declare readonly maxChats?: number;
  /** For ERR_TOO_MANY_DEVICES and ERR_TOO_MANY_BLOCKED. */
  declare readonly recipient?: string;
  declare readonly maxDevices?: number;
  declare readonly maxBlocked?: number;

  private constructor(
    readonly code:
      | 'ERR_TOO_MANY_MEMBERS'
      | 'ERR_TOO_MANY_CHATS'
      | 'ERR_TOO_MANY_DEVICES'
      | 'ERR_TOO_MANY_BLOCKED',
    fields: Fields<TooManyError>,
    message: string,
  ) {
    super(message, undefined, code);
    Object.assign(this, fields);
  }

  static members(chatId: string, members: number, maxMembers: number): TooManyError {
    const problem = `chat "${chatId}" would have ${members} members, the limit is ${maxMembers}`;
    return new TooManyError('ERR_TOO_MANY_MEMBERS', { chatId, members, maxMembers }, problem);
  }

  static chats(member: string, maxChats: number): TooManyError {
    const problem = `"${member}" is in ${maxChats} chats, which is the limit`;
    return new TooManyError('ERR_TOO_MANY_CHATS', { member, maxChats }, problem);
  }

  static devices(recipient: string, maxDevices: number): TooManyError {
    const problem = `"${recipient}" has ${maxDevices} devices, which is the limit`;
    return new TooManyError('ERR_TOO_MANY_DEVICES', { recipient, maxDevices }, problem);
  }

  static blocked(recipient: string, maxBlocked: number): TooManyError {
    const problem = `"${recipient}" has blocked ${maxBlocked} senders, which is the limit`;
    return new TooManyError('ERR_TOO_MANY_BLOCKED', { recipient, maxBlocked }, problem);
  }
}

/**
 * `receive` or `pull`: Redis had not answered a second after `waitMs`. Nothing was moved.
 *
 * @remedy Try again.
 */
export class ReadTimeoutError extends CodedError {
  static override readonly className: string = 'ReadTimeoutError';
  readonly code = 'ERR_READ_TIMEOUT';

  constructor(
    /** The recipient or member. */
    readonly reader: string,
    readonly waitMs: number,
  ) {
    super(`Redis gave no answer for "${reader}" within ${waitMs} ms`, undefined, 'ERR_READ_TIMEOUT');
  }
}

/**
 * A key of the chat has another type, or an entry is damaged; see `cause`. `onUnreadable` gets this error; no call throws it.
 * Other chats are still read.
 *
 * @remedy Look at `cause`, and repair or delete the keys of that chat.
 */
export class ChatUnreadableError extends CodedError {
  static override readonly className: string = 'ChatUnreadableError';
  readonly code = 'ERR_CHAT_UNREADABLE';

  constructor(
    readonly chatId: string,
    cause: unknown,
  ) {
    super(
      `chat "${chatId}" cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
      {
        cause,
      },
      'ERR_CHAT_UNREADABLE',
    );
  }
}

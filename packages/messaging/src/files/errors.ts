import { CodedError } from '@mortise/redis';

/**
 * The sender gave the file up; `reason` says why. A sender gets this error after `abort`, or when all receivers gave the file
 * up before its end.
 *
 * @remedy A receiver calls `fail()` and undoes its work. A sender may send the file again.
 */
export class FileAbortedError extends CodedError {
  static override readonly className: string = 'FileAbortedError';
  readonly code = 'ERR_FILE_ABORTED';

  constructor(
    readonly file: string,
    readonly reason: string,
  ) {
    super(`file "${file}" was aborted: ${reason}`, undefined, 'ERR_FILE_ABORTED');
  }
}

/**
 * A failover of Redis has lost the file's entry or some of its chunks. The sender repeats paths by itself. A receiver
 * gets the file again.
 *
 * @remedy Send any other source again, under the same `id`.
 */
export class FileForgottenError extends CodedError {
  static override readonly className: string = 'FileForgottenError';
  readonly code = 'ERR_FILE_FORGOTTEN';

  constructor(
    readonly file: string,
    /** `cause`: why the file could not be sent again. */
    options?: ErrorOptions,
  ) {
    super(`Redis has lost file "${file}", or a part of it`, options, 'ERR_FILE_FORGOTTEN');
  }
}

const UNREADABLE = {
  ERR_FILE_CORRUPT: ({ problem }) => `is corrupt: ${problem}`,
  ERR_FILE_EXPIRED: ({ offset }) => `is no longer stored from byte ${offset} on`,
  ERR_FILE_NOT_RESUMABLE: () => 'was acked as plain bytes: it cannot be inflated from there',
  ERR_GZIP_MEMBER_TOO_LARGE: ({ maxBytes }) =>
    `has a member of gzip of more than ${maxBytes} bytes, which its window cannot hold`,
  ERR_LINE_TOO_LONG: ({ maxBytes }) => `has a line of more than ${maxBytes} bytes`,
} satisfies Record<string, (why: UnreadableDetails) => string>;

interface UnreadableDetails {
  readonly problem?: string;
  readonly offset?: number;
  readonly maxBytes?: number;
}

/**
 * A receiver cannot read the file, now or later.
 *
 * @code ERR_FILE_CORRUPT The bytes are not those that were sent, or the compressed data is truncated or damaged.
 * @remedy Call `fail()`, and look at the source.
 * @code ERR_FILE_EXPIRED The file, or the part that this receiver has not read, is no longer stored. The receiver may also have
 *   been dropped.
 * @remedy Call `fail()`. Raise `keepMs`, or send the file again.
 * @code ERR_FILE_NOT_RESUMABLE A gzip file was acked as plain bytes, within a gzip member: it cannot be inflated from there.
 * @remedy Call `fail()`. Read a gzip file in one way, with or without `gunzip`.
 * @code ERR_GZIP_MEMBER_TOO_LARGE A gzip member is larger than the window minus a chunk. Nothing of it was freed.
 * @remedy Give the sender a larger `windowBytes`, or send the text.
 * @code ERR_LINE_TOO_LONG A line has more bytes than `maxLineBytes`, or than the window holds.
 * @remedy Raise `maxLineBytes`, or read `blocks`.
 */
export class FileUnreadableError extends CodedError {
  static override readonly className: string = 'FileUnreadableError';
  /** The problem found, for ERR_FILE_CORRUPT. */
  declare readonly problem?: string;
  /** For ERR_FILE_EXPIRED: the first byte that is not stored. */
  declare readonly offset?: number;
  /** For ERR_GZIP_MEMBER_TOO_LARGE and ERR_LINE_TOO_LONG: the limit. */
  declare readonly maxBytes?: number;

  constructor(
    readonly code: keyof typeof UNREADABLE,
    readonly file: string,
    details: UnreadableDetails = {},
  ) {
    super(`file "${file}" ${UNREADABLE[code](details)}`, undefined, code);
    Object.assign(this, details);
  }
}

/**
 * The source differs from the bytes sent before, was truncated, or does not have `sizeBytes`. The file was aborted.
 *
 * @remedy Send the new content under another `id`.
 */
export class SourceChangedError extends CodedError {
  static override readonly className: string = 'SourceChangedError';
  readonly code = 'ERR_SOURCE_CHANGED';

  constructor(
    readonly file: string,
    readonly problem: string,
  ) {
    super(`the source of file "${file}" has changed: ${problem}`, undefined, 'ERR_SOURCE_CHANGED');
  }
}

/**
 * Another process, or a program with another `holder`, has the receiver's lease.
 *
 * @remedy Wait for the end of the lease, or take another name.
 */
export class ReceiverBusyError extends CodedError {
  static override readonly className: string = 'ReceiverBusyError';
  readonly code = 'ERR_RECEIVER_BUSY';

  constructor(
    readonly channel: string,
    readonly receiver: string,
    /** Remaining time of the lease, ms, if known. */
    readonly retryAfterMs: number,
  ) {
    super(
      `receiver "${receiver}" of channel "${channel}" is another process`,
      undefined,
      'ERR_RECEIVER_BUSY',
    );
  }
}

/**
 * The channel has other receivers than the sender named. Nothing was sent.
 *
 * @remedy Name the receivers that `receivers()` returns.
 */
export class ReceiversDifferError extends CodedError {
  static override readonly className: string = 'ReceiversDifferError';
  readonly code = 'ERR_RECEIVERS_DIFFER';

  constructor(readonly channel: string) {
    super(`channel "${channel}" has other receivers`, undefined, 'ERR_RECEIVERS_DIFFER');
  }
}

const REFUSALS = {
  ERR_CHANNEL_ENDED: () => 'has ended',
  ERR_RECEIVER_DEAD: ({ receivers }) => `waits for receivers that are gone: ${receivers!.join(', ')}`,
  ERR_TOO_MANY_RECEIVERS: ({ maxReceivers }) => `would have more than ${maxReceivers} receivers`,
  ERR_UNKNOWN_FILE: ({ number }) => `lists no file ${number}`,
  ERR_UNKNOWN_RECEIVER: ({ receiver }) => `has no receiver "${receiver}"`,
} satisfies Record<string, (what: RefusalDetails) => string>;

interface RefusalDetails {
  readonly receivers?: readonly string[];
  readonly maxReceivers?: number;
  readonly number?: number;
  readonly receiver?: string;
}

/**
 * The channel refuses the call, and would refuse it again.
 *
 * @code ERR_CHANNEL_ENDED The channel has ended: it takes no further files.
 * @remedy Use another channel. The same name is free when the channel is forgotten, a minute after its last file.
 * @code ERR_RECEIVER_DEAD A file needs room, receivers have no lease, and `deadReceivers` is `fail`. The file was aborted.
 * @remedy Start the receiver and send again, or use `drop`.
 * @code ERR_TOO_MANY_RECEIVERS The channel would have more than 1,000 receivers.
 * @remedy Call `leave` for receivers that are gone, or use a second channel.
 * @code ERR_UNKNOWN_FILE The channel lists no such file: there was none, or all are done with it.
 * @remedy Read `list` again.
 * @code ERR_UNKNOWN_RECEIVER The channel has no such receiver.
 * @remedy `join` it first.
 */
export class ChannelRefusedError extends CodedError {
  static override readonly className: string = 'ChannelRefusedError';
  /** For ERR_RECEIVER_DEAD: the receivers without a lease. */
  declare readonly receivers?: readonly string[];
  /** For ERR_TOO_MANY_RECEIVERS: the limit. */
  declare readonly maxReceivers?: number;
  /** For ERR_UNKNOWN_FILE. */
  declare readonly number?: number;
  /** For ERR_UNKNOWN_RECEIVER. */
  declare readonly receiver?: string;

  constructor(
    readonly code: keyof typeof REFUSALS,
    readonly channel: string,
    details: RefusalDetails = {},
  ) {
    super(`channel "${channel}" ${REFUSALS[code](details)}`, undefined, code);
    Object.assign(this, details);
  }
}

import { CodedError } from '@mortise/redis';

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

/**
 * A failover of Redis has lost that the file was listed, or some of its chunks. Send the file again, unless its source is a path: the sender does that
 * by itself. A receiver gets the file again.
 */
export class FileForgottenError extends CodedError {
  readonly code = 'ERR_FILE_FORGOTTEN';

  constructor(
    readonly file: string,
    /** The cause: why the file could not be sent again. */
    options?: ErrorOptions,
  ) {
    super(`Redis has lost file "${file}", or a part of it`, options);
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

/** A receiver cannot read the file, now or later: `fail` gives it up. The docs table says what each code means. */
export class FileUnreadableError extends CodedError {
  /** What is wrong, of ERR_FILE_CORRUPT. */
  declare readonly problem?: string;
  /** The first byte that is not stored, of ERR_FILE_EXPIRED. */
  declare readonly offset?: number;
  /** The limit, of ERR_GZIP_MEMBER_TOO_LARGE and ERR_LINE_TOO_LONG. */
  declare readonly maxBytes?: number;

  constructor(
    readonly code: keyof typeof UNREADABLE,
    readonly file: string,
    details: UnreadableDetails = {},
  ) {
    super(`file "${file}" ${UNREADABLE[code](details)}`);
    Object.assign(this, details);
  }
}

/** The source differs from what was sent of it before, was truncated, or has not `sizeBytes`. The file was aborted. */
export class SourceChangedError extends CodedError {
  readonly code = 'ERR_SOURCE_CHANGED';

  constructor(
    readonly file: string,
    readonly problem: string,
  ) {
    super(`the source of file "${file}" has changed: ${problem}`);
  }
}

/** Another process is the receiver until its lease ends, or programs of another `holder` are. */
export class ReceiverBusyError extends CodedError {
  readonly code = 'ERR_RECEIVER_BUSY';

  constructor(
    readonly channel: string,
    readonly receiver: string,
    /** The known rest of the lease, in ms. */
    readonly retryAfterMs: number,
  ) {
    super(`receiver "${receiver}" of channel "${channel}" is another process`);
  }
}

/** The channel of files has other receivers than the sender named. Nothing was sent. */
export class ReceiversDifferError extends CodedError {
  readonly code = 'ERR_RECEIVERS_DIFFER';

  constructor(readonly channel: string) {
    super(`channel "${channel}" has other receivers`);
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

/** The channel of files refuses the call, each time it is made. The docs table says what each code means. */
export class ChannelRefusedError extends CodedError {
  /** The receivers without a lease, of ERR_RECEIVER_DEAD. */
  declare readonly receivers?: readonly string[];
  /** The limit, of ERR_TOO_MANY_RECEIVERS. */
  declare readonly maxReceivers?: number;
  /** Of the file, of ERR_UNKNOWN_FILE. */
  declare readonly number?: number;
  /** Of ERR_UNKNOWN_RECEIVER. */
  declare readonly receiver?: string;

  constructor(
    readonly code: keyof typeof REFUSALS,
    readonly channel: string,
    details: RefusalDetails = {},
  ) {
    super(`channel "${channel}" ${REFUSALS[code](details)}`);
    Object.assign(this, details);
  }
}

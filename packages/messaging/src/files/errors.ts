import { CodedError } from '@mortise/redis';

/** The sender gave the file up; or, for the sender, all receivers did before its end was sent. */
export class FileAbortedError extends CodedError {
  static override readonly className: string = 'FileAbortedError';
  readonly code = 'ERR_FILE_ABORTED';

  constructor(
    readonly file: string,
    readonly reason: string,
  ) {
    super(`file "${file}" was aborted: ${reason}`);
  }
}

/**
 * A failover of Redis has lost the file's entry or some of its chunks. The sender repeats paths by itself; send any other
 * source again. A receiver gets the file again.
 */
export class FileForgottenError extends CodedError {
  static override readonly className: string = 'FileForgottenError';
  readonly code = 'ERR_FILE_FORGOTTEN';

  constructor(
    readonly file: string,
    /** `cause`: why the file could not be sent again. */
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

/** A receiver cannot read the file, now or later: `fail` gives it up. The docs explain each code. */
export class FileUnreadableError extends CodedError {
  static override readonly className: string = 'FileUnreadableError';
  /** For ERR_FILE_CORRUPT. */
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
    super(`file "${file}" ${UNREADABLE[code](details)}`);
    Object.assign(this, details);
  }
}

/** The source differs from the bytes sent before, was truncated, or does not have `sizeBytes`. The file was aborted. */
export class SourceChangedError extends CodedError {
  static override readonly className: string = 'SourceChangedError';
  readonly code = 'ERR_SOURCE_CHANGED';

  constructor(
    readonly file: string,
    readonly problem: string,
  ) {
    super(`the source of file "${file}" has changed: ${problem}`);
  }
}

/** Another process has the receiver's lease, or programs with another `holder`. */
export class ReceiverBusyError extends CodedError {
  static override readonly className: string = 'ReceiverBusyError';
  readonly code = 'ERR_RECEIVER_BUSY';

  constructor(
    readonly channel: string,
    readonly receiver: string,
    /** Remaining time of the lease, ms, if known. */
    readonly retryAfterMs: number,
  ) {
    super(`receiver "${receiver}" of channel "${channel}" is another process`);
  }
}

/** The channel has other receivers than the sender named. Nothing was sent. */
export class ReceiversDifferError extends CodedError {
  static override readonly className: string = 'ReceiversDifferError';
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

/** The channel refuses the call, and would refuse it again. The docs explain each code. */
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
    super(`channel "${channel}" ${REFUSALS[code](details)}`);
    Object.assign(this, details);
  }
}

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

/** The acked id is higher than any id of the mailbox: it is of another mailbox, or of one that was forgotten since. */
export class UnknownMessageError extends CodedError {
  readonly code = 'ERR_UNKNOWN_MESSAGE';

  constructor(
    readonly recipient: string,
    readonly id: number,
    readonly lastId: number,
  ) {
    super(`mailbox "${recipient}" has no message ${id}, the last one is ${lastId}`);
  }
}

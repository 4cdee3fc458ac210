/**
 * A refusal with a stable code. Callers branch on `code`, never on the message; every code of a package stands in
 * its README. Errors of ioredis are not wrapped: they pass through as they are.
 */
export abstract class CodedError extends Error {
  abstract readonly code: `ERR_${string}`;

  override get name(): string {
    return this.constructor.name;
  }
}

/** The client was closed (`quit`, `disconnect`) while something waited on it. Nothing can wake the waiter any more. */
export class ClientClosedError extends CodedError {
  readonly code = 'ERR_CLIENT_CLOSED';

  constructor() {
    super('the Redis client was closed');
  }
}

/** A script answered for fewer or more requests than it was given: a defect of the script, not of the caller. */
export class BatchReplyError extends CodedError {
  readonly code = 'ERR_BATCH_REPLY';

  constructor(
    readonly requests: number,
    readonly replies: number,
  ) {
    super(`a batch of ${requests} requests got ${replies} replies`);
  }
}

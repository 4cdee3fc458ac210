/**
 * Errors of node-redis in the form in which the packages tell them apart. Replies get the name `ReplyError`, which ioredis gives
 * them; a closed client has the message of ioredis. All others pass through: they are failures of the connection.
 */

/** Redis begins an error with a code in capitals. Node's errors have a property `code`, those of node-redis are sentences. */
const REPLY = /^[A-Z][A-Z0-9_]+(?: |$)/;
/** The base of replies in node-redis. A bundler may have renamed it, so it isn't the only sign. */
const REPLY_CLASS = 'ErrorReply';
/** Of node-redis: the client was closed before the command, or while it waited. */
const CLOSED = new Set(['The client is closed', 'Disconnects client']);

export function isReplyError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

/** The error for the caller. */
export function failureOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (CLOSED.has(error.message)) return connectionClosed(error);
  // A TimeoutError has no message.
  if (error.message === '')
    return new Error('the command was not sent within commandOptions.timeout', { cause: error });
  if (isReply(error)) {
    Object.defineProperty(error, 'name', { value: 'ReplyError', configurable: true, writable: true });
  }
  return error;
}

function isReply(error: Error): boolean {
  if (REPLY.test(error.message) && !('code' in error)) return true;
  return (Object.getPrototypeOf(error.constructor) as { name?: string } | null)?.name === REPLY_CLASS;
}

/** The error of ioredis for a command on a closed client. */
export function connectionClosed(cause?: Error): Error {
  return new Error('Connection is closed.', cause && { cause });
}

export function notConnected(): Error {
  return new Error('the node-redis client is not connected: await its connect() first');
}

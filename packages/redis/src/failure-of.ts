import type { RedisConnection } from './client.js';
import { isClosed } from './closure.js';
import { ClientClosedError } from './coded-error.js';
import { RedisAuthError, RedisReadOnlyError, RedisUnreachableError } from './redis-errors.js';

/** Errors of ioredis 5 and 6, and of node-redis 5 and 6, for a command that can't be sent, or has lost its connection. They have no codes. */
const CONNECTION_NAMES = new Set(['MaxRetriesPerRequestError', 'AbortError', 'ClusterAllFailedError']);
const CONNECTION_MESSAGES =
  /^(Connection is closed|Stream isn't writeable|Cluster isn't ready|None of startup nodes|All sentinels are unreachable|Socket timeout|The client is offline|Socket closed unexpectedly|Connection timeout|connect |read |write )/;

/**
 * Returns the error for the caller of a failed command. If Redis can't be used at all, the error is coded; otherwise it stays
 * as it came. A reply to this one command, such as WRONGTYPE or NOPERM, stays as it is, and so does a `commandTimeout`.
 */
export function failureOf(client: RedisConnection, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message } = error;
  if (name === 'ReplyError') {
    if (message.startsWith('NOAUTH') || message.startsWith('WRONGPASS')) return new RedisAuthError(error);
    return message.startsWith('READONLY') ? new RedisReadOnlyError(error) : error;
  }
  if (!CONNECTION_NAMES.has(name) && !CONNECTION_MESSAGES.test(message)) return error;
  if (isClosed(client)) return new ClientClosedError({ cause: error });
  return RedisUnreachableError.of(client, { cause: error }) ?? error;
}

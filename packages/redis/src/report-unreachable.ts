import type { RedisClient } from './client.js';
import { isClosed } from './closure.js';
import { CodedError } from './coded-error.js';
import type { ErrorReporter } from './error-reporter.js';

const CONNECT_MS = 5_000;

/** The client has no connection: `cause` of a wait that ended, or a report of background work, which goes on when there is one. */
export class RedisUnreachableError extends CodedError {
  static override readonly className: string = 'RedisUnreachableError';
  readonly code = 'ERR_REDIS_UNREACHABLE';

  constructor(
    /** Of the ioredis client. */
    readonly status: string,
  ) {
    super(`Redis cannot be reached: the client is "${status}". Check the address, and that the server runs`);
  }

  /** The error of a client without a connection; undefined if it has one, or was closed. */
  static of(client: RedisClient): RedisUnreachableError | undefined {
    return client.status === 'ready' || isClosed(client) ? undefined : new this(client.status);
  }
}

/**
 * Reports ERR_REDIS_UNREACHABLE when the client is not ready 5 s from now. ioredis keeps the commands of a client that has never
 * connected, so without this nothing would tell. Returns a function that cancels it.
 */
export function reportUnreachable(client: RedisClient, reporter: ErrorReporter): () => void {
  const timer = setTimeout(() => {
    const error = RedisUnreachableError.of(client);
    if (error) reporter.reportRepeated(error);
  }, CONNECT_MS).unref();
  return () => clearTimeout(timer);
}

import type { RedisClient } from './client.js';
import { isClosed } from './closure.js';
import { CodedError } from './coded-error.js';
import type { ErrorReporter } from './error-reporter.js';

const CONNECT_MS = 5_000;

/** Background work waits for a connection. It goes on by itself as soon as there is one. */
export class RedisUnreachableError extends CodedError {
  readonly code = 'ERR_REDIS_UNREACHABLE';

  constructor(
    /** Of the ioredis client. */
    readonly status: string,
  ) {
    super(
      `no connection to Redis after ${CONNECT_MS / 1000} s (the client is "${status}"): check its address and that it runs`,
    );
  }
}

/**
 * Reports ERR_REDIS_UNREACHABLE when the client is not ready 5 s from now. ioredis keeps the commands of a client that has never
 * connected, so without this nothing would tell. Returns a function that cancels it.
 */
export function reportUnreachable(client: RedisClient, reporter: ErrorReporter): () => void {
  const timer = setTimeout(() => {
    if (client.status === 'ready' || isClosed(client)) return;
    reporter.reportRepeated(new RedisUnreachableError(client.status));
  }, CONNECT_MS).unref();
  return () => clearTimeout(timer);
}

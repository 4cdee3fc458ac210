import type { RedisClient } from './client.js';
import type { ErrorReporter } from './error-reporter.js';
import { RedisUnreachableError } from './redis-errors.js';

const CONNECT_MS = 5_000;

/**
 * Reports ERR_REDIS_UNREACHABLE when the client is not ready 5 s from now. Without this report nothing would show the failure,
 * since ioredis keeps the commands of a client that has never connected. Returns a function that cancels the report.
 */
export function reportUnreachable(client: RedisClient, reporter: ErrorReporter): () => void {
  const timer = setTimeout(() => {
    const error = RedisUnreachableError.of(client);
    if (error) reporter.reportRepeated(error);
  }, CONNECT_MS).unref();
  return () => clearTimeout(timer);
}

/**
 * Finds a dead peer of a subscriber's connection: a pulled cable, a firewall that dropped the connection, a stopped process.
 * A subscriber sends nothing, so TCP would need many minutes to notice, or never would. A regular PING with a time limit
 * bounds that.
 *
 * Only connections that we open are checked. We may not close the caller's own connection. The bounded recheck of every
 * waiter uses that connection anyway, under the caller's `commandTimeout` or `socketTimeout`.
 */
import type { RedisConnection } from './client.js';

const EVERY_MS = 10_000;
const LIMIT_MS = 5_000;

/**
 * Calls `onDead` when a connection that looks up leaves a PING unanswered for 5 s: at most 15 s after the loss of the peer.
 * Sends a PING every 10 s. Returns a function that ends the checks.
 */
export function watchLiveness(connection: RedisConnection, onDead: () => void): () => void {
  let limit: NodeJS.Timeout | undefined;
  const clear = (): void => {
    clearTimeout(limit);
    limit = undefined;
  };
  const check = (): void => {
    // While connecting, the connectTimeout of ioredis applies.
    const isUp = connection.status === 'ready' || connection.status === 'connect';
    if (limit || !isUp) return;
    const timeout = setTimeout(() => {
      // After a blocked event loop, timers run before sockets are read: an answer may have arrived.
      setImmediate(() => {
        if (limit !== timeout) return;
        clear();
        onDead();
      });
    }, LIMIT_MS).unref();
    limit = timeout;
    connection.call('ping', []).then(clear, clear);
  };
  const timer = setInterval(check, EVERY_MS).unref();
  connection.on('close', clear);
  return () => {
    clearInterval(timer);
    clear();
    connection.off('close', clear);
  };
}

/**
 * A subscriber only listens, so nothing tells it that its peer has vanished without a word (a pulled cable, a
 * firewall that forgot the connection, a stopped process): TCP would take many minutes, or for ever. A PING now and
 * then, with a time limit, bounds that.
 *
 * Connections that we open ourselves are watched. The caller's own connection isn't: we may not close it, and the
 * bounded re-check of every waiter passes over it anyway, where the caller's `commandTimeout` or `socketTimeout` rule.
 */
import type { RedisConnection } from './client.js';

const EVERY_MS = 10_000;
const LIMIT_MS = 5_000;

/**
 * Calls `onDead` when the connection seems to be up and has not answered for 5 s; that is at most 15 s after its peer
 * vanished. One PING each 10 s. Returns the end of the watch.
 */
export function watchLiveness(connection: RedisConnection, onDead: () => void): () => void {
  let limit: NodeJS.Timeout | undefined;
  const relax = (): void => {
    clearTimeout(limit);
    limit = undefined;
  };
  const check = (): void => {
    // While it is connecting, the connectTimeout of ioredis rules.
    const isUp = connection.status === 'ready' || connection.status === 'connect';
    if (limit || !isUp) return;
    const armed = setTimeout(() => {
      // After a blocked event loop timers come first: let the answer in that may have arrived meanwhile.
      setImmediate(() => {
        if (limit !== armed) return;
        relax();
        onDead();
      });
    }, LIMIT_MS).unref();
    limit = armed;
    connection.call('ping', []).then(relax, relax);
  };
  const timer = setInterval(check, EVERY_MS).unref();
  connection.on('close', relax);
  return () => {
    clearInterval(timer);
    relax();
    connection.off('close', relax);
  };
}

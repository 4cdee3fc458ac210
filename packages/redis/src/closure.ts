/**
 * When a client is closed by its owner. ioredis says `end`, but not for a `disconnect()` that comes while it is
 * reconnecting: then it only stops trying, silently, and every command waits for ever. That is what a process that is
 * shut down during an outage does, so it's looked for, while a client is reconnecting. And a `Cluster` that has ended
 * says `close` once more for each further node, and stays in that state.
 */
import type { RedisClient } from './client.js';

const LOOK_EVERY_MS = 200;

const STATES_OF_A_CLOSED_CLIENT = new Set(['reconnecting', 'disconnecting', 'close']);

/** Whether the owner has closed the client. It may be connected again. */
export function isClosed(client: RedisClient): boolean {
  const { status, manuallyClosing } = client as RedisClient & { readonly manuallyClosing?: boolean };
  return status === 'end' || (manuallyClosing === true && STATES_OF_A_CLOSED_CLIENT.has(status));
}

/** Calls back each time the owner closes the client. */
export function onClosed(client: RedisClient, callback: () => void): void {
  let timer: NodeJS.Timeout | undefined;
  const rest = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  client.on('end', () => {
    rest();
    callback();
  });
  client.on('connecting', rest);
  client.on('reconnecting', () => {
    timer ??= setInterval(() => {
      if (!isClosed(client)) return;
      rest();
      callback();
    }, LOOK_EVERY_MS).unref();
  });
}

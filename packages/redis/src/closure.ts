/**
 * Detects that the owner of a client closed it. ioredis emits `end`, with two exceptions. After a `disconnect()` during
 * reconnecting it emits nothing, and every command waits for ever: a process that shuts down during an outage does this. So the
 * state is checked every 200 ms while a client is reconnecting. A `Cluster` that has ended emits `close` again for each
 * further node, and stays in that state.
 */
import type { RedisConnection } from './client.js';

const CHECK_EVERY_MS = 200;

const STATES_OF_A_CLOSED_CLIENT = new Set(['reconnecting', 'disconnecting', 'close']);

/** Whether the owner has closed the client. The owner may connect a closed client again. */
export function isClosed(client: RedisConnection): boolean {
  const { status, manuallyClosing } = client as RedisConnection & { readonly manuallyClosing?: boolean };
  return status === 'end' || (manuallyClosing === true && STATES_OF_A_CLOSED_CLIENT.has(status));
}

/** Whether the owner has begun to close the client. A command after QUIT meets a closed socket, and QUIT itself then fails. */
export function isClosing(client: RedisConnection): boolean {
  const { manuallyClosing } = client as RedisConnection & { readonly manuallyClosing?: boolean };
  return manuallyClosing === true || isClosed(client);
}

/** Calls back each time the owner closes the client. */
export function onClosed(client: RedisConnection, callback: () => void): void {
  let timer: NodeJS.Timeout | undefined;
  const stopChecking = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  client.on('end', () => {
    stopChecking();
    callback();
  });
  const startChecking = (): void => {
    timer ??= setInterval(() => {
      if (!isClosed(client)) return;
      stopChecking();
      callback();
    }, CHECK_EVERY_MS).unref();
  };
  client.on('connecting', stopChecking);
  client.on('reconnecting', startChecking);
  if (client.status === 'reconnecting') startChecking();
}

import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** The client whose connection is made in this turn. node-redis has no member for its socket, and makes it at once. */
let connecting: object | undefined;

const sockets = new WeakMap<object, Socket>();

subscribe('net.client.socket', (message) => {
  if (connecting) sockets.set(connecting, (message as { socket: Socket }).socket);
  connecting = undefined;
});

/** The present socket of a client that `trackSocket` knows. */
export function socketOf(client: object): Socket | undefined {
  return sockets.get(client);
}

/** Calls `connect`, and remembers the sockets that this and each later reconnect make. */
export function trackSocket<Result>(
  client: { on(event: 'reconnecting', listener: () => void): unknown },
  connect: () => Result,
): Result {
  const expect = (): void => {
    connecting = client;
    queueMicrotask(() => {
      if (connecting === client) connecting = undefined;
    });
  };
  client.on('reconnecting', expect);
  expect();
  return connect();
}

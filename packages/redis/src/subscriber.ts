import type { RedisClient } from './client.js';

/** What the waiter hub needs of a transport. There are two: one connection, and one connection per Cluster master. */
export interface Subscriber {
  /** Resolves when the server has confirmed the subscription. It then lasts, across reconnects, until `unsubscribe`. */
  subscribe(channel: string): Promise<void>;
  unsubscribe(channel: string): void;
  /** Forgets all channels and closes the connections that the transport opened itself. It may be used again. */
  close(): void;
}

export interface SubscriberEvents {
  onMessage(channel: string, message: Buffer): void;
  /** The subscription was interrupted, and is about to be made again: before anything is heard over the new one. */
  onInterrupted(channels: Iterable<string>): void;
  /** The subscription was interrupted and is whole again: messages may have been missed. */
  onResync(channels: Iterable<string>): void;
}

/** What all connections have in common that we open for subscriptions. */
export function subscriberOptions(client: RedisClient): object {
  const { connectionName } = client.options as { connectionName?: string | null };
  return {
    lazyConnect: false,
    enableOfflineQueue: true,
    enableAutoPipelining: false,
    // ioredis doesn't handle a failure of its own resubscription: the process would die of an unhandled rejection.
    autoResubscribe: false,
    // What an operator sees in CLIENT LIST.
    connectionName: connectionName ? `${connectionName}:mortise-subscriber` : 'mortise-subscriber',
  };
}

import type { RedisClient } from './client.js';

/** The transport of a waiter hub. There are two: one connection, and one connection per Cluster master. */
export interface Subscriber {
  /** Resolves when the server has confirmed the subscription. It lasts until `unsubscribe`, across reconnects. */
  subscribe(channel: string): Promise<void>;
  unsubscribe(channel: string): void;
  /** Forgets all channels and closes the connections that the transport opened. It may be used again. */
  close(): void;
}

export interface SubscriberEvents {
  onMessage(channel: string, message: Buffer): void;
  /** The subscription was interrupted and will be made again. Called before the first message of the new one. */
  onInterrupted(channels: Iterable<string>): void;
  /** The subscription was interrupted and is whole again: messages may have been missed. */
  onResync(channels: Iterable<string>): void;
}

/** Options of every connection that we open for subscriptions. */
export function subscriberOptions(client: RedisClient): object {
  const { connectionName } = client.options as { connectionName?: string | null };
  return {
    lazyConnect: false,
    enableOfflineQueue: true,
    enableAutoPipelining: false,
    // A failed resubscription of ioredis itself is an unhandled rejection, which ends the process.
    autoResubscribe: false,
    // An operator sees it in CLIENT LIST.
    connectionName: connectionName ? `${connectionName}:mortise-subscriber` : 'mortise-subscriber',
  };
}

import type { RedisClient } from './client.js';

/** The transport of a waiter hub: one connection, or one connection per Cluster master. */
export interface Subscriber {
  /** Resolves when the server has confirmed. The subscription lasts until `unsubscribe`, across reconnects. */
  subscribe(channel: string): Promise<void>;
  unsubscribe(channel: string): void;
  /** Forgets all channels and closes the transport's own connections. It may be used again. */
  close(): void;
}

export interface SubscriberEvents {
  onMessage(channel: string, message: Buffer): void;
  /** The subscription was interrupted and will be repeated. Called before its first new message. */
  onInterrupted(channels: Iterable<string>): void;
  /** The subscription was interrupted and is confirmed again: messages may be lost. */
  onResync(channels: Iterable<string>): void;
}

/** Options of every connection that we open for subscriptions. */
export function subscriberOptions(client: RedisClient): object {
  const { connectionName } = client.options as { connectionName?: string | null };
  return {
    lazyConnect: false,
    enableOfflineQueue: true,
    enableAutoPipelining: false,
    // ioredis would subscribe again itself, and a failure of that is an unhandled rejection, which ends the process.
    autoResubscribe: false,
    // Visible in CLIENT LIST.
    connectionName: connectionName ? `${connectionName}:mortise-subscriber` : 'mortise-subscriber',
  };
}

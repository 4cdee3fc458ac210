/**
 * Subscriptions on a single node or behind Sentinel. With RESP3 (ioredis 6) they live on the connection that we were
 * given, since pushes and replies are told apart there: no further connection. With RESP2 (ioredis 5) a subscribed
 * connection refuses other commands, so a duplicate carries them, from the first channel to the last.
 */
import type { RedisClient, RedisConnection } from './client.js';
import { ClientClosedError } from './coded-error.js';
import { watchLiveness } from './liveness.js';
import type { Subscriber, SubscriberEvents } from './subscriber.js';
import { subscriberOptions } from './subscriber.js';

/** What ioredis knows about the present connection. */
interface Condition {
  readonly protocol?: number;
  /** The channels that ioredis subscribes again by itself after a reconnect. */
  readonly subscriber?: false | { del(type: 'subscribe', channel: string): void };
}

/** The pause before a subscription that the server refused, or did not answer in time, is made whole again. */
const RETRY_MS = 1_000;

export class StandaloneSubscriber implements Subscriber {
  readonly #client: RedisClient & { readonly condition?: Condition | null };
  readonly #events: SubscriberEvents;
  readonly #channels = new Set<string>();
  #connection: Promise<RedisConnection> | undefined;
  #isReady: Promise<void> | undefined;
  #closeDuplicate: (() => void) | undefined;
  #isAttached = false;

  constructor(client: RedisClient, events: SubscriberEvents) {
    this.#client = client;
    this.#events = events;
  }

  async subscribe(channel: string): Promise<void> {
    this.#channels.add(channel);
    try {
      const connection = await this.#connect();
      if (connection !== this.#client) await this.#whenReady(connection);
      // `close` came in between.
      if (!this.#channels.has(channel)) throw new ClientClosedError();
      await this.#send(connection, [channel]);
    } catch (error) {
      this.unsubscribe(channel);
      throw error;
    }
  }

  unsubscribe(channel: string): void {
    if (!this.#channels.delete(channel)) return;
    if (this.#channels.size === 0 && this.#closeDuplicate) this.close();
    // An answer that is lost leaves a subscription behind that nobody listens to: harmless until the next reconnect.
    else
      this.#connection
        ?.then((connection) => connection.call('unsubscribe', [channel]))
        .catch(() => undefined);
  }

  close(): void {
    this.#channels.clear();
    this.#connection = undefined;
    this.#isReady = undefined;
    this.#closeDuplicate?.();
    this.#closeDuplicate = undefined;
  }

  #connect(): Promise<RedisConnection> {
    if (this.#connection) return this.#connection;
    const opening = this.#open();
    this.#connection = opening;
    opening.catch(() => {
      if (this.#connection === opening) this.#connection = undefined;
    });
    return opening;
  }

  async #open(): Promise<RedisConnection> {
    // The handshake decides about the protocol, so a command has to pass first.
    await this.#client.call('ping', []);
    if (this.#client.condition?.protocol !== 3) return this.#duplicate();
    if (!this.#isAttached) this.#attach(this.#client);
    this.#isAttached = true;
    return this.#client;
  }

  #duplicate(): RedisConnection {
    const duplicate = this.#client.duplicate({
      ...subscriberOptions(this.#client),
      maxRetriesPerRequest: null,
      // It lives as long as its client does, also where the client itself is told not to reconnect.
      retryStrategy: (times: number) => Math.min(times * 50, 1_000),
      sentinelRetryStrategy: (times: number) => Math.min(times * 50, 1_000),
    });
    // ioredis reconnects by itself; `ready` tells when. Without a listener it would print each failed attempt.
    duplicate.on('error', () => undefined);
    this.#attach(duplicate);
    const unwatch = watchLiveness(duplicate, () => duplicate.disconnect(true));
    this.#closeDuplicate = () => {
      unwatch();
      duplicate.disconnect();
    };
    return duplicate;
  }

  /** ioredis 5 would write a SUBSCRIBE during its handshake, which then fails. */
  #whenReady(connection: RedisConnection): Promise<void> | undefined {
    if (connection.status === 'ready') return undefined;
    this.#isReady ??= new Promise((resolve) => {
      const onReady = (): void => {
        connection.off('ready', onReady);
        this.#isReady = undefined;
        resolve();
      };
      connection.on('ready', onReady);
    });
    return this.#isReady;
  }

  #attach(connection: RedisConnection): void {
    let isFirstReady = connection.status !== 'ready';
    connection.on('messageBuffer', (channel: Buffer, message: Buffer) => {
      this.#events.onMessage(channel.toString(), message);
    });
    connection.on('ready', () => {
      if (!isFirstReady) void this.#resubscribe(connection);
      isFirstReady = false;
    });
  }

  async #resubscribe(connection: RedisConnection): Promise<void> {
    const channels = [...this.#channels];
    if (channels.length === 0) return;
    this.#events.onInterrupted(channels);
    try {
      await this.#send(connection, channels);
      this.#events.onResync(channels);
    } catch {
      // Lost again: its next `ready` comes back here. Refused or not answered in time: tried again.
      if (connection.status !== 'ready') return;
      setTimeout(() => void this.#resubscribe(connection), RETRY_MS).unref();
    }
  }

  async #send(connection: RedisConnection, channels: string[]): Promise<void> {
    await connection.call('subscribe', channels);
    if (connection !== this.#client) return;
    // `ready` brings them back. ioredis would do so too, but a SUBSCRIBE of its own that fails (`commandTimeout`,
    // `maxRetriesPerRequest`) is an unhandled rejection, which ends the process of our caller.
    const { subscriber } = this.#client.condition ?? {};
    if (subscriber) for (const channel of channels) subscriber.del('subscribe', channel);
  }
}

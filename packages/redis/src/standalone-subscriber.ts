/**
 * Subscriptions on a single node or behind Sentinel. With RESP3 (ioredis 6) they use the caller's connection, because pushes
 * and replies differ there. With RESP2 (ioredis 5) a subscribed connection refuses other commands, so a duplicate has the
 * subscriptions, from the first channel to the last.
 */
import { callRedis } from './client-calls.js';
import type { RedisClient, RedisConnection } from './client.js';
import { isClosing } from './closure.js';
import { ClientClosedError } from './coded-error.js';
import { failureOf } from './failure-of.js';
import { watchLiveness } from './liveness.js';
import type { Subscriber, SubscriberEvents } from './subscriber.js';
import { subscriberOptions } from './subscriber.js';

/** The state of the present connection in ioredis. */
interface Condition {
  readonly protocol?: number;
  /** The channels that ioredis subscribes again after a reconnect. */
  readonly subscriber?: false | { del(type: 'subscribe', channel: string): void };
}

/** The pause before subscribing again after a refusal or a timeout. */
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
      // `close`, or `quit` of the client, was called during the wait.
      if (!this.#channels.has(channel) || isClosing(this.#client)) throw new ClientClosedError();
      await this.#send(connection, [channel]);
    } catch (error) {
      this.unsubscribe(channel);
      throw failureOf(this.#client, error);
    }
  }

  unsubscribe(channel: string): void {
    if (!this.#channels.delete(channel)) return;
    if (this.#channels.size === 0 && this.#closeDuplicate) this.close();
    // When the command is lost, a subscription without listeners remains until the next reconnect. That is harmless.
    else if (!isClosing(this.#client))
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
    // The handshake decides the protocol, so a command has to succeed first.
    await callRedis(this.#client, 'ping', []);
    if (this.#client.condition?.protocol !== 3) return this.#duplicate();
    if (!this.#isAttached) this.#attach(this.#client);
    this.#isAttached = true;
    return this.#client;
  }

  #duplicate(): RedisConnection {
    const duplicate = this.#client.duplicate({
      ...subscriberOptions(this.#client),
      maxRetriesPerRequest: null,
      // The duplicate must live as long as its client, even if the client's own options forbid reconnecting.
      retryStrategy: (times: number) => Math.min(times * 50, 1_000),
      sentinelRetryStrategy: (times: number) => Math.min(times * 50, 1_000),
    });
    // ioredis reconnects and emits `ready`. Without this listener it prints each failed attempt.
    duplicate.on('error', () => undefined);
    this.#attach(duplicate);
    const unwatch = watchLiveness(duplicate, () => duplicate.disconnect(true));
    this.#closeDuplicate = () => {
      unwatch();
      duplicate.disconnect();
    };
    return duplicate;
  }

  /** ioredis 5 would send a SUBSCRIBE during its handshake, which then fails. */
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
      // After another loss the next `ready` calls this again. After a refusal or a timeout a timer does.
      if (connection.status !== 'ready') return;
      setTimeout(() => void this.#resubscribe(connection), RETRY_MS).unref();
    }
  }

  async #send(connection: RedisConnection, channels: string[]): Promise<void> {
    await connection.call('subscribe', channels);
    if (connection !== this.#client) return;
    // `ready` subscribes them again. ioredis would do so too, but a failed SUBSCRIBE of its own (`commandTimeout`,
    // `maxRetriesPerRequest`) is an unhandled rejection, which ends the process of our caller.
    const { subscriber } = this.#client.condition ?? {};
    if (subscriber) for (const channel of channels) subscriber.del('subscribe', channel);
  }
}

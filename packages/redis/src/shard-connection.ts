/**
 * A connection of our own to one Cluster master, for the shard channels of its slots. It never reconnects: after a loss the
 * subscriber opens another one, perhaps to another master.
 *
 * A slot that leaves the master shows in three ways. ioredis 6 emits `moved`. ioredis 5 takes the server's unsolicited
 * `sunsubscribe` for the reply of a command, and emits `error` when it has none. ioredis 5 also emits `moved` for a
 * redirected SSUBSCRIBE, and then never settles its promise. So `moved` rejects all pending subscriptions, and any `error`
 * closes the connection, because later replies might belong to other commands.
 */
import type { RedisClient, RedisConnection } from './client.js';
import { watchLiveness } from './liveness.js';
import { subscriberOptions } from './subscriber.js';

export interface ShardEvents {
  onMessage(channel: string, message: Buffer): void;
  /** A slot has left the master, so every subscription of this connection is uncertain. */
  onMoved(shard: ShardConnection): void;
  /** The connection has ended. Called once, and not after `close`. */
  onLost(shard: ShardConnection): void;
}

export class ShardConnection {
  readonly #connection: RedisConnection;
  readonly #events: ShardEvents;
  readonly #unwatch: () => void;
  readonly #isReady: Promise<void>;
  readonly #channels = new Set<string>();
  readonly #unconfirmed = new Set<(error: Error) => void>();
  #isOver = false;

  constructor(
    /** `host:port`, as the slot map of the cluster client names the master. */
    readonly node: string,
    owner: RedisClient,
    events: ShardEvents,
  ) {
    this.#events = events;
    this.#connection = owner.duplicate({
      ...subscriberOptions(owner),
      retryStrategy: null,
      readOnly: false,
    });
    this.#isReady = new Promise((resolve) => this.#connection.on('ready', resolve));
    const lose = (): void => {
      if (this.#isOver) return;
      this.close();
      events.onLost(this);
    };
    this.#connection.on('smessageBuffer', (channel: Buffer, message: Buffer) => {
      if (!this.#isOver) events.onMessage(channel.toString(), message);
    });
    this.#connection.on('moved', () => this.#resubscribe());
    this.#connection.on('error', lose);
    this.#connection.on('end', lose);
    this.#unwatch = watchLiveness(this.#connection, lose);
  }

  /** Whether the connection has no channel. */
  get isIdle(): boolean {
    return this.#channels.size === 0;
  }

  /** Resolves when the server has confirmed. Rejects with its error, or when the connection or the slot is lost. */
  subscribe(channel: string): Promise<void> {
    this.#channels.add(channel);
    return new Promise((resolve, reject) => {
      this.#unconfirmed.add(reject);
      // ioredis 5 would send it during its handshake, which then fails.
      void this.#isReady
        .then(() => this.#connection.call('ssubscribe', [channel]))
        .then(() => resolve(), reject)
        .finally(() => this.#unconfirmed.delete(reject));
    });
  }

  unsubscribe(channel: string): void {
    if (!this.#channels.delete(channel)) return;
    this.#isReady.then(() => this.#connection.call('sunsubscribe', [channel])).catch(() => undefined);
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unwatch();
    // `disconnect` on an ended connection starts a timer of two seconds in ioredis, which keeps the process alive.
    if (this.#connection.status !== 'end') this.#connection.disconnect();
    this.#rejectUnconfirmed('was lost');
  }

  #resubscribe(): void {
    if (this.#isOver) return;
    this.#rejectUnconfirmed('has lost a slot');
    this.#events.onMoved(this);
  }

  #rejectUnconfirmed(what: string): void {
    for (const reject of this.#unconfirmed) reject(new Error(`the subscriber of ${this.node} ${what}`));
    this.#unconfirmed.clear();
  }
}

/**
 * A connection of our own, because WAIT blocks the connection that it is sent on and counts only that one's writes. It
 * doesn't reconnect: a WAIT that were sent again elsewhere would count replicas that know nothing of the write.
 */
import type { RedisClient, RedisConnection } from '@mortise/redis';
import { ClientClosedError } from '@mortise/redis';
import { replicationConfirm } from '../scripts.gen.js';

/** What ioredis knows about the present connection. */
interface Condition {
  readonly select?: number;
}

export class ReplicaLink {
  /** Rejects when the connection ends before it could be used. */
  readonly isReady: Promise<void>;
  readonly #connection: RedisConnection;
  #hasBeenReady = false;
  #failure: unknown;

  /** Throws ERR_CLIENT_CLOSED for a client that is closed. */
  constructor(
    client: RedisClient & { readonly condition?: Condition | null },
    onEnd: (link: ReplicaLink) => void,
  ) {
    if (client.status === 'end') throw new ClientClosedError();
    const { connectionName, db } = client.options as { connectionName?: string | null; db?: number };
    this.#connection = client.duplicate({
      lazyConnect: false,
      enableOfflineQueue: true,
      enableAutoPipelining: false,
      readOnly: false,
      // See above: once lost it stays lost, and the next confirmation opens another one.
      retryStrategy: null,
      sentinelRetryStrategy: null,
      reconnectOnError: null,
      // A WAIT may last for longer than other commands; whoever asks for a confirmation bounds it.
      commandTimeout: undefined,
      socketTimeout: undefined,
      db: client.condition?.select ?? db,
      connectionName: connectionName ? `${connectionName}:mortise-replication` : 'mortise-replication',
    });
    this.#connection.on('error', (error: unknown) => {
      this.#failure = error;
    });
    this.isReady = new Promise((resolve, reject) => {
      this.#connection.on('ready', () => {
        this.#hasBeenReady = true;
        resolve();
      });
      this.#connection.on('end', () => {
        reject((this.#failure as Error | undefined) ?? new Error('the connection for replicas was closed'));
        onEnd(this);
      });
    });
    this.isReady.catch(() => undefined);
  }

  /** Whether it answered once. One that is only being opened has the time that ioredis gives it. */
  get hasBeenReady(): boolean {
    return this.#hasBeenReady;
  }

  /** Resolves to whether the member holds the lock: then its lease lasts for `leaseMs` from now. */
  async confirm(lease: string, member: string, leaseMs: number): Promise<boolean> {
    return (await replicationConfirm.run(this.#connection, { lease }, { member, leaseMs })) === 1;
  }

  /** Resolves to how many replicas have all that was confirmed here: as soon as `replicas` have it, or after `waitMs`. */
  async wait(replicas: number, waitMs: number): Promise<number> {
    return Number(await this.#connection.call('wait', [replicas, waitMs]));
  }

  close(): void {
    // ioredis would give a connection that has ended two more seconds to end, and hold the process for so long.
    if (this.#connection.status !== 'end') this.#connection.disconnect();
  }
}

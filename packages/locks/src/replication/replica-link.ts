/**
 * A separate connection, because WAIT blocks its connection and counts only the writes of that connection. It doesn't
 * reconnect: a WAIT repeated on another master would count replicas without the write.
 */
import type { RedisClient, RedisConnection } from '@mortise/redis';
import { ClientClosedError, isClosed } from '@mortise/redis';
import { replicationConfirm } from '../scripts.gen.js';

/** The state of the connection in ioredis. */
interface Condition {
  readonly select?: number;
}

export class ReplicaLink {
  /** Rejects if the connection ends before it was ready. */
  readonly isReady: Promise<void>;
  readonly #connection: RedisConnection;
  #hasBeenReady = false;
  #failure: unknown;

  /** Throws ERR_CLIENT_CLOSED for a client that is closed. */
  constructor(
    client: RedisClient & { readonly condition?: Condition | null },
    onEnd: (link: ReplicaLink) => void,
  ) {
    if (isClosed(client)) throw new ClientClosedError();
    const { connectionName, db } = client.options as { connectionName?: string | null; db?: number };
    this.#connection = client.duplicate({
      lazyConnect: false,
      enableOfflineQueue: true,
      enableAutoPipelining: false,
      readOnly: false,
      // It never reconnects: the next confirmation opens another connection.
      retryStrategy: null,
      sentinelRetryStrategy: null,
      reconnectOnError: null,
      // A WAIT may take longer than other commands. `Confirmations` limits it.
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

  /** Whether it was ever ready. Until then ioredis limits the time to connect. */
  get hasBeenReady(): boolean {
    return this.#hasBeenReady;
  }

  /** Resolves to whether the member holds the lock. If so, its lease lasts for `leaseMs` from now. */
  async confirm(lease: string, member: string, leaseMs: number): Promise<boolean> {
    return (await replicationConfirm.run(this.#connection, { lease }, { member, leaseMs })) === 1;
  }

  /** Resolves to the number of replicas that have all writes of this link: when `replicas` have them, or after `waitMs`. */
  async wait(replicas: number, waitMs: number): Promise<number> {
    return Number(await this.#connection.call('wait', [replicas, waitMs]));
  }

  close(): void {
    // `disconnect` on an ended connection would keep the process alive for two more seconds.
    if (this.#connection.status !== 'end') this.#connection.disconnect();
  }
}

import type { Worker } from '@mortise/queues';
import { TIMED_OUT, waitFor } from '@mortise/redis';
import type { Cluster, Redis } from 'ioredis';

const PING_TIMEOUT_MS = 1_000;
/** An idle queue has an answer of Redis every 4 s. */
const STUCK_MS = 60_000;

/** The state of the worker, for its probes. */
export class WorkerState {
  readonly #redis: Redis | Cluster;
  readonly #queues: { readonly workers: readonly Pick<Worker, 'silentMs'>[] };
  isDraining = false;

  constructor(redis: Redis | Cluster, queues: { readonly workers: readonly Pick<Worker, 'silentMs'>[] }) {
    this.#redis = redis;
    this.#queues = queues;
  }

  /** It is ready when Redis answers within a second and it isn't draining. */
  async unready(): Promise<string | undefined> {
    if (this.isDraining) return 'draining';
    return (await this.#answers([this.#redis])) ? undefined : 'redis is not reachable';
  }

  /**
   * It is dead when a queue gets no answer of Redis although every node answers others: only a restart helps then. In an outage it
   * lives, because commands wait for the connection.
   */
  async dead(): Promise<string | undefined> {
    if (!this.#isStuck) return undefined;
    const nodes = 'nodes' in this.#redis ? this.#redis.nodes('master') : [this.#redis];
    if (!(await this.#answers(nodes))) return undefined;
    // A process that stood still has read the answers by now.
    return this.#isStuck ? 'fetches no tasks' : undefined;
  }

  get #isStuck(): boolean {
    return this.#queues.workers.some(({ silentMs }) => silentMs >= STUCK_MS);
  }

  async #answers(clients: readonly (Redis | Cluster)[]): Promise<boolean> {
    if (this.#redis.status !== 'ready') return false;
    try {
      const pings = Promise.all(clients.map((client) => client.ping()));
      return (await waitFor(pings, { waitMs: PING_TIMEOUT_MS })) !== TIMED_OUT;
    } catch {
      return false;
    }
  }
}

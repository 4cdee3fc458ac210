import { randomBytes } from 'node:crypto';
import type { RedisClient } from '@mortise/redis';
import { perClient, RedisUnreachableError, WaiterHub } from '@mortise/redis';
import type { Gate } from './gate.js';
import { WaitQueue } from './wait-queue.js';

/** Shared by all locks of one client: an id, and for each lock one channel and one wait queue. */
export class LockClient {
  /** 96 random bits, without `.` and `:`. */
  readonly id = randomBytes(12).toString('base64url');
  /** Always the same object for a client. */
  static readonly of = /* @__PURE__ */ perClient((client) => new LockClient(client));
  readonly #client: RedisClient;
  readonly #hub: WaiterHub;
  readonly #queues = new Map<string, WaitQueue>();
  #acquisitions = 0;

  private constructor(client: RedisClient) {
    this.#client = client;
    this.#hub = WaiterHub.of(client);
  }

  /** The error of a client without a connection. */
  get failure(): RedisUnreachableError | undefined {
    return RedisUnreachableError.of(this.#client);
  }

  /** The id of one acquisition: unique in this client, made of digits and letters, and of `~` and its owner, if it has one. */
  nextId(owner?: string): string {
    this.#acquisitions += 1;
    const id = this.#acquisitions.toString(36);
    return owner === undefined ? id : `${id}~${owner}`;
  }

  /** The wait queue of a lock, if one is open. */
  openQueue(gate: Gate): WaitQueue | undefined {
    return this.#queues.get(gate.id);
  }

  /** The wait queue of a lock. A new one subscribes. */
  queue(gate: Gate): WaitQueue {
    const open = this.#queues.get(gate.id);
    if (open) {
      open.use(gate);
      return open;
    }
    const queue = new WaitQueue(gate, this.id, this.#hub, () => {
      if (this.#queues.get(gate.id) === queue) this.#queues.delete(gate.id);
    });
    this.#queues.set(gate.id, queue);
    return queue;
  }

  /** The member of this client with the first place in the queue, if one waits. */
  firstWaiting(gate: Gate): string | undefined {
    return this.#queues.get(gate.id)?.first;
  }
}

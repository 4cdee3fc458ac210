/**
 * The leases of one client, or on Cluster of one master, that wait for replicas. Rounds follow each other on one
 * connection. A round writes the new leases, then sends one WAIT for them and for all that are still open. WAIT uses the
 * smallest number of replicas that any of them needs, so a lease that needs more replicas than exist delays no other.
 *
 * A WAIT that times out delays later leases, so the first one is short. Its time doubles while the replicas don't acknowledge:
 * otherwise a slow replica would never count while new leases keep coming.
 */
import type { RedisClient } from '@mortise/redis';
import { afterMicrotasks, perClient, TIMED_OUT, waitFor } from '@mortise/redis';
import { ReplicaLink } from './replica-link.js';

export interface Confirmation {
  /** The key of the lease. */
  readonly lease: string;
  readonly member: string;
  readonly leaseMs: number;
  readonly minReplicas: number;
  readonly replicasWaitMs: number;
}

export interface Acknowledgement {
  /** Number of replicas that have the lease; 0 if it could not be confirmed. */
  readonly acknowledged: number;
  /** By `performance.now()`: before the write that made the lease last for `leaseMs`. */
  readonly sentAt: number;
  /** Why it could not be confirmed, if known. */
  readonly cause?: unknown;
}

interface Pending extends Confirmation {
  readonly limitAt: number;
  readonly resolve: (reply: Acknowledgement) => void;
  sentAt: number;
}

const FIRST_WAIT_MS = 100;
/** The connection is dead if the reply of a WAIT exceeds its limit by more than this. */
const LATE_MS = 250;
/** How long an unused connection is kept. */
const IDLE_MS = 30_000;

export class Confirmations {
  static readonly of = /* @__PURE__ */ perClient((client) => new Confirmations(client));
  readonly #client: RedisClient;
  #link: ReplicaLink | undefined;
  #requested: Pending[] = [];
  #isRunning = false;
  #idle: NodeJS.Timeout | undefined;

  private constructor(client: RedisClient) {
    this.#client = client;
    client.on('end', () => this.#close());
  }

  /** Resolves when `minReplicas` replicas have the lease, or after `replicasWaitMs`. Never rejects. */
  async confirm(confirmation: Confirmation): Promise<Acknowledgement> {
    const { replicasWaitMs } = confirmation;
    const sentAt = performance.now();
    const limitAt = sentAt + replicasWaitMs;
    const acknowledged = new Promise<Acknowledgement>((resolve) => {
      this.#requested.push({ ...confirmation, limitAt, resolve, sentAt });
    });
    if (!this.#isRunning) {
      this.#isRunning = true;
      // Grants of one reply arrive one after another.
      afterMicrotasks(() => void this.#run());
    }
    const reply = await waitFor(acknowledged, { waitMs: replicasWaitMs + LATE_MS });
    if (reply !== TIMED_OUT) return reply;
    if (this.#link?.hasBeenReady) this.#close();
    return { acknowledged: 0, sentAt, cause: new Error('the server did not answer in time') };
  }

  async #run(): Promise<void> {
    clearTimeout(this.#idle);
    let open: Pending[] = [];
    let longestMs = FIRST_WAIT_MS;
    while (open.length + this.#requested.length > 0) {
      const requested = this.#requested.splice(0);
      try {
        const link = (this.#link ??= this.#open());
        await link.isReady;
        open.push(...(await confirmAll(link, requested)));
        if (open.length === 0) continue;
        const replicas = least(open, ({ minReplicas }) => minReplicas);
        const leftMs = Math.ceil(least(open, ({ limitAt }) => limitAt) - performance.now());
        // WAIT treats 0 as no limit.
        const acknowledged = await link.wait(replicas, Math.max(1, Math.min(leftMs, longestMs)));
        longestMs = acknowledged >= replicas ? FIRST_WAIT_MS : longestMs * 2;
        open = open.filter(({ minReplicas, limitAt, sentAt, resolve }) => {
          const isOpen = acknowledged < minReplicas && performance.now() < limitAt;
          if (!isOpen) resolve({ acknowledged, sentAt });
          return isOpen;
        });
      } catch (cause) {
        this.#close();
        for (const { sentAt, resolve } of [...open, ...requested])
          resolve({ acknowledged: 0, sentAt, cause });
        open = [];
      }
    }
    this.#isRunning = false;
    this.#idle = setTimeout(() => this.#close(), IDLE_MS).unref();
  }

  #open(): ReplicaLink {
    return new ReplicaLink(this.#client, (ended) => {
      if (this.#link === ended) this.#link = undefined;
    });
  }

  #close(): void {
    const link = this.#link;
    this.#link = undefined;
    link?.close();
  }
}

/** Writes the leases with remaining time, in parallel. Resolves to those that are still held. */
async function confirmAll(link: ReplicaLink, requested: readonly Pending[]): Promise<Pending[]> {
  const held = await Promise.all(
    requested.map(async (pending) => {
      const { lease, member, leaseMs, limitAt, resolve } = pending;
      let cause: unknown = new Error('the connection for replicas was not ready in time');
      if (performance.now() < limitAt) {
        pending.sentAt = performance.now();
        try {
          if (await link.confirm(lease, member, leaseMs)) return pending;
          cause = new Error('the lock was lost before its lease was confirmed');
        } catch (error) {
          cause = error;
        }
      }
      resolve({ acknowledged: 0, sentAt: pending.sentAt, cause });
      return undefined;
    }),
  );
  return held.filter((pending) => pending !== undefined);
}

function least(all: readonly Pending[], of: (pending: Pending) => number): number {
  return all.reduce((smallest, pending) => Math.min(smallest, of(pending)), Infinity);
}

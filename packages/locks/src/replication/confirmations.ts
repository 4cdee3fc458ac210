/**
 * All leases of one client, or on Cluster of one master, that wait for replicas. Rounds follow each other on one connection: the leases that were
 * asked for meanwhile are confirmed by a write each, then one WAIT covers them and all that are still open. WAIT asks for the
 * fewest replicas that any of them wants, so nobody is held up by one that wants more than there are.
 *
 * A WAIT in vain holds up those who come meanwhile, so it begins short. It doubles as long as replicas don't follow,
 * or else one whose answers take longer than that would never count while new leases keep coming.
 */
import type { RedisClient } from '@mortise/redis';
import { afterMicrotasks } from '@mortise/redis';
import { perClient } from '../waiting/per-client.js';
import { TIMED_OUT, within } from '../waiting/within.js';
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
  /** How many replicas have the lease; 0 if it could not be confirmed. */
  readonly acknowledged: number;
  /** On the clock of `performance.now()`: before the lease was lengthened to `leaseMs`. */
  readonly sentAt: number;
  /** Why it could not be confirmed, if that is known. */
  readonly cause?: unknown;
}

interface Pending extends Confirmation {
  readonly limitAt: number;
  readonly settle: (reply: Acknowledgement) => void;
  sentAt: number;
}

const FIRST_WAIT_MS = 100;
/** How much later than its limit a WAIT may be answered: then the connection is taken for dead. */
const LATE_MS = 250;
/** How long the connection is kept for the next lease. */
const IDLE_MS = 30_000;

export class Confirmations {
  static readonly of = perClient((client) => new Confirmations(client));
  readonly #client: RedisClient;
  #link: ReplicaLink | undefined;
  #asked: Pending[] = [];
  #isRunning = false;
  #idle: NodeJS.Timeout | undefined;

  private constructor(client: RedisClient) {
    this.#client = client;
    client.on('end', () => this.#close());
  }

  /** Resolves when so many replicas have the lease, or after `replicasWaitMs`. Never rejects. */
  async confirm(confirmation: Confirmation): Promise<Acknowledgement> {
    const { replicasWaitMs } = confirmation;
    const sentAt = performance.now();
    const limitAt = sentAt + replicasWaitMs;
    const settled = new Promise<Acknowledgement>((settle) => {
      this.#asked.push({ ...confirmation, limitAt, settle, sentAt });
    });
    if (!this.#isRunning) {
      this.#isRunning = true;
      // Grants of one reply are told one after the other.
      afterMicrotasks(() => void this.#run());
    }
    let reply = await within(settled, replicasWaitMs + LATE_MS, undefined);
    // After a blocked event loop timers come first: an answer that has arrived meanwhile is let in.
    if (reply === TIMED_OUT) reply = await Promise.race([settled, afterIo()]);
    if (reply !== TIMED_OUT) return reply;
    if (this.#link?.hasBeenReady) this.#close();
    return { acknowledged: 0, sentAt, cause: new Error('the server did not answer in time') };
  }

  async #run(): Promise<void> {
    clearTimeout(this.#idle);
    let open: Pending[] = [];
    let longestMs = FIRST_WAIT_MS;
    while (open.length + this.#asked.length > 0) {
      const asked = this.#asked.splice(0);
      try {
        const link = (this.#link ??= this.#open());
        await link.isReady;
        open.push(...(await confirmAll(link, asked)));
        if (open.length === 0) continue;
        const replicas = least(open, ({ minReplicas }) => minReplicas);
        const leftMs = Math.ceil(least(open, ({ limitAt }) => limitAt) - performance.now());
        // 0 would mean for ever.
        const acknowledged = await link.wait(replicas, Math.max(1, Math.min(leftMs, longestMs)));
        longestMs = acknowledged >= replicas ? FIRST_WAIT_MS : longestMs * 2;
        open = open.filter(({ minReplicas, limitAt, sentAt, settle }) => {
          const isOpen = acknowledged < minReplicas && performance.now() < limitAt;
          if (!isOpen) settle({ acknowledged, sentAt });
          return isOpen;
        });
      } catch (cause) {
        this.#close();
        for (const { sentAt, settle } of [...open, ...asked]) settle({ acknowledged: 0, sentAt, cause });
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

/** Writes the leases of those who still have time; resolves to the ones that are held. All are sent at once. */
async function confirmAll(link: ReplicaLink, asked: readonly Pending[]): Promise<Pending[]> {
  const held = await Promise.all(
    asked.map(async (pending) => {
      const { lease, member, leaseMs, limitAt, settle } = pending;
      let cause: unknown = new Error('the connection for replicas was not there in time');
      if (performance.now() < limitAt) {
        pending.sentAt = performance.now();
        try {
          if (await link.confirm(lease, member, leaseMs)) return pending;
          cause = new Error('the lock was lost before its lease was confirmed');
        } catch (error) {
          cause = error;
        }
      }
      settle({ acknowledged: 0, sentAt: pending.sentAt, cause });
      return undefined;
    }),
  );
  return held.filter((pending) => pending !== undefined);
}

async function afterIo(): Promise<typeof TIMED_OUT> {
  await new Promise((resolve) => setImmediate(resolve));
  return TIMED_OUT;
}

function least(all: readonly Pending[], of: (pending: Pending) => number): number {
  return all.reduce((smallest, pending) => Math.min(smallest, of(pending)), Infinity);
}

/**
 * Requests all locks of a MultiLock, in the order common to all MultiLocks. It joins the queue of the first lock that is
 * not free, and continues when that lock is granted. A lease keeps its locks in between. The request after a grant confirms
 * the grant, and extends the leases of the same group.
 */
import type { Grant, LockRequest, Step } from '../acquire/acquisition.js';
import type { AcquireMode, Gate } from '../acquire/gate.js';
import type { LockClient } from '../acquire/lock-client.js';
import { memberOf } from '../acquire/single-lock-request.js';
import { Lease } from '../lease/lease.js';
import type { LockTelemetry } from '../telemetry/lock-telemetry.js';
import type { MultiGate, NamedLock } from './multi-gate.js';

export interface MultiLockTerms {
  /** The common name in errors. */
  readonly name: string;
  readonly gate: MultiGate;
  readonly leaseMs: number;
  readonly isFair: boolean;
  readonly isFenced: boolean;
  /** Maximum time for which background renewals keep the lease. */
  readonly renewForMs: number;
  readonly owner: string | undefined;
  readonly telemetry: LockTelemetry | undefined;
}

/** All locks are held. */
export interface MultiLockGrant extends Grant {
  /** One for each lock. */
  readonly tokens: readonly number[];
}

/**
 * The ends of one grant's leases may differ by this part of a lease; otherwise they are renewed before the caller gets the
 * grant.
 */
const MAX_SPREAD = 0.1;

export class MultiLockRequest implements LockRequest<MultiLockGrant> {
  readonly id: string;
  readonly member: string;
  readonly quarantineMs: number;
  readonly #terms: MultiLockTerms;
  readonly #mode: AcquireMode;
  readonly #waits: boolean;
  /** The locks of the next script call, from `#start` on. */
  #group: readonly NamedLock[];
  #start = 0;
  /** The token and the end of the lease of each held lock. */
  readonly #tokens: number[] = [];
  readonly #ends: number[] = [];
  /** Number of locks, from the first, that may be held or waited for. */
  #touched = 0;
  #waitsFor: string;

  constructor(client: LockClient, terms: MultiLockTerms, waits: boolean) {
    this.id = client.nextId(terms.owner);
    this.member = memberOf(client, this.id, terms);
    this.quarantineMs = terms.isFenced ? terms.leaseMs : 0;
    this.#terms = terms;
    this.#waits = waits;
    this.#mode = waits ? (terms.isFair ? 'wait' : 'barge') : terms.isFair ? 'try' : 'grab';
    this.#group = terms.gate.groupAt(0);
    this.#waitsFor = this.#group[0]!.name;
  }

  get waitsFor(): string {
    return this.#waitsFor;
  }

  /** The tokens of the held locks. */
  get tokens(): readonly number[] {
    return this.#tokens;
  }

  get gates(): readonly Gate[] {
    return this.#group.slice(this.#held).map(({ gate }) => gate);
  }

  /** Number of held locks of the group. */
  get #held(): number {
    return this.#ends.length - this.#start;
  }

  async send(): Promise<Step<MultiLockGrant>> {
    const { gate, leaseMs, isFenced } = this.#terms;
    const { member } = this;
    this.#touched = this.#start + this.#group.length;
    const reply = await gate.take({
      locks: this.#group,
      member,
      leaseMs,
      mode: this.#mode,
      isFenced,
      held: this.#held,
    });
    // The group was too large for this server, which did nothing.
    if (!reply) return this.#continueAt(this.#start);
    const { outcome, taken, place, remainingMs, tokens, sentAt, serverUs } = reply;
    if (outcome === 'lost') return { outcome };
    if (outcome !== 'refused') {
      this.#tokens.splice(this.#start, Infinity, ...tokens);
      this.#ends.splice(this.#start, Infinity, ...tokens.map(() => sentAt + leaseMs));
    }
    if (outcome === 'held') return this.#continueAt(this.#start + this.#group.length);
    this.#touched = this.#start + (outcome === 'queued' ? taken + 1 : 0);
    const next = this.#group[taken]!;
    this.#waitsFor = next.name;
    return {
      outcome,
      gate: next.gate,
      reply: { outcome, value: place, remainingMs, sentAt, serverUs },
    };
  }

  /** A message grants or frees a lock. The next request confirms it, and takes the following locks. */
  granted(): undefined {
    return undefined;
  }

  /** A lease on the held locks, which ends without releasing them. */
  keepHeld(onLost: () => void): { end(): Promise<void> } | undefined {
    const { name, gate, leaseMs, isFair } = this.#terms;
    const count = this.#ends.length;
    if (count === 0) return undefined;
    const held = {
      renew: (_: unknown, termMs: number) => gate.renew(this, termMs, count),
      release: () => Promise.resolve(true),
    };
    const terms = { name, gate: held, leaseMs, isFair, renewForMs: Infinity, telemetry: undefined };
    const lease = new Lease(terms, this.#grant());
    if (lease.signal.aborted) onLost();
    lease.signal.addEventListener('abort', onLost, { once: true });
    return {
      end: async () => {
        this.#extend(lease.expiresAt);
        await lease.release();
      },
    };
  }

  async giveBack(): Promise<void> {
    const { gate, isFair } = this.#terms;
    if (this.#touched === 0) return;
    await gate.release({ member: this.member, tokens: undefined }, isFair, this.#touched);
  }

  /** Continues with the group at `start`; after the last group all locks are held. */
  async #continueAt(start: number): Promise<Step<MultiLockGrant>> {
    const { gate, leaseMs } = this.#terms;
    this.#start = start;
    if (start < gate.locks.length) {
      this.#group = gate.groupAt(start);
      return { outcome: 'next' };
    }
    if (this.#waits && Math.max(...this.#ends) - this.#endsAt > leaseMs * MAX_SPREAD) {
      const { isHeld, sentAt } = await gate.renew(this, leaseMs);
      if (!isHeld) return { outcome: 'lost' };
      this.#extend(sentAt + leaseMs);
    }
    return { outcome: 'held', grant: { ...this.#grant(), tokens: this.#tokens } };
  }

  #grant(): Grant {
    const { leaseMs } = this.#terms;
    const fencingToken = Math.max(...this.#tokens);
    return { member: this.member, fencingToken, startsAt: this.#endsAt - leaseMs, termMs: leaseMs };
  }

  /** When the first lease ends. */
  get #endsAt(): number {
    return Math.min(...this.#ends);
  }

  #extend(endsAt: number): void {
    for (const [index, known] of this.#ends.entries()) this.#ends[index] = Math.max(known, endsAt);
  }
}

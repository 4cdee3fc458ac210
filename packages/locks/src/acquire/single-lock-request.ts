import type { Grant, LockRequest, Step } from './acquisition.js';
import { CONFIRM_MS } from './acquisition.js';
import type { AcquireMode, Gate } from './gate.js';
import type { LockClient } from './lock-client.js';

export interface LockTerms {
  readonly name: string;
  readonly gate: Gate;
  readonly leaseMs: number;
  readonly isFair: boolean;
  readonly isFenced: boolean;
  /** The label of its holders. */
  readonly owner: string | undefined;
  /** The role of the caller, for a lock that can be held in several ways. */
  readonly role?: string;
}

/** The id of an acquisition in Redis. See `AcquireRequest`. */
export function memberOf(
  client: LockClient,
  id: string,
  { leaseMs, role }: Pick<LockTerms, 'leaseMs' | 'role'>,
): string {
  const member = `${client.id}.${id}.${Math.min(leaseMs, CONFIRM_MS)}`;
  return role === undefined ? member : `${member}.${role}`;
}

/** The request of one lock. */
export class SingleLockRequest implements LockRequest<Grant> {
  readonly id: string;
  readonly member: string;
  readonly quarantineMs: number;
  readonly gates: readonly [Gate];
  readonly #terms: LockTerms;
  readonly #mode: AcquireMode;
  /** Whether Redis may know the member. */
  #isKnown = false;

  constructor(client: LockClient, terms: LockTerms, waits: boolean) {
    this.id = client.nextId(terms.owner);
    this.member = memberOf(client, this.id, terms);
    this.quarantineMs = terms.isFenced ? terms.leaseMs : 0;
    this.gates = [terms.gate];
    this.#terms = terms;
    this.#mode = waits ? (terms.isFair ? 'wait' : 'barge') : terms.isFair ? 'try' : 'grab';
  }

  get waitsFor(): string {
    return this.#terms.name;
  }

  async send(): Promise<Step<Grant>> {
    const { gate, leaseMs, isFenced } = this.#terms;
    const { member } = this;
    this.#isKnown = true;
    const reply = await gate.acquire({ member, leaseMs, mode: this.#mode, isFenced });
    const { outcome, value, sentAt } = reply;
    if (outcome === 'held') return { outcome, grant: this.#grant(value, sentAt, leaseMs) };
    this.#isKnown = outcome === 'queued';
    return { outcome, gate, reply };
  }

  /**
   * A grant that took half of its time to arrive may expire before its confirmation: then the caller requests the lock
   * again.
   */
  granted(fencingToken: number, startsAt: number): Grant | undefined {
    const termMs = Math.min(this.#terms.leaseMs, CONFIRM_MS);
    return performance.now() < startsAt + termMs / 2
      ? this.#grant(fencingToken, startsAt, termMs)
      : undefined;
  }

  async giveBack(): Promise<void> {
    const { gate, isFair } = this.#terms;
    if (this.#isKnown) await gate.release({ member: this.member, fencingToken: 0 }, isFair);
  }

  #grant(fencingToken: number, startsAt: number, termMs: number): Grant {
    const { member } = this;
    return { member, fencingToken: this.#terms.isFenced ? fencingToken : 0, startsAt, termMs };
  }
}

/**
 * One caller's way to all locks of a multi-lock: it takes them in the order that everybody keeps to, queues at the
 * first that is not free, and goes on when that was granted. What it has already is kept alive meanwhile. The ask that
 * follows a grant confirms it, and lengthens what was taken before in the same group.
 */
import type { Waiter } from '@mortise/redis';
import { Lease } from '../lease.js';
import { drop, keep } from '../waiting/alive.js';
import type { Contender } from '../waiting/contender.js';
import type { Grant } from '../waiting/turn.js';
import { memberOf } from '../waiting/turn.js';
import type { Queued, WaitLine } from '../waiting/wait-line.js';
import type { MultiGate, Part, TakeReply } from './multi-gate.js';

export interface MultiTerms {
  /** What the whole is called in errors. */
  readonly name: string;
  readonly gate: MultiGate;
  readonly leaseMs: number;
  readonly isFair: boolean;
  readonly isFenced: boolean;
  /** How long background renewals keep the lease. */
  readonly keepMs: number;
}

/** All locks are held. */
export interface MultiGrant extends Grant {
  /** One for each part. */
  readonly tokens: readonly number[];
}

/** A group that has waited for others for more than this part of its lease is renewed before the caller gets it. */
const OLD_PART = 0.1;

export class MultiTurn implements Queued {
  readonly member: string;
  readonly quarantineMs: number;
  /** Null when a lock was lost before all were held. Ends in any way after `leave`. */
  readonly granted: Promise<MultiGrant | null>;
  readonly #id: string;
  readonly #contender: Contender;
  readonly #terms: MultiTerms;
  readonly #tokens: number[] = [];
  /** When the lease of each part that is held ends. */
  readonly #ends: number[] = [];
  readonly #seats = new Map<Part, Waiter>();
  #next: Part;
  #place = 0;
  #line: WaitLine | undefined;
  #sent: Promise<unknown> | undefined;
  /** How many of the first parts may be held or waited for. */
  #touched = 0;
  #hasLeft = false;

  constructor(contender: Contender, terms: MultiTerms) {
    this.#contender = contender;
    this.#terms = terms;
    this.#id = contender.nextTurn();
    this.#next = terms.gate.parts[0]!;
    this.member = memberOf(contender, this.#id, terms);
    this.quarantineMs = terms.isFenced ? terms.leaseMs : 0;
    this.granted = this.#run();
  }

  /** Of the parts that are held. */
  get tokens(): readonly number[] {
    return this.#tokens;
  }

  get place(): number {
    return this.#place;
  }

  /** The name that is waited for. */
  get waitsFor(): string {
    return this.#next.name;
  }

  /** Why the state of the queue could not be looked at lately, if it could not. */
  get failure(): unknown {
    return this.#line?.failure;
  }

  deliver(body: Buffer): void {
    this.#seats.get(this.#next)?.deliver(body);
  }

  /** Gives up: gives back what was taken, and leaves the queue. Sends that once nothing is in flight. */
  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#standUp();
    if (this.#sent) void this.#giveBack(this.#sent);
  }

  async #run(): Promise<MultiGrant | null> {
    keep(this.member);
    try {
      return await this.#takeAll();
    } finally {
      drop(this.member);
    }
  }

  async #takeAll(): Promise<MultiGrant | null> {
    const { gate, leaseMs } = this.#terms;
    let start = 0;
    while (start < gate.parts.length) {
      const group = gate.groupAt(start);
      const reply = await this.#take(group, start);
      if (this.#hasLeft || reply?.outcome === 'lost') return null;
      if (!reply) continue;
      if (reply.outcome === 'held') {
        start += group.length;
      } else {
        this.#next = group[reply.taken]!;
        if (!(await this.#wait(reply))) return null;
      }
    }
    if (Math.max(...this.#ends) - this.#endsAt > leaseMs * OLD_PART) {
      const renewal = gate.renew(this, leaseMs);
      this.#sent = renewal;
      const { isHeld, sentAt } = await renewal;
      if (!isHeld) return null;
      this.#lengthen(sentAt + leaseMs);
    }
    return { ...this.#grant(), tokens: this.#tokens };
  }

  /** @returns undefined when the group was too large */
  async #take(group: readonly Part[], start: number): Promise<TakeReply | undefined> {
    const { gate, leaseMs, isFair, isFenced } = this.#terms;
    const held = this.#ends.length - start;
    try {
      // Whoever releases one that is not free finds us listening, if that costs nothing.
      for (const part of group.slice(held)) {
        const seat = this.#contender.openLine(part.gate)?.seat(this.#id);
        if (seat) this.#seats.set(part, await seat);
      }
      if (this.#hasLeft) {
        this.#standUp();
        return undefined;
      }
      const mode = isFair ? 'wait' : 'barge';
      const sent = gate.take({ parts: group, member: this.member, leaseMs, mode, isFenced, held });
      this.#sent = sent;
      this.#touched = start + group.length;
      const reply = await sent;
      if (reply?.outcome === 'held' || reply?.outcome === 'queued') {
        const endsAt = reply.sentAt + leaseMs;
        this.#tokens.splice(start, Infinity, ...reply.tokens);
        this.#ends.splice(start, Infinity, ...reply.tokens.map(() => endsAt));
        this.#touched = start + reply.taken + (reply.outcome === 'queued' ? 1 : 0);
      }
      if (reply?.outcome !== 'queued') this.#standUp();
      return reply;
    } catch (error) {
      this.#standUp();
      throw error;
    }
  }

  /** Resolves to false when the wait has no point any more: what was taken is lost, or the caller has left. */
  async #wait(reply: TakeReply): Promise<boolean> {
    const part = this.#next;
    const line = this.#contender.line(part.gate);
    this.#line = line;
    this.#place = reply.place;
    line.enter(this, { ...reply, outcome: 'queued', value: reply.place });
    const keeper = this.#keep();
    try {
      let seat = this.#seats.get(part);
      if (!seat) {
        seat = await line.seat(this.#id);
        this.#seats.set(part, seat);
        line.recheckSoon();
      } else if (reply.remainingMs < 0) {
        line.recheckSoon();
      }
      if (this.#hasLeft || keeper?.signal.aborted) return false;
      keeper?.signal.addEventListener('abort', () => seat.close(), { once: true });
      for (;;) {
        const wake = await seat.next();
        if (wake.type === 'timeout') return false;
        // After an interruption the line re-checks, for all who wait.
        if (wake.type === 'message') return true;
      }
    } finally {
      line.exit(this);
      this.#standUp();
      if (keeper) {
        this.#lengthen(keeper.expiresAt);
        await keeper.release();
      }
    }
  }

  /** A lease on what was taken, while the rest is waited for. Its release sends nothing. */
  #keep(): Lease | undefined {
    const { name, gate, leaseMs, isFair } = this.#terms;
    const count = this.#ends.length;
    if (count === 0) return undefined;
    const parts = {
      renew: (_: unknown, termMs: number) => gate.renew(this, termMs, count),
      release: () => Promise.resolve(true),
    };
    return new Lease({ name, gate: parts, leaseMs, isFair, keepMs: Infinity }, this.#grant());
  }

  /** What is held, for as long as all of it is. */
  #grant(): Grant {
    const { leaseMs } = this.#terms;
    const fencingToken = Math.max(...this.#tokens);
    return { member: this.member, fencingToken, startsAt: this.#endsAt - leaseMs, termMs: leaseMs };
  }

  get #endsAt(): number {
    return Math.min(...this.#ends);
  }

  #lengthen(endsAt: number): void {
    for (const [index, known] of this.#ends.entries()) this.#ends[index] = Math.max(known, endsAt);
  }

  #standUp(): void {
    for (const seat of this.#seats.values()) seat.close();
    this.#seats.clear();
  }

  async #giveBack(sent: Promise<unknown>): Promise<void> {
    const { gate, isFair } = this.#terms;
    try {
      await sent;
    } catch {
      // The command may have been carried out all the same.
    }
    try {
      await gate.release({ member: this.member, tokens: undefined }, isFair, this.#touched);
    } catch {
      // Without a connection nothing can be given back: claims and leases run out by themselves.
    }
  }
}

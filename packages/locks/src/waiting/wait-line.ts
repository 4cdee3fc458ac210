/**
 * Those who wait for one lock in one process: their shared subscription, and the re-check that repairs what a lost
 * message, a lost queue or a dead holder left behind. Pub/sub is at-most-once, so without a re-check one lost grant
 * costs its waiter the whole wait (a prototype without one left 9 of 9 waiters hanging after FLUSHALL). One re-check
 * stands for all waiters of the process, at most one a second is sent, and none while everybody gets its turn in time.
 */
import type { Waiter, WaiterHub } from '@mortise/redis';
import { STRAYS } from '@mortise/redis';
import { isAlive } from './alive.js';
import type { AcquireReply, Gate, Moment, Waiting } from './gate.js';
import { MAX_BATCH } from './gate.js';
import { Timetable } from './timetable.js';

/** One that waits, in the eyes of its line. */
export interface Queued extends Waiting {
  /** How long a holder that Redis has forgotten may still be there, as far as this waiter knows, ms. */
  readonly quarantineMs: number;
  /** Takes a grant that did not arrive as a message. */
  deliver(body: Buffer): void;
}

/**
 * The time between two re-checks of a line, but for those that follow a subscription, and for one right after the end of
 * a lease, which finds a lock that nobody gave back. When that finds a longer lease, the next comes this much later.
 */
const RECHECK_MS = 1_000;
/** A lease that ends within this is waited for. */
const NEAR_END_MS = 1_500;
/** Keeps the re-checks of many processes apart. */
const JITTER_MS = 100;
const SLACK_MS = 5;
/** A line without waiters stays subscribed for so long: then contention goes on without further commands. */
const LINGER_MS = 20_000;

const rechecks = new Timetable(SLACK_MS);

export class WaitLine {
  #gate: Gate;
  readonly #contender: string;
  readonly #hub: WaiterHub;
  readonly #onClose: () => void;
  readonly #queued = new Map<string, { readonly queued: Queued; readonly recheckAt: number }>();
  readonly #tend = (): void => this.#onDue();
  #presence: Waiter | undefined;
  #moment: Moment = { sentAt: 0, serverUs: 0 };
  #emptyAt = 0;
  /** When the next re-check may be sent, after the last one. */
  #nextAt = 0;
  #recheckedAt = -Infinity;
  #isClosed = false;
  #isRechecking = false;
  #isRecheckWanted = false;
  #failure: unknown;

  constructor(gate: Gate, contender: string, hub: WaiterHub, onClose: () => void) {
    this.#gate = gate;
    this.#contender = contender;
    this.#hub = hub;
    this.#onClose = onClose;
    void this.#attend();
  }

  /** The member with the first place. */
  get first(): string | undefined {
    let first: Queued | undefined;
    for (const { queued } of this.#queued.values()) if (!first || queued.place < first.place) first = queued;
    return first?.member;
  }

  /** What the last re-check failed with, if it failed. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Goes on with another gate to the same lock, which knows more of it. */
  use(gate: Gate): void {
    this.#gate = gate;
  }

  /** A place on the channel. Resolves when what is published to `id` will be seen. */
  seat(id: string): Promise<Waiter> {
    return this.#hub.waiter(this.#gate.channels + this.#contender, id);
  }

  enter(queued: Queued, { sentAt, serverUs, remainingMs }: AcquireReply): void {
    this.#moment = { sentAt, serverUs };
    const recheckAt = performance.now() + pauseMs(remainingMs);
    this.#queued.set(queued.member, { queued, recheckAt });
    if (this.#queued.size === 1) rechecks.set(this.#tend, Math.max(recheckAt, this.#nextAt));
  }

  exit(queued: Queued): void {
    if (this.#queued.delete(queued.member) && this.#queued.size === 0) this.#emptyAt = performance.now();
  }

  /** Re-checks without waiting for the next time. Calls of one tick are one re-check. */
  recheckSoon(): void {
    this.#isRecheckWanted = true;
    if (!this.#isRechecking) rechecks.set(this.#tend, 0);
  }

  /**
   * The instant here that an instant of the server certainly does not precede. It is too early by as much as the
   * reply of the last command took, which shortens a lease, never lengthens it.
   */
  localTime(serverUs: number): number {
    const { sentAt, serverUs: knownUs } = this.#moment;
    return Math.min(performance.now(), sentAt + (serverUs - knownUs) / 1_000);
  }

  /** Holds the subscription while the line lives, and re-checks when it was interrupted. */
  async #attend(): Promise<void> {
    try {
      const presence = await this.seat(STRAYS);
      this.#presence = presence;
      for (;;) {
        const wake = await presence.next();
        if (wake.type === 'timeout') return;
        if (wake.type === 'resync') this.recheckSoon();
        else void this.#giveBack(wake.body.toString());
      }
    } catch {
      // Each waiter hears of it itself: its own place is on the same channel.
    } finally {
      this.#presence = undefined;
      this.#isClosed = true;
      rechecks.delete(this.#tend);
      this.#onClose();
    }
  }

  /**
   * What was granted to somebody who has gone goes to the next at once. After a failover that has lost the last commands
   * the queue is full of those whose turn is over; each of them would cost a claim.
   */
  async #giveBack(message: string): Promise<void> {
    const [turn, token, , rest] = message.split(':');
    const member = `${this.#contender}.${turn}.${rest}`;
    if (rest === undefined || isAlive(member)) return;
    try {
      await this.#gate.release({ member, fencingToken: 0 }, true);
    } catch {
      // The claim runs out by itself.
    }
    // It was only woken, and now it has left the queue: so whoever is first has to be.
    if (token === '') this.recheckSoon();
  }

  #onDue(): void {
    const [oldest] = this.#queued.values();
    const now = performance.now();
    if (!oldest) {
      this.#isRecheckWanted = false;
      if (now >= this.#emptyAt + LINGER_MS && this.#presence) this.#presence.close();
      else if (!this.#isClosed) rechecks.set(this.#tend, now + LINGER_MS);
      return;
    }
    const dueAt = this.#isRecheckWanted ? now : Math.max(oldest.recheckAt, this.#nextAt);
    if (dueAt > now + SLACK_MS) rechecks.set(this.#tend, dueAt);
    else void this.#recheck();
  }

  async #recheck(): Promise<void> {
    if (this.#isRechecking) return;
    this.#isRechecking = true;
    const sentAt = performance.now();
    const isEarly = !this.#isRecheckWanted && sentAt < this.#recheckedAt + RECHECK_MS;
    this.#recheckedAt = sentAt;
    this.#isRecheckWanted = false;
    let remainingMs = RECHECK_MS;
    try {
      remainingMs = await this.#send();
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error;
    }
    this.#isRechecking = false;
    this.#nextAt = performance.now() + pauseMs(isEarly ? RECHECK_MS : remainingMs);
    rechecks.set(this.#tend, this.#isRecheckWanted ? 0 : this.#nextAt);
  }

  /**
   * The first waiters of the line are enough: only those at the head can be dropped from the queue one by one. If
   * one was missing, the queue may be lost, and all are looked at.
   */
  async #send(): Promise<number> {
    const all = Array.from(this.#queued.values(), ({ queued }) => queued);
    const quarantineMs = Math.max(0, ...all.map((queued) => queued.quarantineMs));
    let remainingMs = 0;
    for (let from = 0; from < all.length; from += MAX_BATCH) {
      // Who has left by now must not be put back.
      const batch = all.slice(from, from + MAX_BATCH).filter(({ member }) => this.#queued.has(member));
      const reply = await this.#gate.recheck(batch, quarantineMs);
      this.#moment = reply;
      remainingMs = reply.remainingMs;
      for (const { index, fencingToken } of reply.grants) {
        batch[index]!.deliver(Buffer.from(`${fencingToken}:${reply.serverUs}`));
      }
      for (const { index, detail } of reply.refusals ?? []) batch[index]!.deliver(Buffer.from(`!${detail}`));
      if (reply.missing === 0) break;
      // A re-check that the server had to be taught (NOSCRIPT) may run after the release of one that it names.
      const gone = batch.map(({ member }) => member).filter((member) => !this.#queued.has(member));
      if (gone.length > 0) await this.#gate.forget(gone);
    }
    return remainingMs;
  }
}

function pauseMs(remainingMs: number): number {
  const ms = remainingMs > NEAR_END_MS ? RECHECK_MS : Math.max(0, remainingMs);
  return ms + Math.random() * JITTER_MS;
}

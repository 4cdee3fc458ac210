/**
 * The waiters of one lock in this process. They share a subscription and a re-check, which repairs a lost message, a
 * lost queue, or a lock whose holder died. Pub/sub is at-most-once: without a re-check, one lost grant costs its waiter
 * the whole wait. In a prototype without one, 9 of 9 waiters waited forever after FLUSHALL. A process sends at most one
 * re-check a second for each lock, and none while every waiter is granted the lock in time. Mutexes that may share a script
 * call share their re-checks: a thousand mutexes on a single node cost ten commands a second.
 */
import type { Waiter, WaiterHub } from '@mortise/redis';
import { ServerClock, UNDELIVERED } from '@mortise/redis';
import { SharedTimer } from '../shared-timer.js';
import type { AcquireReply, Gate, QueueEntry } from './gate.js';
import { MAX_BATCH } from './gate.js';
import * as liveMembers from './live-members.js';

/** A waiter of this process. */
export interface QueuedWaiter extends QueueEntry {
  /** How long a holder that Redis has forgotten may still rely on the lock, ms, by the knowledge of this waiter. */
  readonly quarantineMs: number;
  /** Delivers a grant or a refusal that a re-check found. */
  deliver(body: Buffer): void;
}

/**
 * The time between two re-checks. Two come earlier: one after a subscription, and one at the end of a lease, which finds a
 * lock that was not released. If that one finds a longer lease, the next comes RECHECK_MS later.
 */
const RECHECK_MS = 1_000;
/** The queue waits for the end of a lease that ends within this time. */
const NEAR_END_MS = 1_500;
/** Re-checks of many locks are sent together, this often. */
const TICK_MS = 100;
/** Spreads the re-checks of many processes. */
const TICK_PHASE_MS = TICK_MS * Math.random();
const SLACK_MS = 5;
/** A queue without waiters stays subscribed for this long, so that the next waiter needs no SUBSCRIBE. */
const LINGER_MS = 20_000;

const rechecks = /* @__PURE__ */ new SharedTimer(SLACK_MS);

export class WaitQueue {
  #gate: Gate;
  readonly #clientId: string;
  readonly #hub: WaiterHub;
  readonly #onClose: () => void;
  readonly #waiters = new Map<string, { readonly waiter: QueuedWaiter; readonly recheckAt: number }>();
  readonly #onTimer = (): void => this.#onDue();
  /** Receives messages for acquisitions that have ended. */
  #strays: Waiter | undefined;
  readonly #clock = new ServerClock();
  #emptyAt = 0;
  /** When the next re-check may be sent, after the last one. */
  #nextAt = 0;
  #recheckedAt = -Infinity;
  #isClosed = false;
  #isRechecking = false;
  #isRecheckWanted = false;
  #failure: unknown;

  constructor(gate: Gate, clientId: string, hub: WaiterHub, onClose: () => void) {
    this.#gate = gate;
    this.#clientId = clientId;
    this.#hub = hub;
    this.#onClose = onClose;
    void this.#listen();
  }

  /** The member with the first place. */
  get first(): string | undefined {
    let first: QueuedWaiter | undefined;
    for (const { waiter } of this.#waiters.values()) if (!first || waiter.place < first.place) first = waiter;
    return first?.member;
  }

  /** The error of the last re-check, if it failed. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Replaces the gate by another one of the same lock, for example with a new limit. */
  use(gate: Gate): void {
    this.#gate = gate;
  }

  /** An inbox on the channel. Resolves when it receives messages for `id`. */
  inbox(id: string): Promise<Waiter> {
    return this.#hub.waiter(this.#gate.channels + this.#clientId, id);
  }

  enter(waiter: QueuedWaiter, { sentAt, serverUs, remainingMs }: AcquireReply): void {
    this.#clock.learn(sentAt, serverUs / 1_000);
    const recheckAt = nextTick(remainingMs);
    this.#waiters.set(waiter.member, { waiter, recheckAt });
    if (this.#waiters.size === 1) rechecks.set(this.#onTimer, Math.max(recheckAt, this.#nextAt));
  }

  exit(waiter: QueuedWaiter): void {
    if (this.#waiters.delete(waiter.member) && this.#waiters.size === 0) this.#emptyAt = performance.now();
  }

  /** Re-checks now. Calls of one tick share one re-check. */
  recheckSoon(): void {
    this.#isRecheckWanted = true;
    if (!this.#isRechecking) rechecks.set(this.#onTimer, 0);
  }

  /**
   * An instant of the server by this process's clock, never too late. It is early by at most a round trip and 1 ms, which
   * shortens a lease and never extends it.
   */
  localTime(serverUs: number): number {
    return Math.min(performance.now(), this.#clock.earliestLocal(serverUs / 1_000));
  }

  /** Keeps the subscription while the queue is open, and re-checks after an interruption. */
  async #listen(): Promise<void> {
    try {
      const strays = await this.inbox(UNDELIVERED);
      this.#strays = strays;
      for (;;) {
        const wake = await strays.next();
        if (wake.type === 'timeout') return;
        if (wake.type === 'resync') this.recheckSoon();
        else void this.#giveBack(wake.body.toString());
      }
    } catch {
      // Each waiter gets the same error from its own inbox on this channel.
    } finally {
      this.#strays = undefined;
      this.#isClosed = true;
      rechecks.delete(this.#onTimer);
      this.#onClose();
    }
  }

  /**
   * Passes on a grant of an ended acquisition. After a failover that lost the last commands, the queue is full of such
   * waiters, and each of them would cost the next one CONFIRM_MS.
   */
  async #giveBack(message: string): Promise<void> {
    const [id, token, , rest] = message.split(':');
    const member = `${this.#clientId}.${id}.${rest}`;
    if (rest === undefined || liveMembers.has(member)) return;
    try {
      await this.#gate.release({ member, fencingToken: 0 }, true);
    } catch {
      // The grant expires by itself.
    }
    // A message without a token grants nothing: it only woke this waiter, so another one must be woken.
    if (token === '') this.recheckSoon();
  }

  #onDue(): void {
    const [oldest] = this.#waiters.values();
    const now = performance.now();
    if (!oldest) {
      this.#isRecheckWanted = false;
      if (now >= this.#emptyAt + LINGER_MS && this.#strays) this.#strays.close();
      else if (!this.#isClosed) rechecks.set(this.#onTimer, now + LINGER_MS);
      return;
    }
    const dueAt = this.#isRecheckWanted ? now : Math.max(oldest.recheckAt, this.#nextAt);
    if (dueAt > now + SLACK_MS) rechecks.set(this.#onTimer, dueAt);
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
    this.#nextAt = nextTick(isEarly ? RECHECK_MS : remainingMs);
    rechecks.set(this.#onTimer, this.#isRecheckWanted ? 0 : this.#nextAt);
  }

  /**
   * Sends the first MAX_BATCH waiters: a script removes only waiters at the head of the queue. If one of them was
   * missing, the queue may be lost, so the others are sent as well.
   */
  async #send(): Promise<number> {
    const all = Array.from(this.#waiters.values(), ({ waiter }) => waiter);
    const quarantineMs = Math.max(0, ...all.map((waiter) => waiter.quarantineMs));
    let remainingMs = 0;
    for (let from = 0; from < all.length; from += MAX_BATCH) {
      // A waiter that has left must not be put back.
      const batch = all.slice(from, from + MAX_BATCH).filter(({ member }) => this.#waiters.has(member));
      const reply = await this.#gate.recheck(batch, quarantineMs);
      this.#clock.learn(reply.sentAt, reply.serverUs / 1_000);
      remainingMs = reply.remainingMs;
      for (const { index, fencingToken } of reply.grants) {
        batch[index]!.deliver(Buffer.from(`${fencingToken}:${reply.serverUs}`));
      }
      for (const { index, detail } of reply.refusals ?? []) batch[index]!.deliver(Buffer.from(`!${detail}`));
      if (reply.missing === 0) break;
      // After NOSCRIPT the client sends the re-check again: a release of one of its waiters may run before it.
      const gone = batch.map(({ member }) => member).filter((member) => !this.#waiters.has(member));
      if (gone.length > 0) await this.#gate.forget(gone);
    }
    return remainingMs;
  }
}

/** When to re-check a lock whose lease has that time left: at a tick of this process, by `performance.now()`. */
function nextTick(remainingMs: number): number {
  const ms = remainingMs > NEAR_END_MS ? RECHECK_MS : Math.max(0, remainingMs);
  const dueAt = performance.now() + ms - TICK_PHASE_MS;
  return Math.ceil(dueAt / TICK_MS) * TICK_MS + TICK_PHASE_MS;
}

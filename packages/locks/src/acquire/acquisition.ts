/**
 * How a caller gets a lock: it asks, waits in the queue, and is granted the lock by the release of its holder.
 *
 *   asking ──held──▶ granted
 *     │ ▲
 *  queued └──woken── waiting ──message──▶ granted
 *     └────────────────▲
 *
 * An acquisition asks before it subscribes, so a lock without contention costs no subscription. The first waiter of a
 * process therefore joins the queue without listening: a release that finds no listener drops it from the queue, and
 * the re-check after the subscription puts it back in its place. While the wait queue is open, an acquisition sends
 * one command.
 */
import type { Waiter } from '@mortise/redis';
import type { AcquireReply, Gate } from './gate.js';
import * as liveMembers from './live-members.js';
import type { LockClient } from './lock-client.js';
import type { QueuedWaiter, WaitQueue } from './wait-queue.js';

/** The lock is held from `startsAt`, on the clock of `performance.now()`, for `termMs`. */
export interface Grant {
  readonly member: string;
  readonly fencingToken: number;
  readonly startsAt: number;
  readonly termMs: number;
}

/** What one request to Redis came to. */
export type Step<G extends Grant> =
  | { readonly outcome: 'held'; readonly grant: G }
  /** The request belongs to several: send the next one. */
  | { readonly outcome: 'next' }
  /** A lock that was held before is lost: begin anew. */
  | { readonly outcome: 'lost' }
  | { readonly outcome: 'queued' | 'refused'; readonly gate: Gate; readonly reply: AcquireReply };

/** What an acquisition asks Redis for: one lock, or several as one. */
export interface LockRequest<G extends Grant> {
  /** Unique in its client. */
  readonly id: string;
  readonly member: string;
  /** The name of the lock that is in the way. */
  readonly waitsFor: string;
  /** See `QueuedWaiter`. */
  readonly quarantineMs: number;
  /** The locks whose queues the next `send` may join. */
  readonly gates: readonly Gate[];
  send(): Promise<Step<G>>;
  /** The grant that a message told. Undefined if the lock has to be asked for again. */
  granted(fencingToken: number, startsAt: number): G | undefined;
  /** Keeps what is held already while the acquisition waits for the next lock. */
  keepHeld?(onLost: () => void): { end(): Promise<void> } | undefined;
  /** Releases what the member may hold, and leaves the queues that it may have joined. */
  giveBack(): Promise<unknown>;
}

/** A granted waiter has to confirm its grant within this, by a first renewal. A dead waiter costs no more than this. */
export const CONFIRM_MS = 1_000;

export class Acquisition<G extends Grant> implements QueuedWaiter {
  /** Null: begin anew. Settles after `leave` in any case. */
  readonly granted: Promise<G | null>;
  readonly #client: LockClient;
  readonly #request: LockRequest<G>;
  readonly #inboxes = new Map<string, Waiter>();
  #place = 0;
  #queue: WaitQueue | undefined;
  /** The inbox on the channel of the lock that is waited for. */
  #inbox: Waiter | undefined;
  #sent: Promise<unknown> | undefined;
  #hasLeft = false;

  constructor(client: LockClient, request: LockRequest<G>) {
    this.#client = client;
    this.#request = request;
    this.granted = this.#run();
  }

  get member(): string {
    return this.#request.member;
  }

  get place(): number {
    return this.#place;
  }

  get quarantineMs(): number {
    return this.#request.quarantineMs;
  }

  get waitsFor(): string {
    return this.#request.waitsFor;
  }

  /** The error of the last re-check, if it failed. */
  get failure(): unknown {
    return this.#queue?.failure;
  }

  deliver(body: Buffer): void {
    this.#inbox?.deliver(body);
  }

  /** Gives up: leaves the queue and gives back a grant, as soon as no request is in flight. */
  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#stopListening();
    if (this.#sent) void this.#giveBack(this.#sent);
  }

  async #run(): Promise<G | null> {
    liveMembers.add(this.member);
    try {
      await this.#openInboxes();
      while (!this.#hasLeft) {
        const sent = this.#request.send();
        this.#sent = sent;
        const step = await sent;
        if (step.outcome === 'held') return step.grant;
        if (step.outcome === 'lost' || this.#hasLeft) break;
        if (step.outcome !== 'next') {
          const grant = await this.#wait(step.gate, step.reply);
          if (grant !== 'woken') return grant;
        }
        await this.#openInboxes();
      }
      return null;
    } finally {
      this.#stopListening();
      liveMembers.remove(this.member);
    }
  }

  /** Listens before it asks where that costs no command, so that a release finds a listener. */
  async #openInboxes(): Promise<void> {
    for (const gate of this.#request.gates) {
      if (this.#inboxes.has(gate.id)) continue;
      const queue = this.#client.openQueue(gate);
      if (queue) this.#inboxes.set(gate.id, await queue.inbox(this.#request.id));
    }
    if (this.#hasLeft) this.#stopListening();
  }

  async #wait(gate: Gate, reply: AcquireReply): Promise<G | null | 'woken'> {
    const queue = this.#client.queue(gate);
    this.#place = reply.value;
    this.#queue = queue;
    queue.enter(this, reply);
    let isLost = false;
    const kept = this.#request.keepHeld?.(() => {
      isLost = true;
      this.#inbox?.close();
    });
    try {
      let inbox = this.#inboxes.get(gate.id);
      if (!inbox) {
        inbox = await queue.inbox(this.#request.id);
        this.#inboxes.set(gate.id, inbox);
        queue.recheckSoon();
      } else if (reply.remainingMs < 0) {
        queue.recheckSoon();
      }
      if (isLost) return null;
      this.#inbox = inbox;
      return await this.#receive(queue, inbox);
    } finally {
      queue.exit(this);
      await kept?.end();
    }
  }

  /**
   * A message is `<token>:<µs of the server>:<rest of the member>`, or `!<why the waiter is refused>`. Without a token
   * it grants nothing: the lock is free for whoever asks first.
   */
  async #receive(queue: WaitQueue, inbox: Waiter): Promise<G | null | 'woken'> {
    while (!this.#hasLeft) {
      const wake = await inbox.next();
      if (wake.type === 'timeout') return null;
      // After an interruption the queue re-checks for all its waiters.
      if (wake.type === 'resync') continue;
      const body = wake.body.toString();
      if (body.startsWith('!')) throw this.#refusal(body.slice(1));
      const [fencingToken = 0, grantedUs = 0] = body.split(':', 2).map(Number);
      if (fencingToken === 0) return 'woken';
      return this.#request.granted(fencingToken, queue.localTime(grantedUs)) ?? 'woken';
    }
    return null;
  }

  #refusal(detail: string): Error {
    const [gate] = this.#request.gates;
    return gate?.refusal?.(detail) ?? new TypeError(`refused: ${detail}`);
  }

  #stopListening(): void {
    this.#queue?.exit(this);
    for (const inbox of this.#inboxes.values()) inbox.close();
    this.#inboxes.clear();
  }

  async #giveBack(sent: Promise<unknown>): Promise<void> {
    try {
      await sent;
    } catch {
      // Redis may have run the command all the same.
    }
    try {
      await this.#request.giveBack();
    } catch {
      // Without a connection nothing can be given back: the lease expires by itself.
    }
  }
}

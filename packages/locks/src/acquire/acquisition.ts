/**
 * The acquisition of a lock: request it, wait in the queue, and get it from the holder's release.
 *
 *   requesting ──held──▶ granted
 *     │ ▲
 * queued └──woken── waiting ──message──▶ granted
 *     └────────────────▲
 *
 * An acquisition sends its request before it subscribes, so a lock without contention costs no subscription. The first
 * waiter of a process therefore joins the queue without listening. A release that finds no listener drops it from the
 * queue. The re-check after the subscription puts it back in its place. While the wait queue is open, an acquisition sends
 * one command.
 */
import type { Waiter } from '@mortise/redis';
import type { AcquireReply, Gate } from './gate.js';
import * as liveMembers from './live-members.js';
import type { LockClient } from './lock-client.js';
import type { QueuedWaiter, WaitQueue } from './wait-queue.js';

/** A lock, held from `startsAt` (by `performance.now()`) for `termMs`. */
export interface Grant {
  readonly member: string;
  readonly fencingToken: number;
  readonly startsAt: number;
  readonly termMs: number;
}

/** The outcome of one request to Redis. */
export type Step<G extends Grant> =
  | { readonly outcome: 'held'; readonly grant: G }
  /** One of several requests is done: send the next one. */
  | { readonly outcome: 'next' }
  /** A lock that was already held is lost: start again. */
  | { readonly outcome: 'lost' }
  | { readonly outcome: 'queued' | 'refused'; readonly gate: Gate; readonly reply: AcquireReply };

/** The request of an acquisition: for one lock, or for several as one. */
export interface LockRequest<G extends Grant> {
  /** Unique within its client. */
  readonly id: string;
  readonly member: string;
  /** The name of the lock that blocks. */
  readonly waitsFor: string;
  /** See `QueuedWaiter`. */
  readonly quarantineMs: number;
  /** The locks whose queues the next `send` may join. */
  readonly gates: readonly Gate[];
  send(): Promise<Step<G>>;
  /** The grant in a message. Undefined if the lock must be requested again. */
  granted(fencingToken: number, startsAt: number): G | undefined;
  /** Keeps the locks that are already held while the acquisition waits for the next one. */
  keepHeld?(onLost: () => void): { end(): Promise<void> } | undefined;
  /** Releases the locks that the member may hold, and leaves the queues that it may have joined. */
  giveBack(): Promise<unknown>;
}

/** A granted waiter must confirm its grant within this time, by a first renewal. So a dead waiter costs no more than this. */
export const CONFIRM_MS = 1_000;

export class Acquisition<G extends Grant> implements QueuedWaiter {
  /** Null: start again. After `leave` it always ends. */
  readonly granted: Promise<G | null>;
  readonly #client: LockClient;
  readonly #request: LockRequest<G>;
  readonly #inboxes = new Map<string, Waiter>();
  #place = 0;
  #queue: WaitQueue | undefined;
  /** The inbox on the channel of the awaited lock. */
  #inbox: Waiter | undefined;
  #sent: Promise<unknown> | undefined;
  #hasLeft = false;
  #left: Promise<void> | undefined;

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

  /** The error of the last re-check, if it failed, or that of a client without a connection. */
  get failure(): unknown {
    return this.#queue?.failure ?? this.#client.failure;
  }

  deliver(body: Buffer): void {
    this.#inbox?.deliver(body);
  }

  /** Gives up: leaves the queue and returns a grant, as soon as no request is in flight. */
  leave(): Promise<void> {
    this.#left ??= this.#leave();
    return this.#left;
  }

  async #leave(): Promise<void> {
    this.#hasLeft = true;
    this.#stopListening();
    if (this.#sent) await this.#giveBack(this.#sent);
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

  /** Subscribes before the request where that costs no command, so that a release finds a listener. */
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
   * A message is `<token>:<µs of the server>:<rest of the member>`, or `!<reason of a refusal>`. Without a token it grants
   * nothing: the lock is free for the first request.
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
      // Redis may have run the command anyway.
    }
    try {
      await this.#request.giveBack();
    } catch {
      // Without a connection nothing can be given back: the lease expires.
    }
  }
}

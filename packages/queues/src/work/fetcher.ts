/**
 * Fetches the tasks of one shard and acks completions, both in one call of a script. Nothing else calls that script.
 *
 *   new ──start──► fetching ◄────────────────────────────────────────────┐
 *                   │    │ a reply brought fewer tasks than free slots    │ a message, the recheck, something
 *                   │    └──────────────────────────────────────► idle ───┤ falls due
 *                   └ a call failed ────────────────────────────► failing ┘ after a backoff
 *   these ──pause──► paused ──resume──► fetching, or failing during a backoff
 *   all ──stop──► leaving ──all is acked, or no time left──► stopped
 *
 *   fetching   The shard may hold tasks: calls are made while there is room for them.
 *   idle       The worker is registered at the server, and sends nothing.
 *   failing    The next call asks for no tasks, so no slots wait for it; other shards and queues get them.
 *   paused     No tasks are fetched. A registration is given up by the next call.
 *   leaving    As paused, until every completion is acked.
 *
 * Completions are acked in every state but `new` and `stopped`. All of one tick share a call, and up to `maxInFlight` calls are
 * under way, so that the server works on one while handlers run for the other. The registration, the recheck and the backoff
 * have states of their own, in their files.
 */
import type { ErrorReporter, RedisClient } from '@mortise/redis';
import { afterMicrotasks, isClosed, ServerClock } from '@mortise/redis';
import type { ResolvedWorkerOptions } from '../options.js';
import type { Shard } from '../shard/shard.js';
import type { Completer, PendingAck } from './completer.js';
import { GIVEN_BACK } from './completion.js';
import type { FetchReply, FetchedTask } from './fetch-and-ack.js';
import { fetchAndAck } from './fetch-and-ack.js';
import { FetchBackoff } from './fetch-backoff.js';
import type { HandOff } from './hand-off.js';
import { decodeHandOff } from './hand-off.js';
import { leaseEnd } from './lease-end.js';
import type { Maintainer } from './maintainer.js';
import { Recheck } from './recheck.js';
import type { RegistrationOptions } from './registration.js';
import { Registration } from './registration.js';
import type { Service } from './service.js';

/** Reserved room for the tasks of a call. */
export interface Room {
  readonly want: number;
  /** Tasks for which a slot is free. */
  readonly slots: number;
  readonly leaseMs: number;
}

/** Fetched tasks, and the room that was reserved for them, which is free again. */
export interface FetchedBatch<Reserved extends Room = Room> {
  readonly room: Reserved;
  readonly tasks: readonly FetchedTask[];
  /** By `performance.now()`; afterwards the leases may have ended. */
  readonly leaseEndsAt: number;
  /** The server's time, ms since the epoch; 0 if unknown. */
  readonly nowMs: number;
  /** Whether the shard has more tasks. */
  readonly hasMore: boolean;
}

/** The receiver of fetched tasks. Its methods must not throw. */
export interface Demand<Reserved extends Room = Room> {
  /** Reserves room for up to `most` tasks. `isHandOff`: for one task, which needs a free slot. */
  reserve(fetcher: Fetcher<Reserved>, most: number, isHandOff: boolean): Reserved;
  /** Takes the fetched tasks. Called once for each reservation. */
  receive(fetcher: Fetcher<Reserved>, batch: FetchedBatch<Reserved>): void;
  /** The settings of the shard have changed. */
  adapt?(fetcher: Fetcher<Reserved>): void;
  /** Called when a call has failed; it is repeated where that is safe. */
  failed?(error: unknown): void;
}

export interface FetcherOptions<Reserved extends Room> extends RegistrationOptions {
  readonly retention: Pick<ResolvedWorkerOptions, 'keepSucceeded' | 'keepSucceededMs' | 'keepDead'>;
  readonly maxInFlight: number;
  readonly demand: Demand<Reserved>;
  readonly completer: Completer;
  readonly maintainer: Maintainer;
  readonly reporter: ErrorReporter;
  /** Called when the settings of the shard have changed. */
  readonly onSettings?: (() => void) | undefined;
}

/** Tasks in one call: limits the time of the call in the server to about 3 ms. */
const MAX_FETCH = 500;

type State = 'new' | 'fetching' | 'idle' | 'failing' | 'paused' | 'leaving' | 'stopped';

export class Fetcher<Reserved extends Room = Room> implements Service {
  readonly queue: string;
  readonly shard: Shard;
  readonly #options: FetcherOptions<Reserved>;
  readonly #redis: RedisClient;
  readonly #clock = new ServerClock();
  readonly #registration: Registration;
  readonly #recheck: Recheck;
  readonly #backoff = new FetchBackoff(() => this.wake());
  #state: State = 'new';
  #isScheduled = false;
  #inFlight = 0;
  /** Number of calls without a reply for longer than a lease. */
  #overdue = 0;
  /** By `performance.now()`; see `silentMs`. */
  #answeredAt = 0;
  /** Counts wake-ups: one during a call may be newer than the reply. */
  #wakeUps = 0;
  /** The settings of the shard at the last reply. */
  #settings = '';
  /** Hand-offs that came while all slots were reserved. */
  readonly #handOffs: HandOff[] = [];
  #lastHandOff: number | undefined;
  #onAcked: (() => void) | undefined;

  constructor(options: FetcherOptions<Reserved>) {
    this.#options = options;
    this.shard = options.shard;
    this.queue = options.shard.queue;
    this.#redis = options.shard.redis;
    this.#registration = new Registration(options);
    this.#recheck = new Recheck(options.recheckMs, () => this.wake());
  }

  /** Whether the shard may hold tasks and answers; if so, later queues wait. */
  get hasWork(): boolean {
    return this.#state === 'fetching' && this.#overdue === 0;
  }

  /** How long it has had no reply and no error, although it may fetch tasks, ms. */
  get silentMs(): number {
    return this.#isAway ? 0 : performance.now() - this.#answeredAt;
  }

  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'fetching';
    this.#answeredAt = performance.now();
    this.schedule();
  }

  /** Fetches no tasks until `resume`. Idempotent. */
  pause(): void {
    if (this.#isAway) return;
    this.#state = 'paused';
    this.#recheck.clear();
    this.schedule();
  }

  resume(): void {
    if (this.#state !== 'paused') return;
    this.#state = this.#backoff.isWaiting ? 'failing' : 'fetching';
    this.#recheck.lookNext();
    this.wake();
  }

  /** Fetches no tasks from now on. Idempotent. */
  leave(): void {
    if (this.#state === 'leaving' || this.#state === 'stopped') return;
    this.#state = 'leaving';
    this.#recheck.clear();
    this.#backoff.clear();
    this.schedule();
  }

  /** Resolves when every completion is acked or the time is over; in the latter case leases expire. */
  async stop(withinMs: number): Promise<void> {
    if (this.#state !== 'new') {
      this.leave();
      await new Promise<void>((resolve) => {
        // A closed client sends nothing.
        const timer = setTimeout(resolve, isClosed(this.#redis) ? 0 : withinMs);
        this.#onAcked = () => {
          clearTimeout(timer);
          resolve();
        };
        this.schedule();
      });
    }
    this.#state = 'stopped';
    this.#recheck.clear();
    this.#backoff.clear();
  }

  /** The shard may hold new tasks. */
  wake(): void {
    this.#wakeUps += 1;
    if (this.#state === 'idle') this.#state = 'fetching';
    this.schedule();
  }

  /** There may be room again. */
  offer(): void {
    if (this.#state === 'fetching') this.schedule();
  }

  /** After maintenance. A full worker, which makes no call, then asks for the next one. */
  maintained(hasMore: boolean): void {
    if (hasMore) this.wake();
    else this.offer();
  }

  /**
   * Receives a task from a message. Without a free slot the task goes back, and the attempt does not count. A message that
   * comes twice is dropped.
   */
  handOff(body: Buffer): void {
    const handOff = decodeHandOff(body);
    if (handOff.task.token === this.#lastHandOff) return;
    this.#lastHandOff = handOff.task.token;
    this.#accept(handOff);
  }

  #accept(handOff: HandOff): void {
    if (this.#state === 'new' || this.#state === 'stopped') return;
    const { task, nowMs } = handOff;
    // From one reading of the clock: a pause between two of them would let the task outlive its lease.
    const handedAt = Math.min(performance.now(), this.#clock.earliestLocal(nowMs));
    const leaseEndsAt = leaseEnd(handedAt, this.#options.handOffMs);
    const isFetching = this.#state === 'fetching' || this.#state === 'idle';
    const room = this.#options.demand.reserve(this, isFetching && this.#overdue === 0 ? 1 : 0, true);
    if (room.want > 0) {
      // The server would go on to hand tasks to a worker whose last slot this one takes.
      if (this.#registration.isNewerThan(handOff)) this.#registerAgain();
      this.#options.demand.receive(this, { room, tasks: [task], leaseEndsAt, nowMs, hasMore: false });
    } else if (this.#inFlight > 0 && !this.#isAway) {
      // That call may have reserved all slots and bring nothing.
      this.#handOffs.push(handOff);
    } else this.#options.completer.add(task, GIVEN_BACK);
  }

  /** The next call registers the worker, or removes its registration if no slot is free. */
  #registerAgain(): void {
    this.#registration.outdate();
    this.wake();
  }

  /** Makes a call at the end of this tick, if there is a reason. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    afterMicrotasks(() => {
      this.#isScheduled = false;
      void this.#call();
    });
  }

  /** Whether no tasks may be fetched. */
  get #isAway(): boolean {
    return this.#state === 'paused' || this.#state === 'leaving' || this.#state === 'stopped';
  }

  async #call(): Promise<void> {
    const { demand, completer, maintainer } = this.#options;
    // With shards, the calls for others are under way meanwhile. A second one would halve the tasks of each.
    const maxInFlight = this.shard.settings.values.servedShards > 1 ? 1 : this.#options.maxInFlight;
    if (this.#state === 'new' || this.#state === 'stopped') return;
    if (this.#inFlight >= maxInFlight || this.#backoff.isWaiting) return;
    // A full worker makes no calls, so silence begins with the first one.
    if (this.#inFlight === 0) this.#answeredAt = performance.now();
    const { acks, most, leavesTime } = completer.take(maxInFlight > 1 && this.#inFlight === 0);
    // An idle worker that has completions to ack fetches with the same call.
    const mayFetch = this.hasWork || (this.#state === 'idle' && acks.length > 0 && this.#overdue === 0);
    const room = demand.reserve(this, mayFetch ? Math.min(most, MAX_FETCH) : 0, false);
    const mustCall = this.#isAway
      ? this.#registration.mayExist
      : this.#registration.isOutdated ||
        this.#state === 'failing' ||
        (this.#state === 'fetching' && this.#overdue > 0);
    if (room.want === 0 && acks.length === 0 && !mustCall) {
      if (this.#state === 'leaving' && this.#inFlight === 0) this.#onAcked?.();
      // Without a call under way, no reply tells when maintenance is due.
      if (this.#state === 'fetching' && this.#inFlight === 0) maintainer.noteWork(true);
      return;
    }
    this.#inFlight += 1;
    if (!completer.isEmpty) this.schedule();
    const wakeUps = this.#wakeUps;
    const sentAt = performance.now();
    const leaseEndsAt = leaseEnd(sentAt, room.leaseMs);
    let isReleased = false;
    const receive = (tasks: readonly FetchedTask[], nowMs: number, hasMore: boolean): void => {
      const mine = isReleased ? { ...room, want: 0, slots: 0 } : room;
      isReleased = true;
      demand.receive(this, { room: mine, tasks, leaseEndsAt, nowMs, hasMore });
    };
    // Later tasks of this reply are void, so other queues may have its slots.
    const overdue = setTimeout(() => {
      this.#overdue += 1;
      receive([], 0, false);
    }, room.leaseMs).unref();
    let reply: FetchReply | undefined;
    try {
      this.#registration.sent(room.slots);
      reply = await this.#send(room, acks, leavesTime);
      this.#clock.learn(sentAt, reply.nowMs);
      completer.answered(acks, reply.answers, reply.areRemoved);
      this.#replied(reply, room, wakeUps);
    } catch (error) {
      this.#registration.failed(sentAt);
      completer.failed(acks, error);
      this.#fail(error);
    }
    clearTimeout(overdue);
    this.#inFlight -= 1;
    if (isReleased) this.#overdue -= 1;
    // Until then, replies to later calls bring no tasks.
    if (this.#overdue === 0) this.#answeredAt = performance.now();
    receive(reply?.fetched ?? [], reply?.nowMs ?? 0, reply?.sleepMs === 0);
    const handOffs = this.#handOffs.splice(0);
    if (handOffs.length > 0) this.#registerAgain();
    for (const handOff of handOffs) this.#accept(handOff);
    this.schedule();
  }

  #send(room: Room, acks: readonly PendingAck[], leavesTime: boolean): Promise<FetchReply> {
    const { shard, retention } = this.#options;
    const registration = this.#registration;
    return fetchAndAck(shard, retention, {
      ...room,
      get member() {
        return registration.member;
      },
      idleMs: registration.idleMs,
      recheckMs: this.#options.recheckMs,
      keepsTime: this.#recheck.takeLook(),
      leavesTime,
      acks,
    });
  }

  #replied(reply: FetchReply, { slots }: Room, wakeUps: number): void {
    const { demand, maintainer } = this.#options;
    this.#backoff.replied();
    const isFull = reply.fetched.length >= slots;
    this.#registration.replied(isFull, reply.nowUs);
    if (!this.#isAway) {
      const mayHoldMore = isFull || reply.sleepMs === 0 || wakeUps !== this.#wakeUps;
      this.#state = mayHoldMore ? 'fetching' : 'idle';
      if (!isFull) this.#recheck.set(reply.sleepMs);
    }
    if (this.#state !== 'leaving') maintainer.run(reply.maintenance);
    if (reply.fetched.length > 0 || reply.answers.length > 0) maintainer.noteWork();
    if (this.shard.settings.text !== this.#settings) {
      this.#settings = this.shard.settings.text;
      demand.adapt?.(this);
      this.#options.onSettings?.();
    }
  }

  #fail(error: unknown): void {
    if (this.#state === 'stopped') return;
    if (!this.#isAway) this.#state = 'failing';
    this.#options.reporter.reportRepeated(error);
    this.#options.demand.failed?.(error);
    this.#backoff.failed(this.#state === 'leaving');
  }
}

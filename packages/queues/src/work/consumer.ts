/**
 * What a worker does with one queue: settles what it has finished and takes what comes next, both in one script call.
 *
 * Calls are made when something happened: a task ended, a wake-up came, a slot is free and the queue may hold more.
 * Everything of one tick goes into one call, and two calls may be under way, so that the server works on one while
 * handlers run for the other. When the queue has nothing, the worker is parked there and sends nothing until it is
 * woken, the next task falls due, or the time for a re-check has come. The message that wakes it may bring a task along.
 */
import type { RedisClient } from '@mortise/redis';
import { afterMicrotasks, Loop, ServerClock, WaiterHub } from '@mortise/redis';
import type { Taken } from './attempt.js';
import { Cancellations } from './cancellations.js';
import { taskLeaseLost } from '../errors.js';
import type { Shard } from '../shard/shard.js';
import type { FetchReply } from './fetch-and-ack.js';
import { fetchAndAck } from './fetch-and-ack.js';
import { decodeHandOff } from './hand-off.js';
import { leaseEnd } from './lease-end.js';
import { Leases } from './leases.js';
import { Maintainer } from './maintainer.js';
import { Notes } from './notes.js';
import type { ResolvedWorkerOptions } from '../options.js';
import { Reporter } from './reporter.js';
import type { PendingAck } from './pending-acks.js';
import { PendingAcks } from './pending-acks.js';
import type { Completion } from './completion.js';
import { encodeAck, GIVEN_BACK } from './completion.js';
import type { Reserved, Slots } from './slots.js';
import { NOTHING } from './slots.js';
import { decodeTaskId } from '../task/task-id.js';
import { untilAborted } from './until-aborted.js';

/** Calls under way at the same time. */
const MAX_IN_FLIGHT = 2;
/** A parked worker looks again after at most this, or 0.4 leases: sooner than anything it backs up would be missed. */
const MAX_RECHECK_MS = 4_000;
const PARK_GRACE_MS = 1_000;
/** An idle worker looks when a lease ends next, at most this often. */
const LOOK_MS = 1_000;
const MAX_BACKOFF_MS = 5_000;
/** While stopping there is little time left. */
const MAX_LEAVING_BACKOFF_MS = 200;
const WAKE_ID = 'w';
const REFUSED = '0'.charCodeAt(0);

export class Consumer {
  readonly leases: Leases;
  readonly notes: Notes;
  readonly queue: string;
  readonly #cancellations: Cancellations;
  readonly #redis: RedisClient;
  readonly #options: ResolvedWorkerOptions;
  readonly #slots: Slots;
  readonly #reporter: Reporter;
  readonly #channel: string;
  readonly #workerId: string;
  readonly #recheckMs: number;
  readonly #listening: Loop;
  readonly #clock = new ServerClock();
  /** The worker has no other queue, whose tasks may have to go first. */
  readonly #isAlone: boolean;
  readonly #maintainer: Maintainer;
  readonly #acks = new PendingAcks();
  /** Tasks that came with a message, and found no slot. */
  readonly #handed: Buffer[] = [];
  /** A call has registered the worker as idle though a hand-off came meanwhile. */
  #isOverRegistered = false;
  #inFlight = 0;
  /** Of the calls under way that ask for tasks. */
  readonly #asked = new Set<Reserved>();
  #overdue = 0;
  #isScheduled = false;
  #isHungry = true;
  #isLeaving = false;
  #isPaused = false;
  /** The settings that were in force at the last call. */
  #settings = '';
  /** A call that gives up the place among the parked workers has been sent. */
  #hasLeft = false;
  #isStopped = false;
  #wakes = 0;
  #failures = 0;
  #sleeping: NodeJS.Timeout | undefined;
  #lookedAt = -Infinity;
  #backingOff: NodeJS.Timeout | undefined;
  #onDone: (() => void) | undefined;

  constructor(
    readonly shard: Shard,
    workerId: string,
    options: ResolvedWorkerOptions,
    slots: Slots,
    isAlone: boolean,
  ) {
    const { redis, queue, keys } = shard;
    const reporter = new Reporter(redis, options.onError);
    this.queue = queue;
    this.#redis = redis;
    this.#options = options;
    this.#slots = slots;
    this.#isAlone = isAlone;
    this.#reporter = reporter;
    this.#workerId = workerId;
    this.#channel = keys.wakeChannel(workerId);
    this.#recheckMs = Math.min(MAX_RECHECK_MS, Math.max(1_000, Math.round(0.4 * options.leaseMs)));
    this.leases = new Leases(redis, keys, options.leaseMs, reporter);
    this.#maintainer = new Maintainer(shard, options, reporter, () => this.#wake());
    this.notes = new Notes(shard, this.leases);
    this.#cancellations = new Cancellations(shard, workerId, this.leases, reporter);
    this.#listening = new Loop(`mortise worker on queue ${queue}`, (signal) => this.#listen(signal), {
      onError: (error) => reporter.tellFailure(error),
    });
  }

  /** The queue may hold something to take. */
  get isHungry(): boolean {
    return this.#isHungry;
  }

  /** Later queues have to wait. */
  get goesFirst(): boolean {
    return this.#isHungry && this.#isAnswering;
  }

  /** Otherwise calls take nothing, and only find out whether it answers again: slots would wait with them. */
  get #isAnswering(): boolean {
    return this.#failures === 0 && this.#overdue === 0;
  }

  start(): void {
    this.leases.start();
    this.#cancellations.start();
    this.#maintainer.start();
    this.#listening.start();
    this.#wake();
  }

  settle({ storedId, token }: Taken, completion: Completion): void {
    const isFirst = completion.verdict !== 'B';
    this.#acks.add({ storedId, encoded: encodeAck(token, completion), isFirst });
    this.schedule();
  }

  /** Makes a call at the end of this tick, if there is a reason for one. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    afterMicrotasks(() => {
      this.#isScheduled = false;
      void this.#exchange();
    });
  }

  /** Takes nothing until `resume`; the place among the parked workers is given up. */
  pause(): void {
    this.#isPaused = true;
    this.#hasLeft = false;
    clearTimeout(this.#sleeping);
    this.schedule();
  }

  resume(): void {
    this.#isPaused = false;
    this.#wake();
  }

  /** Takes nothing more; the place among the parked workers is given up with the next call. */
  leave(): void {
    this.#isLeaving = true;
    clearTimeout(this.#sleeping);
    clearTimeout(this.#backingOff);
    this.#backingOff = undefined;
    this.schedule();
  }

  /** Resolves when every completion is answered, or the time is over (then leases will end instead). */
  async stop(withinMs: number): Promise<void> {
    this.leave();
    await new Promise<void>((resolve) => {
      // Nothing can be sent with a closed client.
      const timer = setTimeout(resolve, this.#redis.status === 'end' ? 0 : withinMs);
      const end = async (): Promise<void> => {
        await this.#maintainer.stop();
        clearTimeout(timer);
        resolve();
      };
      this.#onDone = () => void end();
    });
    this.#isStopped = true;
    clearTimeout(this.#sleeping);
    clearTimeout(this.#backingOff);
    await Promise.all([this.#listening.stop(), this.#cancellations.stop(), this.leases.stop()]);
  }

  /** Looks at the queue again. */
  #wake(): void {
    this.#wakes += 1;
    this.#isHungry = true;
    this.schedule();
  }

  async #listen(signal: AbortSignal): Promise<number> {
    const opening = WaiterHub.of(this.#redis).waiter(this.#channel, WAKE_ID);
    try {
      const waiter = await untilAborted(opening, signal);
      for (;;) {
        this.#wake();
        const wake = await waiter.next({ signal });
        if (wake.type === 'message' && wake.body.length > 0) this.#takeHanded(wake.body);
      }
    } finally {
      // While Redis is away it may open long after the worker has stopped.
      void opening.then((waiter) => waiter.close()).catch(() => undefined);
    }
  }

  /**
   * A task has come along with the message that wakes the worker. What cannot be run goes back; what may be too old, or cannot
   * be answered, is left: its lease ends soon, and the attempt does not count.
   */
  #takeHanded(body: Buffer): void {
    const { task, nowMs } = decodeHandOff(body);
    const heardAt = performance.now();
    // Not the best guess: a hand-off that is taken for younger than it is outlives its lease.
    const ageMs = Math.max(0, this.#clock.latest() - nowMs);
    const leaseEndsAt = leaseEnd(heardAt, this.#options.leaseMs) - ageMs;
    if (this.#isStopped) return;
    const { want } = this.#isAnswering ? this.#slots.reserve(this, 1, false) : NOTHING;
    if (want > 0) this.#slots.fill(this, want, [task], leaseEndsAt, nowMs);
    // A call that is under way may have reserved all slots, and bring nothing.
    else if (this.#inFlight > 0) this.#handed.push(body);
    else this.settle(task, GIVEN_BACK);
  }

  async #exchange(): Promise<void> {
    if (this.#isStopped || this.#inFlight >= MAX_IN_FLIGHT || this.#backingOff) return;
    const { acks, most } = this.#acks.take(this.#inFlight === 0);
    const isOffering = this.#isHungry || acks.length > 0;
    const mayAsk = isOffering && this.#isAnswering && !this.#isLate([...this.#asked]);
    const reserved = mayAsk ? this.#slots.reserve(this, most, true) : NOTHING;
    const { want, slots } = reserved;
    const isAway = this.#isLeaving || this.#isPaused;
    const hasReason = isAway
      ? !this.#hasLeft
      : this.#isOverRegistered || (this.#isHungry && !this.#isAnswering);
    if (want === 0 && acks.length === 0 && !hasReason) {
      if (this.#isLeaving && this.#inFlight === 0) this.#onDone?.();
      if (this.#isHungry && !isAway) this.#maintainer.noteWork(true);
      return;
    }
    this.#hasLeft = isAway;
    this.#isOverRegistered = false;
    this.#inFlight += 1;
    if (want > 0) this.#asked.add(reserved);
    if (!this.#acks.isEmpty) this.schedule();
    const sentAt = performance.now();
    const leaseEndsAt = leaseEnd(sentAt, this.#options.leaseMs);
    const wakes = this.#wakes;
    let isOverdue = false;
    // What a reply brings after that is void, so its slots need not wait for it: other queues may have them.
    const overdue = setTimeout(() => {
      isOverdue = true;
      this.#overdue += 1;
      this.#slots.fill(this, want, [], leaseEndsAt, 0);
    }, this.#options.leaseMs).unref();
    let taken: Taken[] = [];
    let nowMs = 0;
    try {
      const reply = await this.#call(want, slots, acks);
      ({ fetched: taken, nowMs } = reply);
      this.#clock.learn(sentAt, nowMs);
      if (!this.#isLeaving) this.#maintainer.run(reply.maintenance);
      if (taken.length > 0 || acks.length > 0) this.#maintainer.noteWork();
      this.#failures = 0;
      if (this.shard.settings.text !== this.#settings) this.#adapt();
      this.#reportRefused(acks, reply.answers);
      const isLate = this.#isLate([reserved]);
      const isFull = taken.length === want;
      const isKept = !isFull && want > slots && taken.length >= slots && reply.sleepMs === 0;
      if (want > 0) this.#slots.answered(isFull, isKept);
      // A wake-up that came while the call was under way may be younger than its answer.
      // Who finds a task for each free slot is not parked.
      this.#isHungry = taken.length >= slots || reply.sleepMs === 0 || this.#wakes !== wakes;
      if (isLate) for (const task of taken.splice(0)) this.settle(task, GIVEN_BACK);
      if (taken.length < slots) this.#sleep(reply.sleepMs);
    } catch (error) {
      this.#failures += 1;
      this.#hasLeft = false;
      this.#acks.putBack(acks);
      if (!this.#isStopped) {
        this.#reporter.tellFailure(error);
        this.#backOff();
      }
    }
    clearTimeout(overdue);
    this.#inFlight -= 1;
    this.#asked.delete(reserved);
    if (isOverdue) this.#overdue -= 1;
    this.#slots.fill(this, isOverdue ? 0 : want, taken, leaseEndsAt, nowMs);
    if (this.#handed.length > 0) {
      this.#isOverRegistered = true;
      this.#isHungry = true;
    }
    for (const body of this.#handed.splice(0)) this.#takeHanded(body);
    this.schedule();
  }

  /** Something has gone back since then. */
  #isLate(asked: readonly Reserved[]): boolean {
    return asked.some(({ want, round }) => want > 0 && round !== this.#slots.round());
  }

  #adapt(): void {
    const { settings } = this.shard;
    this.#settings = settings.text;
    this.#slots.adapt(this);
  }

  #call(want: number, slots: number, acks: readonly PendingAck[]): Promise<FetchReply> {
    const mayHandOff = this.#isAlone && this.shard.settings.values.shards === 1;
    const { leaseMs } = this.#options;
    const now = performance.now();
    const keepsTime = now - this.#lookedAt >= LOOK_MS;
    if (keepsTime) this.#lookedAt = now;
    return fetchAndAck(this.shard, this.#options, {
      member: this.shard.keys.idleMember(this.#workerId, mayHandOff ? leaseMs : 0),
      want,
      slots,
      leaseMs,
      idleMs: this.#recheckMs + PARK_GRACE_MS,
      keepsTime,
      acks,
    });
  }

  /** A handler may have blocked the event loop for longer than the lease: then nothing else has told of the loss. */
  #reportRefused(acks: readonly PendingAck[], settled: Buffer): void {
    acks.forEach(({ storedId, isFirst }, index) => {
      if (isFirst && settled[index] === REFUSED) {
        this.#reporter.tell(taskLeaseLost(this.queue, decodeTaskId(storedId)));
      }
    });
  }

  /** Until something falls due, or the recheck; the jitter keeps a fleet from looking at the same moment. */
  #sleep(ms: number): void {
    // Nobody looked: the timer of the last look still holds.
    if (ms === -2 || ms === 0) return;
    const recheckMs = this.#recheckMs * (0.75 + 0.25 * Math.random());
    clearTimeout(this.#sleeping);
    const look = (): void => {
      this.#lookedAt = -Infinity;
      this.#wake();
    };
    this.#sleeping = setTimeout(look, ms < 0 ? recheckMs : Math.min(ms, recheckMs));
  }

  #backOff(): void {
    const ceiling = Math.min(
      this.#isLeaving ? MAX_LEAVING_BACKOFF_MS : MAX_BACKOFF_MS,
      100 * 2 ** Math.min(this.#failures - 1, 10),
    );
    const waitMs = Math.max(10, Math.random() * ceiling);
    clearTimeout(this.#backingOff);
    this.#backingOff = setTimeout(() => {
      this.#backingOff = undefined;
      this.#wake();
    }, waitMs);
  }
}

/**
 * What a worker does with one queue: settles what it has finished and takes what comes next, both in one script call.
 *
 * Calls are made when something happened: a task ended, a wake-up came, a slot is free and the queue may hold more.
 * Everything of one tick goes into one call, and two calls may be under way, so that the server works on one while
 * handlers run for the other. When the queue has nothing, the worker is parked there and sends nothing until it is
 * woken, the next task falls due, or the time for a re-check has come.
 */
import type { RedisClient } from '@mortise/redis';
import { afterMicrotasks, Loop, WaiterHub } from '@mortise/redis';
import type { Taken } from './attempt.js';
import { Cancellations } from './cancellations.js';
import { LeaseLostError } from '../errors.js';
import type { Shard } from '../shard/shard.js';
import { Chores } from './chores.js';
import type { Exchanged } from './exchange.js';
import { exchange } from './exchange.js';
import { Leases } from './leases.js';
import { Notes } from './notes.js';
import type { ResolvedWorkerOptions } from '../options.js';
import { Reporter } from './reporter.js';
import type { Settlement } from './settlement.js';
import { encodeSettlement } from './settlement.js';
import { decodeTaskId } from '../task/task-id.js';
import { untilAborted } from './until-aborted.js';

/** The worker, as a consumer sees it. */
export interface Slots {
  /** Sets aside slots for what this consumer may take now; 0 while another queue goes first or none is free. */
  reserve(consumer: Consumer, most: number): number;
  /** Gives slots back, and the tasks that came for them, at this instant of the server, ms. Must not throw. */
  fill(
    consumer: Consumer,
    reserved: number,
    taken: readonly Taken[],
    leaseEndsAt: number,
    nowMs: number,
  ): void;
  /** The settings of the consumer's shard are others than they were. Must not throw. */
  adapt(consumer: Consumer): void;
}

interface PendingSettlement {
  readonly storedId: Buffer;
  readonly encoded: Buffer;
  /** The server's refusal tells something new: it is not a repetition, and the loss was not known before. */
  isFirst: boolean;
}

/** Calls under way at the same time. */
const MAX_IN_FLIGHT = 2;
/** Tasks and settlements in one call: bounds how long it holds the server (about 3 ms). */
const MAX_BATCH = 500;
/** A call ends with the result that makes it longer than this. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/** From so many on, settlements go half and half into two calls, so that the one is under way while the other runs. */
const MIN_SPLIT = 32;
/** A parked worker looks again after at most this, or 0.4 leases: sooner than anything it backs up would be missed. */
const MAX_RECHECK_MS = 4_000;
const PARK_GRACE_MS = 1_000;
/** A full worker looks for schedules that are due, and for what flows have to be told, after so long. */
const FULL_LOOK_MS = 1_000;
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
  readonly #recheckMs: number;
  readonly #listening: Loop;
  readonly #chores: Chores;
  #settlements: PendingSettlement[] = [];
  #inFlight = 0;
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
  #looking: NodeJS.Timeout | undefined;
  /** A call is to be made though there is nothing to say, and no slot to fill. */
  #mustLook = false;
  #backingOff: NodeJS.Timeout | undefined;
  #onDone: (() => void) | undefined;

  constructor(
    readonly shard: Shard,
    workerId: string,
    options: ResolvedWorkerOptions,
    slots: Slots,
  ) {
    const { redis, queue, keys } = shard;
    const reporter = new Reporter(redis, options.onError);
    this.queue = queue;
    this.#redis = redis;
    this.#options = options;
    this.#slots = slots;
    this.#reporter = reporter;
    this.#channel = keys.wakeChannel(workerId);
    this.#recheckMs = Math.min(MAX_RECHECK_MS, Math.max(1_000, Math.round(0.4 * options.leaseMs)));
    this.leases = new Leases(redis, keys, options.leaseMs, reporter);
    this.#chores = new Chores(shard, reporter);
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
    this.#listening.start();
    this.#wake();
  }

  settle({ storedId, token }: Taken, settlement: Settlement): void {
    const isFirst = settlement.verdict !== 'B';
    this.#settlements.push({ storedId, encoded: encodeSettlement(token, settlement), isFirst });
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
    clearTimeout(this.#looking);
    clearTimeout(this.#backingOff);
    this.#backingOff = undefined;
    this.schedule();
  }

  /** Resolves when every settlement is answered, or the time is over (then leases will end instead). */
  async stop(withinMs: number): Promise<void> {
    this.leave();
    await new Promise<void>((resolve) => {
      // Nothing can be sent with a closed client.
      const timer = setTimeout(resolve, this.#redis.status === 'end' ? 0 : withinMs);
      const end = async (): Promise<void> => {
        await this.#chores.idle();
        clearTimeout(timer);
        resolve();
      };
      this.#onDone = () => void end();
    });
    this.#isStopped = true;
    clearTimeout(this.#sleeping);
    clearTimeout(this.#looking);
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
        await waiter.next({ signal });
      }
    } finally {
      // While Redis is away it may open long after the worker has stopped.
      void opening.then((waiter) => waiter.close()).catch(() => undefined);
    }
  }

  async #exchange(): Promise<void> {
    if (this.#isStopped || this.#inFlight >= MAX_IN_FLIGHT || this.#backingOff) return;
    const { settlements, most } = this.#share();
    const isOffering = this.#isHungry || settlements.length > 0;
    const want = isOffering && this.#isAnswering ? this.#slots.reserve(this, most) : 0;
    const isAway = this.#isLeaving || this.#isPaused;
    const hasReason = isAway ? !this.#hasLeft : this.#mustLook || (this.#isHungry && !this.#isAnswering);
    if (want === 0 && settlements.length === 0 && !hasReason) {
      if (this.#isLeaving && this.#inFlight === 0) this.#onDone?.();
      if (this.#isHungry && !isAway) this.#lookLater();
      return;
    }
    this.#mustLook = false;
    this.#hasLeft = isAway;
    this.#inFlight += 1;
    if (this.#settlements.length > 0) this.schedule();
    const leaseEndsAt = performance.now() + this.#options.leaseMs;
    const wakes = this.#wakes;
    let isOverdue = false;
    // What a reply brings after that is void, so its slots need not wait for it: other queues may have them.
    const overdue = setTimeout(() => {
      isOverdue = true;
      this.#overdue += 1;
      this.#slots.fill(this, want, [], leaseEndsAt, 0);
    }, this.#options.leaseMs).unref();
    let taken: readonly Taken[] = [];
    let nowMs = 0;
    try {
      const reply = await this.#call(want, settlements);
      ({ taken, nowMs } = reply);
      if (reply.chores !== 0) void this.#doChores(reply.chores);
      this.#failures = 0;
      if (this.shard.settings.text !== this.#settings) this.#adapt();
      this.#reportRefused(settlements, reply.settled);
      // A wake-up that came while the call was under way may be younger than its answer.
      this.#isHungry = taken.length === want || reply.sleepMs === 0 || this.#wakes !== wakes;
      if (!this.#isHungry) this.#sleep(reply.sleepMs);
    } catch (error) {
      this.#failures += 1;
      this.#hasLeft = false;
      // Settling twice is harmless: the second time the token no longer fits.
      for (const settlement of settlements) settlement.isFirst = false;
      this.#settlements.unshift(...settlements);
      if (!this.#isStopped) {
        this.#reporter.tellFailure(error);
        this.#backOff();
      }
    }
    clearTimeout(overdue);
    this.#inFlight -= 1;
    if (isOverdue) this.#overdue -= 1;
    this.#slots.fill(this, isOverdue ? 0 : want, taken, leaseEndsAt, nowMs);
    this.schedule();
  }

  #adapt(): void {
    const { settings } = this.shard;
    this.#settings = settings.text;
    if (settings.isExtended && !this.#isStopped) this.#cancellations.start();
    this.#slots.adapt(this);
  }

  /** The next exchange finds out what falls due next. */
  async #doChores(chores: number): Promise<void> {
    if (this.#isLeaving) return;
    const isDone = await this.#chores.run(chores);
    if (isDone && !this.#isLeaving) this.#wake();
  }

  /** The settlements of the next call, and how many tasks it may take. */
  #share(): { settlements: PendingSettlement[]; most: number } {
    const waiting = this.#settlements.length;
    const isSplit = waiting >= MIN_SPLIT && this.#inFlight === 0;
    const most = Math.min(MAX_BATCH, isSplit ? Math.ceil(waiting / 2) : waiting);
    let count = 0;
    for (let bytes = 0; count < most && bytes < MAX_BATCH_BYTES; count += 1) {
      bytes += this.#settlements[count]!.encoded.length;
    }
    return { settlements: this.#settlements.splice(0, count), most: isSplit ? count : MAX_BATCH };
  }

  #call(want: number, settlements: readonly PendingSettlement[]): Promise<Exchanged> {
    const { leaseMs } = this.#options;
    const parkMs = this.#recheckMs + PARK_GRACE_MS;
    return exchange(this.shard, this.#options, {
      channel: this.#channel,
      want,
      leaseMs,
      parkMs,
      settlements,
    });
  }

  /** A handler may have blocked the event loop for longer than the lease: then nothing else has told of the loss. */
  #reportRefused(settlements: readonly PendingSettlement[], settled: Buffer): void {
    settlements.forEach(({ storedId, isFirst }, index) => {
      if (isFirst && settled[index] === REFUSED) {
        this.#reporter.tell(new LeaseLostError(this.queue, decodeTaskId(storedId)));
      }
    });
  }

  /** Until something falls due, or the re-check; the jitter keeps a fleet from looking at the same moment. */
  #sleep(ms: number): void {
    const recheckMs = this.#recheckMs * (0.75 + 0.25 * Math.random());
    clearTimeout(this.#sleeping);
    this.#sleeping = setTimeout(() => this.#wake(), ms < 0 ? recheckMs : Math.min(ms, recheckMs));
  }

  /** A full worker has no reason to call, but schedules and flows, which may be new to the queue, must not wait for a slot. */
  #lookLater(): void {
    const ms = this.shard.settings.isExtended ? FULL_LOOK_MS : this.#recheckMs;
    this.#looking ??= setTimeout(() => {
      this.#looking = undefined;
      this.#mustLook = true;
      this.schedule();
    }, ms);
  }

  #backOff(): void {
    const most = this.#isLeaving ? MAX_LEAVING_BACKOFF_MS : MAX_BACKOFF_MS;
    const ceiling = Math.min(most, 100 * 2 ** Math.min(this.#failures - 1, 10));
    clearTimeout(this.#backingOff);
    this.#backingOff = setTimeout(
      () => {
        this.#backingOff = undefined;
        this.#wake();
      },
      Math.max(10, Math.random() * ceiling),
    );
  }
}

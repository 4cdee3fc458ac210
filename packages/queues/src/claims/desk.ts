/**
 * What claims do with one shard: take tasks, and say what became of them, both in the call that workers make.
 *
 * All claims of a process stand at one desk, which makes one call at a time and is parked at the queue like one worker:
 * woken when there may be something, or looking again when something falls due. Leases differ between claims, so a call is
 * for those with the lease of the one that has waited longest. When nobody waits any more, the place among the parked
 * workers is given up by a call that wants nothing, which passes on a wake-up that came too late.
 */
import { afterMicrotasks, WaiterHub } from '@mortise/redis';
import type { Shard } from '../shard/shard.js';
import type { Taken } from '../work/attempt.js';
import type { FetchReply } from '../work/fetch-and-ack.js';
import { fetchAndAck } from '../work/fetch-and-ack.js';
import { leaseEnd } from '../work/lease-end.js';
import { Maintainer } from '../work/maintainer.js';
import { Reporter } from '../work/reporter.js';
import type { Completion } from '../work/completion.js';
import { died, encodeAck, GIVEN_BACK } from '../work/completion.js';
import { untilAborted } from '../work/until-aborted.js';
import type { Ask } from './ask.js';
import type { ClaimedTask } from './claimed-task.js';
import { readClaimed } from './claimed-task.js';
import type { Held } from './held.js';
import { HeldTasks, refusalOf } from './held.js';
import type { ResolvedClaimsOptions } from './options.js';

interface PendingAck {
  readonly storedId: Buffer;
  readonly encoded: Buffer;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Tasks, and acks, in one call: bounds how long it holds the server. */
const MAX_BATCH = 500;
const MAX_SETTLED_BYTES = 4 * 1024 * 1024;
/** A parked desk looks again after at most this. */
const RECHECK_MS = 4_000;
const PARK_GRACE_MS = 1_000;
/** Between tries to give up the place among the parked workers. */
const LEAVING_PAUSE_MS = 200;
/** Without claims the desk still listens for so long. */
const LINGER_MS = 30_000;
const WAKE_ID = 'w';

export class Desk {
  readonly shard: Shard;
  readonly held: HeldTasks;
  readonly #options: ResolvedClaimsOptions;
  readonly #reporter: Reporter;
  readonly #channel: string;
  readonly #maintainer: Maintainer;
  readonly #member: string;
  /** Those who wait, the first one first, and whom to tell that there is nothing at present. */
  readonly #asks = new Map<Ask, () => void>();
  #acks: PendingAck[] = [];
  #isScheduled = false;
  #isBusy = false;
  /** The shard may hold something to take. */
  #isHungry = false;
  #isStopped = false;
  #wakes = 0;
  /** Until when the desk may stand among the parked workers, on the clock of `performance.now()`. */
  #parkedUntil = -Infinity;
  #sleeping: NodeJS.Timeout | undefined;
  #leaving: NodeJS.Timeout | undefined;
  #lingering: NodeJS.Timeout | undefined;
  #listening: AbortController | undefined;
  #onIdle: (() => void) | undefined;

  constructor(shard: Shard, id: string, options: ResolvedClaimsOptions) {
    this.shard = shard;
    this.held = new HeldTasks(shard);
    this.#options = options;
    this.#reporter = new Reporter(shard.redis, options.onError);
    this.#channel = shard.keys.wakeChannel(id);
    this.#member = shard.keys.idleMember(id);
    this.#maintainer = new Maintainer(shard, options, this.#reporter, () => this.#wake());
    this.#maintainer.start();
  }

  /** Resolves when the ask is over, or when the shard was asked and has nothing at present. Never rejects. */
  serve(ask: Ask): Promise<void> {
    if (ask.isOver) return Promise.resolve();
    return new Promise((resolve) => {
      this.#asks.set(ask, resolve);
      ask.standAt(this);
      clearTimeout(this.#lingering);
      if (ask.isWaiting) this.#listen();
      this.#isHungry = true;
      this.schedule();
    });
  }

  /** The ask is over. */
  leave(ask: Ask): void {
    this.#asks.get(ask)?.();
    this.#asks.delete(ask);
    if (this.#asks.size > 0) return;
    clearTimeout(this.#sleeping);
    clearTimeout(this.#lingering);
    this.#lingering = setTimeout(() => this.#listening?.abort(), LINGER_MS).unref();
    this.schedule();
  }

  /** Rejects with ERR_LEASE_LOST or ERR_TASK_CANCELLED. Shares a call with whatever is to be settled at the time. */
  settle({ storedId, token }: Held, completion: Completion): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#acks.push({ storedId, encoded: encodeAck(token, completion), resolve, reject });
      this.schedule();
    });
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

  /** To be called when nobody asks any more. Resolves when everything is settled, or the time is over. */
  async stop(withinMs: number): Promise<void> {
    const isClosed = this.shard.redis.status === 'end';
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, isClosed ? 0 : withinMs);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve(this.#maintainer.stop());
      };
      this.schedule();
    });
    this.#isStopped = true;
    clearTimeout(this.#sleeping);
    clearTimeout(this.#leaving);
    clearTimeout(this.#lingering);
    this.#listening?.abort();
  }

  get #isParked(): boolean {
    return performance.now() < this.#parkedUntil;
  }

  async #exchange(): Promise<void> {
    if (this.#isBusy || this.#isStopped) return;
    const acks = this.#share();
    // A call that wants nothing would give up the place of those who wait.
    const asks = this.#isHungry || acks.length > 0 ? this.#next() : [];
    const mustLeave = this.#asks.size === 0 && this.#isParked && this.#leaving === undefined;
    if (asks.length === 0 && acks.length === 0 && !mustLeave) {
      if (this.#leaving === undefined) this.#onIdle?.();
      return;
    }
    this.#isBusy = true;
    const leaseMs = asks[0]?.leaseMs ?? 0;
    const want = Math.min(
      MAX_BATCH,
      asks.reduce((sum, { max }) => sum + max, 0),
    );
    const parkMs = RECHECK_MS + PARK_GRACE_MS;
    const wakes = this.#wakes;
    const request = { member: this.#member, want, leaseMs, idleMs: parkMs, keepsTime: true, acks };
    const leaseEndsAt = leaseEnd(performance.now(), leaseMs);
    if (want > 0) this.#parkedUntil = Infinity;
    try {
      const reply = await fetchAndAck(this.shard, this.#options, request);
      const isParked = reply.fetched.length < want;
      this.#parkedUntil = isParked ? performance.now() + parkMs : -Infinity;
      this.#isHungry = !isParked || reply.sleepMs === 0 || this.#wakes !== wakes;
      this.#answer(acks, reply.answers);
      this.#hand(asks, reply, leaseMs, leaseEndsAt);
      this.#maintainer.run(reply.maintenance);
      if (reply.fetched.length > 0 || acks.length > 0) this.#maintainer.noteWork();
      if (!this.#isHungry) this.#rest(reply.sleepMs);
    } catch (error) {
      if (this.#parkedUntil === Infinity) this.#parkedUntil = performance.now() + parkMs;
      for (const { reject } of acks) reject(error);
      for (const ask of this.#asks.keys()) ask.fail(error);
      if (this.#isStopped) return;
      this.#leaving ??= setTimeout(() => {
        this.#leaving = undefined;
        this.schedule();
      }, LEAVING_PAUSE_MS);
    }
    this.#isBusy = false;
    this.schedule();
  }

  /** The acks of the next call; no id twice. */
  #share(): PendingAck[] {
    if (this.#acks.length === 0) return [];
    const ids = new Set<string>();
    const later: PendingAck[] = [];
    let bytes = 0;
    const now = this.#acks.filter((completion) => {
      const id = completion.storedId.toString('latin1');
      const isFit = ids.size < MAX_BATCH && bytes < MAX_SETTLED_BYTES && !ids.has(id);
      if (isFit) {
        ids.add(id);
        bytes += completion.encoded.length;
      } else later.push(completion);
      return isFit;
    });
    this.#acks = later;
    return now;
  }

  /** Who is served by the next call. */
  #next(): Ask[] {
    const [first] = this.#asks.keys();
    return [...this.#asks.keys()].filter(({ leaseMs }) => leaseMs === first!.leaseMs);
  }

  #answer(acks: readonly PendingAck[], settled: Buffer): void {
    acks.forEach(({ storedId, resolve, reject }, index) => {
      const refusal = refusalOf(this.shard, storedId, String.fromCharCode(settled[index]!));
      if (refusal) reject(refusal);
      else resolve();
    });
  }

  #hand(asks: readonly Ask[], { fetched, nowMs }: FetchReply, leaseMs: number, leaseEndsAt: number): void {
    const isVoid = performance.now() >= leaseEndsAt;
    const tasks: { readonly held: Taken; readonly task: ClaimedTask }[] = [];
    for (const held of fetched) {
      if (isVoid) this.#putAway(held, GIVEN_BACK);
      else {
        try {
          const task = readClaimed(this.shard.queue, this.shard.index, held, nowMs, leaseMs);
          tasks.push({ held, task });
        } catch (error) {
          this.#putAway(held, died(error));
        }
      }
    }
    for (const ask of asks) {
      if (ask.isOver || tasks.length === 0) continue;
      ask.give(tasks.splice(0, ask.max).map(({ task }) => task));
    }
    for (const { held } of tasks) this.#putAway(held, GIVEN_BACK);
  }

  /** What nobody waits for. When the call fails, its lease will end. */
  #putAway(held: Held, completion: Completion): void {
    this.settle(held, completion).catch((error: unknown) => this.#reporter.tellFailure(error));
  }

  /** Until something falls due, or the re-check; the jitter keeps a fleet from looking at the same moment. */
  #rest(ms: number): void {
    for (const onAsked of this.#asks.values()) onAsked();
    const recheckMs = RECHECK_MS * (0.75 + 0.25 * Math.random());
    clearTimeout(this.#sleeping);
    if (this.#asks.size === 0) return;
    this.#sleeping = setTimeout(
      () => {
        if ([...this.#asks.keys()].some(({ isWaiting }) => isWaiting)) this.#listen();
        this.#wake();
      },
      ms < 0 ? recheckMs : Math.min(ms, recheckMs),
    );
  }

  #wake(): void {
    this.#wakes += 1;
    this.#isHungry = true;
    this.schedule();
  }

  #listen(): void {
    if (this.#listening || this.#isStopped) return;
    this.#listening = new AbortController();
    void this.#hear(this.#listening.signal);
  }

  async #hear(signal: AbortSignal): Promise<void> {
    const opening = WaiterHub.of(this.shard.redis).waiter(this.#channel, WAKE_ID);
    try {
      const waiter = await untilAborted(opening, signal);
      for (;;) {
        this.#wake();
        await waiter.next({ signal });
      }
    } catch (error) {
      if (!signal.aborted) this.#reporter.tellFailure(error);
    }
    await opening.then((waiter) => waiter.close()).catch(() => undefined);
    this.#listening = undefined;
    // Somebody may have come in the meantime.
    if (signal.aborted && this.#asks.size > 0) this.#listen();
  }
}

/**
 * All waits of a process for tasks of one shard. They share two subscriptions and one recheck, so a thousand waits cost one
 * command every few seconds, and one message each.
 *
 * A wait subscribes first, then looks and registers in one script. The look finds an earlier end; the script that ends the task
 * publishes a later one, with its result. So it works without retention too. Rechecks repair lost messages. Each process
 * has a channel of its own: with one channel for all, every process would get the results of all others.
 */
import { randomInt } from 'node:crypto';
import type { Waiter } from '@mortise/redis';
import { Coalescer, TIMED_OUT, waitFor, WaiterHub } from '@mortise/redis';
import { ResultTimeoutError } from '../errors.js';
import { resultWait } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import { decodeTaskId } from '../task/task-id.js';

/** The end of a task as stored in `attempts`; empty for an unknown or removed task. */
export type End = Buffer;

interface Wait {
  end(end: End): void;
  fail(error: unknown): void;
}

const LOOK_MS = 3_000;
const JITTER_MS = 500;
/** A registration outlives two rechecks that fail. */
const REGISTERED_S = 12;
/** Ids in one call, which holds the server for about 3 ms. */
const MAX_BATCH = 1_000;
/** As in result.wait.lua: 0 stands for several processes. */
const PROCESSES = 2 ** 20;

export class ResultWaiter {
  readonly #shard: Shard;
  readonly #onClose: (waiter: ResultWaiter) => void;
  readonly #process = randomInt(1, PROCESSES);
  /** By stored id, as latin1. */
  readonly #waits = new Map<string, Set<Wait>>();
  readonly #looks: Coalescer<ResultWaiter, Buffer, End | null>;
  readonly #isSubscribed: Promise<unknown>;
  #waiters: Waiter[] = [];
  #looking: NodeJS.Timeout | undefined;
  #failure: unknown;
  #isClosed = false;

  constructor(shard: Shard, onClose: (waiter: ResultWaiter) => void) {
    this.#shard = shard;
    this.#onClose = onClose;
    this.#looks = new Coalescer((_, ids) => this.#lookAt(ids), { maxBatch: MAX_BATCH });
    this.#isSubscribed = this.#subscribe();
    this.#isSubscribed.catch((error: unknown) => this.#close(error));
    this.#lookLater();
  }

  /**
   * Resolves to the end of the task. Rejects with ERR_RESULT_TIMEOUT, or with the reason of the signal.
   *
   * @param deadlineAt On the clock of `performance.now()`, `waitMs` after the caller began.
   */
  async wait(
    storedId: Buffer,
    { waitMs, deadlineAt, signal }: { waitMs: number; deadlineAt: number; signal: AbortSignal | undefined },
  ): Promise<End> {
    signal?.throwIfAborted();
    const key = storedId.toString('latin1');
    let wait!: Wait;
    const outcome = new Promise<End>((resolve, reject) => {
      wait = { end: resolve, fail: reject };
    });
    this.#join(key, wait);
    try {
      const looking = this.#begin(storedId, wait);
      // 0 returns the present state.
      const end = await (waitMs === 0
        ? waitFor(Promise.race([outcome, looking]), { signal })
        : waitFor(outcome, { waitMs: deadlineAt - performance.now(), signal }));
      if (end === TIMED_OUT) throw this.#timeout(storedId, waitMs);
      return end;
    } finally {
      this.#leave(key, wait);
    }
  }

  #join(key: string, wait: Wait): void {
    const waits = this.#waits.get(key);
    if (waits) waits.add(wait);
    else this.#waits.set(key, new Set([wait]));
  }

  #leave(key: string, wait: Wait): void {
    const waits = this.#waits.get(key);
    waits?.delete(wait);
    if (waits?.size === 0) this.#waits.delete(key);
  }

  /** Subscribes and looks once. Never rejects. */
  async #begin(storedId: Buffer, wait: Wait): Promise<typeof TIMED_OUT> {
    try {
      await this.#isSubscribed;
      const end = await this.#looks.submit(this, storedId);
      if (end !== null) wait.end(end);
    } catch (error) {
      wait.fail(error);
    }
    return TIMED_OUT;
  }

  async #lookAt(ids: readonly Buffer[]): Promise<(End | null)[]> {
    const { tasks, attempts, awaited } = this.#shard.keys.of;
    // From now on, scripts that end tasks need this key.
    await this.#shard.enableOptional();
    return (await resultWait.runBuffer(
      this.#shard.redis,
      { tasks, attempts, awaited },
      { process: this.#process, waitS: REGISTERED_S, ids },
    )) as (End | null)[];
  }

  async #subscribe(): Promise<void> {
    const hub = WaiterHub.of(this.#shard.redis);
    const channel = this.#shard.keys.of.awaited;
    const opening = [channel, `${channel}:${this.#process}`].map((name) => hub.waiter(name, hub.newId()));
    const opened = await Promise.allSettled(opening);
    for (const result of opened) {
      if (result.status === 'fulfilled') this.#waiters.push(result.value);
    }
    if (this.#isClosed) this.#closeWaiters();
    await Promise.all(opening);
    for (const waiter of this.#waiters) void this.#receive(waiter);
  }

  async #receive(waiter: Waiter): Promise<void> {
    try {
      while (!this.#isClosed) {
        const wake = await waiter.next();
        if (wake.type === 'message') this.#onMessage(wake.body);
        else if (wake.type === 'resync') void this.#look();
      }
    } catch (error) {
      this.#close(error);
    }
  }

  /** u16 length · id as stored · its end. */
  #onMessage(message: Buffer): void {
    const length = 2 + message.readUInt16BE(0);
    this.#end(message.toString('latin1', 2, length), message.subarray(length));
  }

  #end(key: string, end: End): void {
    for (const wait of this.#waits.get(key) ?? []) wait.end(end);
  }

  #lookLater(): void {
    this.#looking = setTimeout(
      () => {
        if (this.#waits.size === 0) {
          this.#close(undefined);
          return;
        }
        void this.#look().then(() => !this.#isClosed && this.#lookLater());
      },
      LOOK_MS + Math.random() * JITTER_MS,
      // The connection, not this timer, keeps a waiting process alive.
    ).unref();
  }

  /** Repairs lost messages and renews registrations. */
  async #look(): Promise<void> {
    try {
      await this.#isSubscribed;
      await Promise.all(
        Array.from(this.#waits.keys(), async (key) => {
          const end = await this.#looks.submit(this, Buffer.from(key, 'latin1'));
          if (end !== null) this.#end(key, end);
        }),
      );
      this.#failure = undefined;
    } catch (error) {
      // The next recheck may succeed. Until then it is the cause of timeouts.
      this.#failure = error;
    }
  }

  #close(error: unknown): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#looking);
    this.#onClose(this);
    this.#closeWaiters();
    for (const waits of this.#waits.values()) for (const wait of waits) wait.fail(error);
  }

  #closeWaiters(): void {
    for (const waiter of this.#waiters) waiter.close();
  }

  #timeout(storedId: Buffer, waitMs: number): ResultTimeoutError {
    const cause = this.#failure === undefined ? undefined : { cause: this.#failure };
    return new ResultTimeoutError(this.#shard.queue, decodeTaskId(storedId), waitMs, cause);
  }
}

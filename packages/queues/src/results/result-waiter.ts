/**
 * Those of one process who wait for tasks of one shard. They share two places on channels and the look at the state, so
 * a thousand waits cost one command every few seconds, and one message each.
 *
 * The line listens first, then looks and registers in the same script: an end before that is seen by the look, one after
 * it is told, by the script that ends the task, with all that there is to know. So it works with a retention of 0 as well.
 * Pub/sub is at-most-once, hence the further looks. Each process has a channel of its own: with one for all, every process
 * would get the results of all others.
 */
import { randomInt } from 'node:crypto';
import type { Waiter } from '@mortise/redis';
import { Coalescer, WaiterHub } from '@mortise/redis';
import { ResultTimeoutError } from '../errors.js';
import { resultWait } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import { decodeTaskId } from '../task/task-id.js';

/** The end of a task as `attempts` has it; empty: the task is unknown, or was removed. */
export type End = Buffer;

interface Place {
  end(end: End): void;
  fail(error: unknown): void;
}

const LOOK_MS = 3_000;
const JITTER_MS = 500;
/** A registration outlives a look or two that fail. */
const WATCH_S = 12;
/** Ids in one call: bounds how long it holds the server (about 3 ms). */
const MAX_BATCH = 1_000;
/** As in result.wait.lua: 0 stands for several processes. */
const PROCESSES = 2 ** 20;
const MAX_TIMER_MS = 2 ** 31 - 1;

let lines = 0;

export class ResultWaiter {
  readonly #shard: Shard;
  readonly #onClose: (line: ResultWaiter) => void;
  readonly #process = randomInt(1, PROCESSES);
  /** By id as stored, as latin1. */
  readonly #places = new Map<string, Set<Place>>();
  readonly #watches: Coalescer<ResultWaiter, Buffer, End | null>;
  readonly #isHeard: Promise<unknown>;
  #waiters: Waiter[] = [];
  #looking: NodeJS.Timeout | undefined;
  #failure: unknown;
  #isClosed = false;

  constructor(shard: Shard, onClose: (line: ResultWaiter) => void) {
    this.#shard = shard;
    this.#onClose = onClose;
    this.#watches = new Coalescer((_, ids) => this.#watch(ids), { maxBatch: MAX_BATCH });
    this.#isHeard = this.#listen();
    this.#isHeard.catch((error: unknown) => this.#close(error));
    this.#lookLater();
  }

  /**
   * Resolves to how the task has ended. Rejects with ERR_RESULT_TIMEOUT, or the reason of the signal.
   *
   * @param deadlineAt On the clock of `performance.now()`, `waitMs` after the caller began.
   */
  wait(
    storedId: Buffer,
    { waitMs, deadlineAt, signal }: { waitMs: number; deadlineAt: number; signal: AbortSignal | undefined },
  ): Promise<End> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const key = storedId.toString('latin1');
      let timer: NodeJS.Timeout | undefined;
      const leave = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#leave(key, place);
      };
      const place: Place = {
        end: (end) => {
          leave();
          resolve(end);
        },
        fail: (error) => {
          leave();
          reject(error);
        },
      };
      const onAbort = (): void => place.fail(signal?.reason);
      const arm = (): void => {
        const left = deadlineAt - performance.now();
        if (left > 0) timer = setTimeout(arm, Math.min(Math.ceil(left), MAX_TIMER_MS));
        else place.fail(this.#timeout(storedId, waitMs));
      };
      this.#join(key, place);
      signal?.addEventListener('abort', onAbort, { once: true });
      const looking = this.#begin(storedId, place);
      // 0 asks for what is known now.
      if (waitMs === 0) void looking.then(() => this.#isIn(key, place) && arm());
      else if (waitMs < Infinity) arm();
    });
  }

  #join(key: string, place: Place): void {
    const places = this.#places.get(key);
    if (places) places.add(place);
    else this.#places.set(key, new Set([place]));
  }

  #isIn(key: string, place: Place): boolean {
    return this.#places.get(key)?.has(place) ?? false;
  }

  #leave(key: string, place: Place): void {
    const places = this.#places.get(key);
    places?.delete(place);
    if (places?.size === 0) this.#places.delete(key);
  }

  async #begin(storedId: Buffer, place: Place): Promise<void> {
    try {
      await this.#isHeard;
      const end = await this.#watches.submit(this, storedId);
      if (end !== null) place.end(end);
    } catch (error) {
      place.fail(error);
    }
  }

  async #watch(ids: readonly Buffer[]): Promise<(End | null)[]> {
    const { tasks, attempts, awaited } = this.#shard.keys.of;
    // Scripts that end tasks have to know the key.
    await this.#shard.enableOptional();
    return (await resultWait.runBuffer(
      this.#shard.redis,
      { tasks, attempts, awaited },
      { process: this.#process, waitS: WATCH_S, ids },
    )) as (End | null)[];
  }

  async #listen(): Promise<void> {
    lines += 1;
    const hub = WaiterHub.of(this.#shard.redis);
    const channel = this.#shard.keys.of.awaited;
    const opening = [channel, `${channel}:${this.#process}`].map((name) => hub.waiter(name, `line-${lines}`));
    const opened = await Promise.allSettled(opening);
    for (const result of opened) {
      if (result.status === 'fulfilled') this.#waiters.push(result.value);
    }
    if (this.#isClosed) this.#closeWaiters();
    await Promise.all(opening);
    for (const waiter of this.#waiters) void this.#hear(waiter);
  }

  async #hear(waiter: Waiter): Promise<void> {
    try {
      while (!this.#isClosed) {
        const wake = await waiter.next();
        if (wake.type === 'message') this.#tell(wake.body);
        else if (wake.type === 'resync') void this.#look();
      }
    } catch (error) {
      this.#close(error);
    }
  }

  /** u16 length · id as stored · its end. */
  #tell(message: Buffer): void {
    const length = 2 + message.readUInt16BE(0);
    this.#end(message.toString('latin1', 2, length), message.subarray(length));
  }

  #end(key: string, end: End): void {
    for (const place of this.#places.get(key) ?? []) place.end(end);
  }

  #lookLater(): void {
    this.#looking = setTimeout(
      () => {
        if (this.#places.size === 0) {
          this.#close(undefined);
          return;
        }
        void this.#look().then(() => !this.#isClosed && this.#lookLater());
      },
      LOOK_MS + Math.random() * JITTER_MS,
      // Who waits is kept alive by its connection.
    ).unref();
  }

  /** Messages may have been missed, and registrations run out. */
  async #look(): Promise<void> {
    try {
      await this.#isHeard;
      await Promise.all(
        Array.from(this.#places.keys(), async (key) => {
          const end = await this.#watches.submit(this, Buffer.from(key, 'latin1'));
          if (end !== null) this.#end(key, end);
        }),
      );
      this.#failure = undefined;
    } catch (error) {
      // The next look may do better; until then who runs out of time is told.
      this.#failure = error;
    }
  }

  #close(error: unknown): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#looking);
    this.#onClose(this);
    this.#closeWaiters();
    for (const places of this.#places.values()) for (const place of places) place.fail(error);
  }

  #closeWaiters(): void {
    for (const waiter of this.#waiters) waiter.close();
  }

  #timeout(storedId: Buffer, waitMs: number): ResultTimeoutError {
    const cause = this.#failure === undefined ? undefined : { cause: this.#failure };
    return new ResultTimeoutError(this.#shard.queue, decodeTaskId(storedId), waitMs, cause);
  }
}

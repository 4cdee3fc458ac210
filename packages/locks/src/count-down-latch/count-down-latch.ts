import type { RedisClient } from '@mortise/redis';
import { requireClient, requireName } from '@mortise/redis';
import { LatchTimeoutError } from '../errors.js';
import { CountDownLatchKeys } from '../keys.js';
import { resolveAcquireOptions, resolveCountDownLatchOptions, resolveCountDownOptions } from '../options.js';
import type {
  CountDownLatchOptions,
  CountDownOptions,
  LatchWaitOptions,
  ResolvedAcquireOptions,
} from '../options.js';
import { LockTelemetry, measured } from '../telemetry/lock-telemetry.js';
import type { LatchTerms } from './latch-waiters.js';
import { Latches } from './latches.js';

/**
 * A latch that opens after `count` count-downs from any processes; then all waiters go on together. A latch opens once. The
 * class is `CountDownLatch` of Java, with `remaining` for `getCount` and `wait` for `await`.
 *
 * A latch begins with the first count-down or wait. It is forgotten `keepMs` after the last one, and the same name is then a
 * new latch. So give each use its own name: `import 2026-11-20`. An object is cheap, has no connection of its own and needs no
 * closing. Objects with the same name and prefix are the same latch.
 */
export class CountDownLatch {
  readonly name: string;
  readonly count: number;
  readonly #latches: Latches;
  readonly #terms: LatchTerms;
  readonly #telemetry: LockTelemetry | undefined;

  /** Throws TypeError or RangeError for a client, name or option that cannot be used. Sends nothing. */
  constructor(redis: RedisClient, name: string, options: CountDownLatchOptions) {
    const { count, keepMs } = resolveCountDownLatchOptions(options);
    this.name = requireName('name', name);
    this.count = count;
    this.#latches = Latches.of(requireClient(redis));
    this.#telemetry = LockTelemetry.of(options.telemetry, 'latch');
    this.#terms = { name, keys: new CountDownLatchKeys(name, options.prefix), count, keepMs };
  }

  /**
   * Counts down by `by`, never below 0, and resolves to the remaining count. The call that reaches 0 opens the latch and wakes
   * all waiters, in the same script. A call with an `id` counts once, however often it is repeated. Without an `id`, a
   * repetition after an error of ioredis may count twice, and open the latch too early. Rejects with LockSettingsError if the
   * latch began with another `count`. One round trip, O(1); count-downs of one latch and tick share it, in their order.
   */
  async countDown(options: CountDownOptions = {}): Promise<number> {
    const { id, by } = resolveCountDownOptions(options, this.count);
    return this.#latches.countDown(this.#terms, id, by);
  }

  /**
   * Resolves when the latch is open. Rejects with LatchTimeoutError after `waitMs`, and with the reason of `signal` when that
   * is aborted. Rejects with LatchLostError when the latch was reset or its keys are gone, and with LockSettingsError if it
   * began with another `count`. Rejects with ERR_CLIENT_CLOSED when the client is closed. Errors of ioredis pass through from
   * the first check; later ones become the cause of LatchTimeoutError. The first waiter of a process costs two round trips,
   * further waiters none. Then each process sends one command a second for each latch. A call with `waitMs: 0` costs one round
   * trip. Safe to repeat.
   */
  async wait(options: LatchWaitOptions = {}): Promise<void> {
    await measured(this.#telemetry, this.#wait(resolveAcquireOptions(options, 'wait')));
  }

  /**
   * The remaining count: 0 when the latch is open, `count` before it begins. Rejects with LockSettingsError if the latch began
   * with another `count`. One round trip, O(1).
   */
  async remaining(): Promise<number> {
    return this.#latches.remaining(this.#terms);
  }

  /**
   * Deletes the latch, whatever its count: the next count-down or wait begins a new one. Waiters get LatchLostError. Resolves
   * to whether the latch had begun. If the client resends the command, no later latch is deleted; then `false` may also mean
   * that the first command was executed. Two round trips, O(1).
   */
  async reset(): Promise<boolean> {
    return this.#latches.reset(this.#terms);
  }

  async #wait({ waitMs, signal }: ResolvedAcquireOptions): Promise<void> {
    signal?.throwIfAborted();
    if (waitMs > 0) await this.#latches.waiters(this.#terms).wait(waitMs, signal);
    else if ((await this.remaining()) > 0) throw new LatchTimeoutError(this.name, waitMs);
  }
}

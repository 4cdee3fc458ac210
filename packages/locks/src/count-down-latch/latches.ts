/** The script calls and the waiters of the latches of one client. Count-downs of one tick for one latch share a call. */
import type { RedisClient } from '@mortise/redis';
import { callRedis, Coalescer, perClient, WaiterHub } from '@mortise/redis';
import { MAX_BATCH } from '../acquire/gate.js';
import { LockSettingsError } from '../errors.js';
import { countDownLatchCount, countDownLatchReset, countDownLatchWatch } from '../scripts.gen.js';
import type { LatchState, LatchTerms } from './latch-waiters.js';
import { LatchWaiters } from './latch-waiters.js';

interface CountDown {
  readonly terms: LatchTerms;
  readonly id: string;
  readonly by: number;
}

/** All latches of one client. */
export class Latches {
  /** The same client always gives the same object. */
  static readonly of = /* @__PURE__ */ perClient((client) => new Latches(client));
  readonly #redis: RedisClient;
  readonly #hub: WaiterHub;
  readonly #waiters = new Map<string, LatchWaiters>();
  readonly #countDowns = new Coalescer<string, CountDown, number>((_, downs) => this.#send(downs), {
    maxBatch: MAX_BATCH,
  });

  private constructor(redis: RedisClient) {
    this.#redis = redis;
    this.#hub = WaiterHub.of(redis);
  }

  /** Resolves to the remaining count. */
  countDown(terms: LatchTerms, id: string, by: number): Promise<number> {
    return this.#countDowns.submit(`${keyOf(terms)} ${terms.keepMs}`, { terms, id, by });
  }

  /** Null when the latch of that epoch is gone. The epoch '' means any, and begins a latch. */
  async watch(terms: LatchTerms, epoch: string): Promise<LatchState | null> {
    const { name, keys, count, keepMs } = terms;
    const reply = await countDownLatchWatch.run(this.#redis, keys, { count, keepMs, epoch });
    const [knownEpoch, knownCount, remaining] = reply as [string | null, string | null, string | null];
    if (knownEpoch === null || (epoch !== '' && epoch !== knownEpoch)) return null;
    if (Number(knownCount) !== count) throw new LockSettingsError('count', name, count, Number(knownCount));
    return { epoch: knownEpoch, remaining: Number(remaining) };
  }

  async remaining({ name, keys, count }: LatchTerms): Promise<number> {
    const reply = await callRedis(this.#redis, 'hmget', [keys.latch, 'count', 'remaining']);
    const [knownCount, remaining] = reply as [string | null, string | null];
    if (knownCount !== null && Number(knownCount) !== count) {
      throw new LockSettingsError('count', name, count, Number(knownCount));
    }
    return remaining === null ? count : Number(remaining);
  }

  /** Resolves to whether it had begun. */
  async reset(terms: LatchTerms): Promise<boolean> {
    const epoch = (await callRedis(this.#redis, 'hget', [terms.keys.latch, 'epoch'])) as string | null;
    if (epoch === null) return false;
    const publish = this.#hub.publishCommand;
    const hadBegun = (await countDownLatchReset.run(this.#redis, terms.keys, { publish, epoch })) === 1;
    // The message may come later than this reply, and later waiters wait for the next latch.
    if (hadBegun) this.#waiters.get(keyOf(terms))?.lose();
    return hadBegun;
  }

  /** The waiters of a latch. New ones subscribe. */
  waiters(terms: LatchTerms): LatchWaiters {
    const key = keyOf(terms);
    const known = this.#waiters.get(key);
    if (known) return known;
    const waiters = new LatchWaiters(
      terms,
      (epoch) => this.watch(terms, epoch),
      this.#hub,
      () => {
        if (this.#waiters.get(key) === waiters) this.#waiters.delete(key);
      },
    );
    this.#waiters.set(key, waiters);
    return waiters;
  }

  async #send(downs: readonly CountDown[]): Promise<(number | Error)[]> {
    const { name, keys, count, keepMs } = downs[0]!.terms;
    const reply = (await countDownLatchCount.run(this.#redis, keys, {
      publish: this.#hub.publishCommand,
      count,
      keepMs,
      downs: downs.flatMap(({ id, by }) => [id, by]),
    })) as number[];
    const [knownCount = 0, ...remaining] = reply;
    if (knownCount === count) return remaining;
    return downs.map(() => new LockSettingsError('count', name, count, knownCount));
  }
}

/** Users with different counts share nothing: some of them will be refused. */
function keyOf({ keys, count }: LatchTerms): string {
  return `${keys.latch} ${count}`;
}

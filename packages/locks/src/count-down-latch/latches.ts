/**
 * What the latches of one client send, and who waits for them. Count-downs of the same tick for the same latch travel
 * together.
 */
import type { RedisClient } from '@mortise/redis';
import { Coalescer, WaiterHub } from '@mortise/redis';
import { LatchCountError } from '../errors.js';
import type { CountDownLatchKeys } from '../keys.js';
import { countDownLatchCount, countDownLatchReset, countDownLatchWatch } from '../scripts.gen.js';
import { MAX_BATCH } from '../waiting/gate.js';
import { perClient } from '../waiting/per-client.js';
import { LatchLine } from './latch-line.js';

/** One latch, as its objects see it. */
export interface LatchTerms {
  readonly name: string;
  readonly keys: CountDownLatchKeys;
  readonly count: number;
  readonly ttlMs: number;
}

/** What a look sees; the epoch is another one when the latch began anew. */
export interface LatchState {
  readonly epoch: string;
  readonly remaining: number;
}

interface CountDown {
  readonly terms: LatchTerms;
  readonly id: string;
  readonly by: number;
}

/** All latches of one client. */
export class Latches {
  /** Those of a client. The same client always gives the same ones. */
  static readonly of = perClient((client) => new Latches(client));
  readonly #redis: RedisClient;
  readonly #hub: WaiterHub;
  readonly #lines = new Map<string, LatchLine>();
  readonly #countDowns = new Coalescer<string, CountDown, number>((_, downs) => this.#send(downs), {
    maxBatch: MAX_BATCH,
  });

  private constructor(redis: RedisClient) {
    this.#redis = redis;
    this.#hub = WaiterHub.of(redis);
  }

  /** Resolves to what remains after it. */
  countDown(terms: LatchTerms, id: string, by: number): Promise<number> {
    return this.#countDowns.submit(`${keyOf(terms)} ${terms.ttlMs}`, { terms, id, by });
  }

  /** Null when the latch of that epoch is gone; '' asks for any, and makes it begin. */
  async watch(terms: LatchTerms, epoch: string): Promise<LatchState | null> {
    const { name, keys, count, ttlMs } = terms;
    const reply = await countDownLatchWatch.run(this.#redis, keys, { count, ttlMs, epoch });
    const [knownEpoch, knownCount, remaining] = reply as [string | null, string | null, string | null];
    if (knownEpoch === null || (epoch !== '' && epoch !== knownEpoch)) return null;
    if (Number(knownCount) !== count) throw new LatchCountError(name, count, Number(knownCount));
    return { epoch: knownEpoch, remaining: Number(remaining) };
  }

  async remaining({ name, keys, count }: LatchTerms): Promise<number> {
    const reply = await this.#redis.call('hmget', [keys.latch, 'count', 'remaining']);
    const [knownCount, remaining] = reply as [string | null, string | null];
    if (knownCount !== null && Number(knownCount) !== count) {
      throw new LatchCountError(name, count, Number(knownCount));
    }
    return remaining === null ? count : Number(remaining);
  }

  /** Resolves to whether it had begun. */
  async reset(terms: LatchTerms): Promise<boolean> {
    const publish = this.#hub.publishCommand;
    const hadBegun = (await countDownLatchReset.run(this.#redis, terms.keys, { publish })) === 1;
    // The message may come later than this reply; who waits from now on waits for the next latch.
    if (hadBegun) this.#lines.get(keyOf(terms))?.lose();
    return hadBegun;
  }

  /** The line of a latch; a new one subscribes. */
  line(terms: LatchTerms): LatchLine {
    const key = keyOf(terms);
    let line = this.#lines.get(key);
    if (!line) {
      const opened = new LatchLine(terms, this, this.#hub, () => {
        if (this.#lines.get(key) === opened) this.#lines.delete(key);
      });
      line = opened;
      this.#lines.set(key, line);
    }
    return line;
  }

  async #send(downs: readonly CountDown[]): Promise<(number | Error)[]> {
    const { name, keys, count, ttlMs } = downs[0]!.terms;
    const reply = (await countDownLatchCount.run(this.#redis, keys, {
      publish: this.#hub.publishCommand,
      count,
      ttlMs,
      downs: downs.flatMap(({ id, by }) => [id, by]),
    })) as number[];
    const [knownCount = 0, ...remaining] = reply;
    if (knownCount === count) return remaining;
    return downs.map(() => new LatchCountError(name, count, knownCount));
  }
}

/** Users of one latch that disagree about its count are kept apart: some of them will be refused. */
function keyOf({ keys, count }: LatchTerms): string {
  return `${keys.latch} ${count}`;
}

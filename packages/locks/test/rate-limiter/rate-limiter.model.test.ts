import { describe, expect, test } from '@jest/globals';
import { RateLimiter } from '@mortise/locks';
import { connect, freshPrefix } from '@mortise/test-kit';
import fc from 'fast-check';
import { MODEL_RUNS } from '../fixture/model-runs.js';
import { rateLimiterTake } from '../../src/scripts.gen.js';

const redis = connect();

/** GCRA in parts of 1/limit µs, as whole numbers of any size. */
class Model {
  #instant = 0n;
  readonly #limit: bigint;
  readonly #interval: bigint;
  readonly #burst: bigint;

  constructor(limit: number, periodMs: number, burst: number) {
    this.#limit = BigInt(limit);
    this.#interval = BigInt(periodMs) * 1_000n;
    this.#burst = BigInt(burst) * this.#interval;
  }

  /** The replies of the script. */
  take(nowUs: bigint, cost: number): number[] {
    const now = nowUs * this.#limit;
    const from = this.#instant > now ? this.#instant : now;
    const next = cost < 0 ? now : from + BigInt(cost) * this.#interval;
    const isAllowed = next <= now + this.#burst;
    const wait = isAllowed ? 0n : this.#ceilUs(next - now - this.#burst);
    this.#instant = isAllowed ? next : from;
    const remaining = (now + this.#burst - this.#instant) / this.#interval;
    return [isAllowed ? 1 : 0, Number(remaining), Number(wait), Number(this.#ceilUs(this.#instant - now))];
  }

  /** The value of the key. */
  get stored(): string {
    const rest = this.#instant % this.#limit;
    return `${this.#instant / this.#limit}${rest > 0n ? `:${rest}` : ''}`;
  }

  #ceilUs(parts: bigint): bigint {
    return (parts + this.#limit - 1n) / this.#limit;
  }
}

const limits = fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 10_000_000 }));
const periods = fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 2_678_400_000 }));

test('every take is answered as the exact model answers it', async () => {
  const scenario = fc.record({
    limit: limits,
    periodMs: periods,
    burstPart: fc.integer({ min: 1, max: 10_000 }),
    batches: fc.array(
      fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 10_000 }), fc.constant(-1)), {
        minLength: 1,
        maxLength: 8,
      }),
      { minLength: 1, maxLength: 12 },
    ),
  });
  const answers: [number, number] = [0, 0];
  await fc.assert(
    fc.asyncProperty(scenario, async ({ limit, periodMs, burstPart, batches }) => {
      const most = Math.min(10_000_000, Math.floor((366 * 86_400_000 * limit) / periodMs));
      const burst = Math.max(1, Math.ceil(Math.min(most, limit * 2) * (burstPart / 10_000)));
      const model = new Model(limit, periodMs, burst);
      const key = `${freshPrefix()}:{model}`;
      for (const [call, parts] of batches.entries()) {
        // After a take of 1 the instant lies ahead, allowed or not: with it, the script's own time is known to the µs.
        const costs = [...parts.map((part) => (part < 1 ? part : Math.ceil((burst * part) / 10_000))), 1];
        const operands = [call, periodMs * 1_000, limit, burst, ...costs.flatMap((cost) => [1, cost])];
        const pipeline = redis.multi();
        // The first reply of every second call is lost.
        const times = 1 + (call % 2);
        for (let time = 0; time < times; time += 1) {
          pipeline.eval(rateLimiterTake.definition.source, 1, key, ...operands);
        }
        pipeline.get(key);
        const [[, reply], [, value]] = (await pipeline.exec())!.slice(-2) as [
          [null, number[]],
          [null, string | null],
        ];
        const stored = value && value.split(' ')[0]!;
        const refillUs = BigInt(reply.at(-1)!);
        // It lay less than a ms ahead, and the key has ended since.
        if (!stored) {
          model.take(0n, -1);
          continue;
        }
        const [us = '0', rest] = stored.split(':');
        const nowUs = BigInt(us) + (rest === undefined ? 0n : 1n) - refillUs;
        expect(reply).toEqual(costs.flatMap((cost) => model.take(nowUs, cost)));
        for (let index = 0; index < reply.length; index += 4) answers[reply[index] === 1 ? 1 : 0] += 1;
        expect(stored).toBe(model.stored);
      }
      await redis.del(key);
    }),
    { numRuns: 10 * MODEL_RUNS },
  );
  // Both have been seen, whatever the seed.
  expect(Math.min(...answers)).toBeGreaterThan(100);
});

describe('in real time', () => {
  test.each([
    { limit: 20, periodMs: 50, burst: 5 },
    { limit: 7, periodMs: 100, burst: 1 },
    { limit: 300, periodMs: 100, burst: 40 },
  ])('in any window no more is allowed than burst + limit · t / period: %o', async (options) => {
    const { limit, periodMs, burst } = options;
    const prefix = freshPrefix();
    const clients = [redis, connect(), connect()];
    const allowed: { readonly cost: number; readonly from: number; readonly to: number }[] = [];
    const startedAt = performance.now();
    await Promise.all(
      clients.map(async (client, index) => {
        const calls = new RateLimiter(client, 'calls', { ...options, prefix });
        for (let round = 0; performance.now() < startedAt + 400; round += 1) {
          const cost = 1 + ((round + index) % Math.min(3, burst));
          const from = performance.now();
          const results = await Promise.all([calls.take(cost), calls.take(cost)]);
          const to = performance.now();
          for (const { isAllowed } of results) if (isAllowed) allowed.push({ cost, from, to });
        }
      }),
    );
    allowed.sort((a, b) => a.from - b.from);
    let worst = -Infinity;
    for (const [index, first] of allowed.entries()) {
      // Only takes that certainly lie in the window count.
      const inside = allowed.slice(index).toSorted((a, b) => a.to - b.to);
      let permits = 0;
      for (const { cost, to } of inside) {
        permits += cost;
        worst = Math.max(worst, permits - burst - (limit * (to - first.from)) / periodMs);
      }
    }
    expect(worst).toBeLessThanOrEqual(1e-6);
    expect(allowed.length).toBeGreaterThan(0);
  });
});

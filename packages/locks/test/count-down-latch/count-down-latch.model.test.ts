import { expect, test } from '@jest/globals';
import { CountDownLatch } from '@mortise/locks';
import { connect, freshPrefix } from '@mortise/test-kit';
import fc from 'fast-check';
import { MODEL_RUNS } from '../fixture/model-runs.js';
import { roundTrips } from '../fixture/round-trips.js';

const clients = [connect(), connect()];

type Step =
  | { readonly do: 'count'; readonly client: number; readonly id: string | undefined; readonly by: number }
  | { readonly do: 'wait' | 'reset' | 'remaining'; readonly client: number };

const client = fc.nat(1);
const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('count' as const),
        client,
        id: fc.option(fc.constantFrom('a', 'b', 'c', 'd'), { nil: undefined }),
        by: fc.integer({ min: 1, max: 3 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constantFrom('wait' as const, 'remaining' as const), client }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('reset' as const), client }) },
  ),
  { minLength: 1, maxLength: 25, size: 'max' },
);

test('any order of count-downs, waits and resets ends as in the model', async () => {
  const seen = { open: 0, ERR_LATCH_LOST: 0 };
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 3, max: 12 }), steps, async (count, all: readonly Step[]) => {
      const prefix = freshPrefix();
      const gates = clients.map((redis) => new CountDownLatch(redis, 'latch', { count, prefix }));
      let remaining = count;
      let hasBegun = false;
      const ids = new Set<string>();
      /** The result of each call, and that of the model. */
      const answers: [number | boolean, number | boolean][] = [];
      // The waits for the present latch; their expected ends are known when it ends.
      let waits: Promise<string>[] = [];
      const expectEnds = async (end: keyof typeof seen): Promise<void> => {
        expect(await Promise.all(waits)).toEqual(waits.map(() => end));
        seen[end] += waits.length;
        waits = [];
      };
      for (const step of all) {
        const gate = gates[step.client]!;
        if (step.do === 'count') {
          hasBegun = true;
          const { id, by } = step;
          if (id === undefined || !ids.has(id)) remaining = Math.max(0, remaining - by);
          if (id !== undefined) ids.add(id);
          answers.push([await gate.countDown({ id, by }), remaining]);
        } else if (step.do === 'remaining') {
          answers.push([await gate.remaining(), remaining]);
        } else if (step.do === 'reset') {
          answers.push([await gate.reset(), hasBegun]);
          await expectEnds('ERR_LATCH_LOST');
          [remaining, hasBegun] = [count, false];
          ids.clear();
        } else {
          const end = gate.wait({ waitMs: 20_000 }).then(
            () => 'open',
            (error: { code: string }) => error.code,
          );
          waits.push(end);
          await roundTrips(clients[step.client]!);
          hasBegun = true;
        }
        if (remaining === 0) await expectEnds('open');
      }
      expect(answers.map(([given]) => given)).toEqual(answers.map(([, expected]) => expected));
      await gates[0]!.countDown({ by: count });
      if (waits.length > 0) await expectEnds('open');
    }),
    { numRuns: MODEL_RUNS },
  );
  // Both ends have been seen, whatever the seed.
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(0);
});

test('a thousand count-downs of many callers at once open the latch once, at the last', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 2, max: 1_000 }),
      fc.integer({ min: 1, max: 20 }),
      async (count, callers) => {
        const prefix = freshPrefix();
        const gates = clients.map((redis) => new CountDownLatch(redis, 'latch', { count, prefix }));
        let counted = 0;
        const opens = gates.map(async (gate) => {
          await gate.wait({ waitMs: 20_000 });
          return counted;
        });
        const zeros: number[] = [];
        let next = 0;
        await Promise.all(
          Array.from({ length: callers }, async (_, caller) => {
            while (next < count) {
              const id = String((next += 1));
              counted += 1;
              const gate = gates[caller % 2]!;
              // Each is repeated, as after a lost reply.
              const [remaining] = await Promise.all([gate.countDown({ id }), gate.countDown({ id })]);
              if (remaining === 0) zeros.push(counted);
            }
          }),
        );
        // Sent by then, all of them: it has not opened earlier.
        expect(await Promise.all(opens)).toEqual([count, count]);
        expect(zeros.length).toBeGreaterThan(0);
        expect(await gates[0]!.remaining()).toBe(0);
      },
    ),
    { numRuns: Math.ceil(MODEL_RUNS / 3) },
  );
});

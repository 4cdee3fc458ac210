import { expect, test } from '@jest/globals';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import * as fc from 'fast-check';
import type { Step } from './semaphore-model.js';
import { SemaphoreModel } from './semaphore-model.js';

const redis = connect();
const clients = [connect(), connect(), connect()];

const client = fc.nat(clients.length - 1);
const holder = fc.nat(3);
// No request is heavier than the least limit: those are refused, which takes a re-check.
const permits = fc.integer({ min: 1, max: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('acquire' as const), client, permits }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('try' as const), client, permits }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('release' as const), holder }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('cancel' as const), waiter: fc.nat(6) }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constantFrom('releaseFor' as const, 'renew' as const), holder }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('expire' as const), holder, client }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('setPermits' as const),
      client,
      permits: fc.integer({ min: 2, max: 5 }),
    }),
  },
);

test('behaves like holders, a queue and a limit, whoever asks', async () => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
    const prefix = freshPrefix();
    const model = new SemaphoreModel(redis, clients, prefix);
    for (const [id, next] of steps.entries()) {
      const result = await model.take(id, next);
      expect([next, result.seen]).toEqual([next, result.expected]);
      const state = await model.look();
      expect(state.seen).toEqual(state.expected);
    }
    await model.end();
    // A waiter that gave up leaves the queue on another connection.
    const keys = ['permits-queue', 'permits'].map((part) => `${prefix}:locks:{pool}:${part}`);
    await until('nothing to be left', async () => (await redis.exists(keys)) === 0);
  });
  await fc.assert(property, { numRuns: 60 });
});

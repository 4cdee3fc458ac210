import { expect, test } from '@jest/globals';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import * as fc from 'fast-check';
import type { Step } from '../fixture/mutex-model.js';
import { MutexModel } from '../fixture/mutex-model.js';

const redis = connect();
const clients = [connect(), connect(), connect()];

const client = fc.nat(clients.length - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant('acquire' as const), client }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('try' as const), client }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('release' as const) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('cancel' as const), waiter: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('force' as const, 'renew' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('expire' as const), client }) },
);

test('behaves like a holder and an array of waiters, whoever asks', async () => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
    const prefix = freshPrefix();
    const model = new MutexModel(redis, clients, prefix);
    for (const [id, next] of steps.entries()) {
      const result = await model.take(id, next);
      expect([next, result.seen]).toEqual([next, result.expected]);
      const state = await model.look();
      expect(state.seen).toEqual(state.expected);
    }
    await model.end();
    // A waiter that gave up leaves the queue on another connection.
    const keys = ['queue', 'lease'].map((part) => `${prefix}:locks:{lock}:${part}`);
    await until('nothing to be left', async () => (await redis.exists(keys)) === 0);
  });
  await fc.assert(property, { numRuns: 60 });
});

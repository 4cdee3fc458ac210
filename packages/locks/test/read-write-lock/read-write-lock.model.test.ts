import { expect, test } from '@jest/globals';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import * as fc from 'fast-check';
import type { ReadWriteStep } from './read-write-lock-model.js';
import { ReadWriteLockModel } from './read-write-lock-model.js';

const redis = connect();
const clients = [connect(), connect(), connect()];

const client = fc.nat(clients.length - 1);
const side = fc.constantFrom('read' as const, 'read' as const, 'write' as const);
const holder = fc.nat(9);
const step: fc.Arbitrary<ReadWriteStep> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ type: fc.constant('acquire' as const), side, client }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('try' as const), side, client }) },
  { weight: 7, arbitrary: fc.record({ type: fc.constant('release' as const), holder }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constantFrom('renew' as const, 'downgrade' as const), holder }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('cancel' as const), waiter: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('force' as const), side }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('expire' as const), holder, side, client }) },
);

test('behaves like those who are in and an array of those who wait, whoever asks', async () => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
    const prefix = freshPrefix();
    const model = new ReadWriteLockModel(redis, clients, prefix);
    for (const [index, next] of steps.entries()) {
      const result = await model.take(index, next);
      expect([next, result.seen]).toEqual([next, result.expected]);
      const state = await model.look();
      expect(state.seen).toEqual(state.expected);
    }
    await model.end();
    // A waiter that gave up leaves the queue on another connection.
    await until('nothing to be left', async () =>
      (await redis.keys(`${prefix}:*`)).every((key) => key.endsWith(':rw-token')),
    );
  });
  await fc.assert(property, { numRuns: 60 });
});

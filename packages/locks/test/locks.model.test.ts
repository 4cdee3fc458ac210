/** Random operations of three clients on a Mutex, a ReadWriteLock and a Semaphore beside their models. */
import { expect, test } from '@jest/globals';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import * as fc from 'fast-check';
import type { Comparison, Model } from './fixture/model.js';
import { MODEL_RUNS } from './fixture/model-runs.js';
import type { SemaphoreStep } from './fixture/semaphore-model.js';
import { SemaphoreModel } from './fixture/semaphore-model.js';
import type { Make, Side, SideStep } from './fixture/sides-model.js';
import { mutexSides, readWriteSides, SidesModel } from './fixture/sides-model.js';

const redis = connect();
const clients = [connect(), connect(), connect()];

/** Without shrinking, which would wait for each grant that does not come. */
const SETTINGS = { numRuns: MODEL_RUNS, endOnFailure: true };

const client = fc.nat(clients.length - 1);
const holder = fc.nat(9);
const waiter = fc.nat(9);

/** A step of some type, as often as its weight says among the others. */
function weighted<Type extends string, Operands>(
  weight: number,
  type: Type | fc.Arbitrary<Type>,
  operands: { readonly [Name in keyof Operands]: fc.Arbitrary<Operands[Name]> },
): { weight: number; arbitrary: fc.Arbitrary<{ type: Type } & Operands> } {
  const types = typeof type === 'string' ? fc.constant(type) : type;
  const arbitrary = fc.record({ type: types, ...operands }) as fc.Arbitrary<{ type: Type } & Operands>;
  return { weight, arbitrary };
}

const side = fc.constantFrom<Side>('read', 'read', 'write');
const write = fc.constant<Side>('write');
const SIDES: readonly [string, Make, fc.Arbitrary<SideStep>, maxSteps: number, kept: string][] = [
  [
    'a Mutex',
    mutexSides,
    fc.oneof(
      weighted(5, 'acquire', { side: write, client }),
      weighted(2, 'try', { side: write, client }),
      weighted(4, 'release', { holder }),
      weighted(1, 'renew', { holder }),
      weighted(2, 'cancel', { waiter }),
      weighted(1, 'force', { side: write }),
      weighted(1, 'expire', { holder, side: write, client }),
    ),
    25,
    'token',
  ],
  [
    'a ReadWriteLock',
    readWriteSides,
    fc.oneof(
      weighted(8, 'acquire', { side, client }),
      weighted(2, 'try', { side, client }),
      weighted(7, 'release', { holder }),
      weighted(2, fc.constantFrom('renew', 'downgrade'), { holder }),
      weighted(2, 'cancel', { waiter }),
      weighted(1, 'force', { side }),
      weighted(1, 'expire', { holder, side, client }),
    ),
    30,
    'rw-token',
  ],
];

// No request is heavier than the least limit: those are refused, which takes a re-check.
const permits = fc.integer({ min: 1, max: 2 });
const some = fc.nat(3);
const semaphoreStep: fc.Arbitrary<SemaphoreStep> = fc.oneof(
  weighted(6, 'acquire', { client, permits }),
  weighted(2, 'try', { client, permits }),
  weighted(4, 'release', { holder: some }),
  weighted(2, 'cancel', { waiter: fc.nat(6) }),
  weighted(2, fc.constantFrom('releaseFor', 'renew'), { holder: some }),
  weighted(1, 'expire', { holder: some, client }),
  weighted(1, 'setPermits', { client, permits: fc.integer({ min: 2, max: 5 }) }),
);

/** The result of each step and the state after it, with those of the model. @param kept The only key that stays. */
async function* played<Step>(
  make: (prefix: string) => Model<Step>,
  steps: readonly Step[],
  kept: string,
): AsyncGenerator<Comparison> {
  const prefix = freshPrefix();
  const model = make(prefix);
  for (const [id, step] of steps.entries()) {
    const { seen, expected } = await model.take(id, step);
    yield { seen: [step, seen], expected: [step, expected] };
    yield model.look();
  }
  await model.end();
  // A waiter that gave up leaves the queue on another connection.
  await until('nothing to be left', async () =>
    (await redis.keys(`${prefix}:*`)).every((key) => key.endsWith(`:${kept}`)),
  );
}

test.each(SIDES)(
  '%s behaves like those who are in and an array of those who wait, whoever asks',
  async (_, make, step, maxLength, kept) => {
    const property = fc.asyncProperty(fc.array(step, { maxLength, size: 'max' }), async (steps) => {
      const all = played((prefix) => new SidesModel(make, clients, prefix), steps, kept);
      for await (const { seen, expected } of all) expect(seen).toEqual(expected);
    });
    await fc.assert(property, SETTINGS);
  },
);

test('a Semaphore behaves like holders, a queue and a limit, whoever asks', async () => {
  const property = fc.asyncProperty(
    fc.array(semaphoreStep, { maxLength: 25, size: 'max' }),
    async (steps) => {
      const all = played((prefix) => new SemaphoreModel(redis, clients, prefix), steps, 'permits-state');
      for await (const { seen, expected } of all) expect(seen).toEqual(expected);
    },
  );
  await fc.assert(property, SETTINGS);
});

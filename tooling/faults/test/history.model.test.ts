import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { check } from '../src/history/check.js';
import { mutexModel } from '../src/history/mutex-model.js';
import { readWriteModel } from '../src/history/read-write-model.js';
import { semaphoreModel } from '../src/history/semaphore-model.js';
import { leaseHistory } from './lease-history.js';
import type { SimulatedLock, SimulatedAcquisition } from './simulated-lock.js';
import { simulate } from './simulated-lock.js';

const LIMIT = 5;
const LEASE_MS = 100;

const turn: fc.Arbitrary<SimulatedAcquisition> = fc.record({
  startAt: fc.integer({ min: 0, max: 2_000 }),
  requestMs: fc.integer({ min: 1, max: 20 }),
  replyMs: fc.integer({ min: 1, max: 20 }),
  holdMs: fc.oneof(fc.integer({ min: 2, max: 30 }), fc.integer({ min: 60, max: 150 })),
  releaseMs: fc.integer({ min: 1, max: 20 }),
  releaseReplyMs: fc.integer({ min: 1, max: 20 }),
  isKilled: fc.integer({ min: 0, max: 19 }).map((number) => number === 0),
  isReader: fc.boolean(),
  permits: fc.integer({ min: 1, max: 3 }),
});
const turns = fc.array(turn, { minLength: 1, maxLength: 150 });

const permitsOf = (held: readonly SimulatedAcquisition[]): number =>
  held.reduce((sum, { permits }) => sum + permits, 0);

const mutex: SimulatedLock = { leaseMs: LEASE_MS, fits: (held) => held.length === 0 };
const semaphore: SimulatedLock = {
  leaseMs: LEASE_MS,
  fits: (held, next) => permitsOf(held) + next.permits <= LIMIT,
};
const readWrite: SimulatedLock = {
  leaseMs: LEASE_MS,
  fits: (held, { isReader }) => held.length === 0 || (isReader && held.every((holder) => holder.isReader)),
};

describe.each([
  { name: 'mutex', lock: mutex, model: mutexModel },
  { name: 'semaphore', lock: semaphore, model: semaphoreModel(LIMIT) },
  { name: 'read-write lock', lock: readWrite, model: readWriteModel },
])('$name', ({ name, lock, model }) => {
  const rulesOf = (operations: Parameters<typeof check>[0]['operations']): string[] => {
    const violations = check({ operations }, model as typeof mutexModel);
    return [...new Set(violations.map(({ rule }) => rule))].toSorted();
  };
  const shapeOf = (taken: SimulatedAcquisition): SimulatedAcquisition =>
    name === 'semaphore'
      ? taken
      : { ...taken, permits: 1, isReader: name === 'read-write lock' && taken.isReader };

  test('histories of a correct one pass', () => {
    fc.assert(
      fc.property(turns, (all) => {
        expect(rulesOf(simulate(all.map(shapeOf), lock).operations)).toEqual([]);
      }),
    );
  });

  test('the same with one lease too many fail', () => {
    fc.assert(
      fc.property(turns, fc.nat(), (all, pick) => {
        const { operations, leases } = simulate(all.map(shapeOf), lock);
        const relied = leases.filter(({ grantedAt, reliedUntil }) => reliedUntil > grantedAt + 1);
        fc.pre(relied.length > 0);
        const { grantedAt, token } = relied[pick % relied.length]!;
        // Asked for, granted and in use while the other one is.
        const tooMany = leaseHistory('forged', {
          granted: [grantedAt + 0.1, grantedAt + 0.2],
          token: token + 5,
          released: [grantedAt + 0.5, grantedAt + 0.6],
          permits: LIMIT,
        });
        expect(rulesOf([...operations, ...tooMany])).toEqual(
          expect.arrayContaining(['linearizability', 'validity']),
        );
      }),
    );
  });
});

test('a history of 100,000 operations is read in seconds', () => {
  const many = Array.from({ length: 50_000 }, (_, index): SimulatedAcquisition => ({
    startAt: index * 20 - (index % 7) * 40,
    requestMs: 1 + (index % 5),
    replyMs: 1 + (index % 3),
    holdMs: 2 + (index % 11),
    releaseMs: 1 + (index % 4),
    releaseReplyMs: 1 + (index % 6),
    isKilled: index % 1_000 === 0,
    isReader: index % 3 === 0,
    permits: 1 + (index % 3),
  }));
  const { operations } = simulateInParts(many);
  expect(operations.length).toBeGreaterThan(99_000);
  const startedAt = performance.now();
  expect(check({ operations }, semaphoreModel(LIMIT))).toEqual([]);
  expect(performance.now() - startedAt).toBeLessThan(45_000);
});

/** The agenda of the simulation is sorted anew at each step; what is far apart doesn't meet. */
function simulateInParts(many: readonly SimulatedAcquisition[]): ReturnType<typeof simulate> {
  const all: ReturnType<typeof simulate> = { operations: [], leases: [] };
  for (let from = 0; from < many.length; from += 500) {
    const { operations } = simulate(many.slice(from, from + 500), semaphore);
    const offset = from * 1_000;
    for (const operation of operations) {
      all.operations.push({
        ...operation,
        id: `${from}-${operation.id}`,
        lease: `${from}-${operation.lease}`,
        calledAt: operation.calledAt + offset,
        returnedAt: operation.returnedAt! + offset,
        ...('validUntil' in operation && { validUntil: operation.validUntil + offset }),
        ...('fencingToken' in operation && { fencingToken: operation.fencingToken + offset }),
      });
    }
  }
  return all;
}

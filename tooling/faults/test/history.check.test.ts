import { describe, expect, test } from '@jest/globals';
import { check } from '../src/history/check.js';
import type { Model } from '../src/history/model.js';
import { mutexModel } from '../src/history/mutex-model.js';
import type { History, Violation } from '../src/history/operation.js';
import { readWriteModel } from '../src/history/read-write-model.js';
import { semaphoreModel } from '../src/history/semaphore-model.js';
import type { LeaseShape } from './lease-history.js';
import { leaseHistory } from './lease-history.js';

type Leases = Readonly<Record<string, LeaseShape>>;

function historyOf(leases: Leases): History {
  return { operations: Object.entries(leases).flatMap(([lease, shape]) => leaseHistory(lease, shape)) };
}

/** The rules that are broken. */
function broken<State>(
  leases: Leases,
  model: Model<State>,
  more: Partial<History> = {},
  killedClients: readonly string[] = [],
): Violation['rule'][] {
  const history = { ...historyOf(leases), ...more };
  const violations = check(history, model, { killedClients: new Set(killedClients) });
  return [...new Set(violations.map(({ rule }) => rule))].toSorted();
}

describe('mutex', () => {
  test('one after the other is right', () => {
    const leases: Leases = {
      a: { granted: [0, 10], token: 1, released: [20, 30] },
      b: { granted: [5, 25], token: 2, released: [40, 50] },
      c: { granted: [41, 60], token: 3, released: [61, 62] },
    };
    expect(broken(leases, mutexModel)).toEqual([]);
  });

  test('a lease that ran out may be followed by another, before its release says that it was lost', () => {
    const leases: Leases = {
      a: { granted: [0, 10], token: 1, validUntil: 100, released: [150, 160, 'lost'] },
      b: { granted: [90, 120], token: 2, released: [130, 140] },
    };
    expect(broken(leases, mutexModel)).toEqual([]);
  });

  test('of a killed process, the lease may run out, and its last release may have come through', () => {
    const leases: Leases = {
      a: { granted: [0, 10], token: 1, validUntil: 100 },
      b: { granted: [5, 120], token: 2, validUntil: 500, released: [130, null, 'unknown'] },
      c: { granted: [121, 140], token: 3, released: [150, 160] },
    };
    expect(broken(leases, mutexModel, {}, ['b'])).toEqual([]);
  });

  test('two who believe in it at the same time are found', () => {
    const leases: Leases = {
      a: { granted: [0, 10], token: 1, released: [40, 50] },
      b: { granted: [20, 30], token: 2, released: [60, 70] },
    };
    expect(broken(leases, mutexModel)).toEqual(['linearizability', 'validity']);
  });

  test('a grant before the end of the lease of a killed process is found', () => {
    const leases: Leases = {
      a: { granted: [0, 10], token: 1, validUntil: 100 },
      b: { granted: [20, 90], token: 2, released: [110, 120] },
    };
    expect(broken(leases, mutexModel)).toEqual(['linearizability', 'validity']);
  });

  test('a grant that no order explains is found also where nobody believes', () => {
    // It was granted and over for its own client before it learned of it, but the server still said "released".
    const leases: Leases = {
      a: { granted: [0, 50], token: 1, validUntil: 45, released: [60, 70] },
      b: { granted: [51, 55], token: 2, released: [56, 58] },
    };
    expect(broken(leases, mutexModel)).toEqual(['linearizability']);
  });

  test('a release that says lost while the lease lasts is found', () => {
    const leases: Leases = { a: { granted: [0, 10], token: 1, validUntil: 100, released: [20, 30, 'lost'] } };
    expect(broken(leases, mutexModel)).toEqual(['linearizability']);
    // Unless the release was sent twice.
    expect(broken(leases, mutexModel, { hasRepeats: true })).toEqual([]);
  });

  test('a release that says lost while the lease lasts is found where no connection broke', () => {
    const leases: Leases = { a: { granted: [0, 10], token: 1, validUntil: 100, released: [20, 30, 'lost'] } };
    expect(broken(leases, mutexModel, { hasRepeats: [{ from: 25, to: 40 }] })).toEqual([]);
    expect(broken(leases, mutexModel, { hasRepeats: [{ from: 31, to: 40 }] })).toEqual(['linearizability']);
  });

  // Each leaves a second release that never took place: to pass all of them at each step takes more looks than there are.
  test('a long history of leases that were over before their release is checked to its end', () => {
    const leases = Object.fromEntries(
      Array.from({ length: 12_000 }, (_, index): [string, LeaseShape] => {
        const at = 20 * index;
        const released = [at + 12, at + 13, 'lost'] as const;
        return [`l${index}`, { granted: [at, at + 1], token: index + 1, validUntil: at + 10, released }];
      }),
    );
    expect(broken(leases, mutexModel, { hasRepeats: true })).toEqual([]);
    const last = { ...leases['l11999']!, granted: [20 * 11_998 + 3, 20 * 11_998 + 4] as const };
    expect(broken({ ...leases, l11999: last }, mutexModel, { hasRepeats: true })).toContain(
      'linearizability',
    );
  });

  test('a token that is not greater than one that was given before is found', () => {
    const leases: Leases = {
      a: { granted: [0, 10], token: 5, released: [20, 30] },
      b: { granted: [40, 50], token: 4, released: [60, 70] },
    };
    expect(broken(leases, mutexModel)).toEqual(['linearizability', 'token order']);
  });

  test('a token that is given twice is found', () => {
    const leases: Leases = {
      a: { granted: [0, 10], token: 5, released: [20, 30] },
      b: { granted: [5, 25], token: 5, released: [60, 70] },
    };
    expect(broken(leases, mutexModel)).toEqual(['token order']);
  });

  test('no key hides a violation of another key', () => {
    const leases: Leases = {
      a: { granted: [0, 10], token: 1, released: [40, 50], key: 'x' },
      b: { granted: [20, 30], token: 2, released: [60, 70], key: 'y' },
      c: { granted: [21, 31], token: 3, released: [60, 70], key: 'y' },
    };
    const violations = check(historyOf(leases), mutexModel);
    expect(new Set(violations.map(({ key }) => key))).toEqual(new Set(['y']));
    expect(violations.map(({ message }) => message).join()).toContain('lease c (token 3');
  });
});

describe('a loss of data', () => {
  const overlap: Leases = {
    a: { granted: [0, 10], token: 1, released: [90, 100, 'lost'] },
    b: { granted: [50, 60], token: 2, released: [70, 80] },
  };

  test('lets somebody else in while a lease lasts that may be forgotten', () => {
    expect(broken(overlap, mutexModel, { losses: [{ from: 30, to: 40 }] })).toEqual([]);
  });

  test('excuses nothing that was granted after it', () => {
    const losses = [{ from: -20, to: -10 }];
    expect(broken(overlap, mutexModel, { losses })).toEqual(['linearizability', 'validity']);
  });

  test('excuses nothing that happened before it', () => {
    const losses = [{ from: 65, to: 66 }];
    expect(broken(overlap, mutexModel, { losses })).toEqual(['linearizability', 'validity']);
  });

  test('does not excuse tokens', () => {
    const leases: Leases = { ...overlap, b: { ...overlap['b']!, token: 0 } };
    expect(broken(leases, mutexModel, { losses: [{ from: 30, to: 40 }] })).toContain('token order');
  });
});

describe('semaphore', () => {
  test('up to the limit is right, in whatever order they end', () => {
    const leases: Leases = {
      a: { granted: [0, 10], token: 1, permits: 2, released: [80, 90] },
      b: { granted: [0, 11], token: 2, released: [20, 40] },
      c: { granted: [5, 30], token: 3, released: [50, 60] },
      d: { granted: [5, 55], token: 4, released: [61, 62] },
    };
    expect(broken(leases, semaphoreModel(3))).toEqual([]);
  });

  test('without tokens as well', () => {
    const leases: Leases = {
      a: { granted: [0, 10], released: [80, 90] },
      b: { granted: [0, 11], released: [20, 40] },
      c: { granted: [5, 30], released: [50, 60] },
    };
    expect(broken(leases, semaphoreModel(2))).toEqual([]);
    expect(broken(leases, semaphoreModel(1))).toEqual(['linearizability', 'validity']);
  });

  test('more than the limit is found', () => {
    const leases: Leases = {
      a: { granted: [0, 10], token: 1, permits: 2, released: [80, 90] },
      b: { granted: [0, 11], token: 2, released: [20, 40] },
      c: { granted: [5, 30], token: 3, permits: 2, released: [50, 60] },
    };
    expect(broken(leases, semaphoreModel(3))).toEqual(['linearizability', 'validity']);
  });
});

describe('read-write lock', () => {
  test('readers together and writers alone are right', () => {
    const leases: Leases = {
      a: { granted: [0, 10], token: 1, mode: 'read', released: [50, 60] },
      b: { granted: [0, 11], token: 2, mode: 'read', released: [20, 40] },
      c: { granted: [5, 65], token: 3, mode: 'write', released: [70, 80] },
      d: { granted: [5, 75], token: 4, mode: 'read', released: [81, 82] },
    };
    expect(broken(leases, readWriteModel)).toEqual([]);
  });

  test.each([
    ['read', 'write'],
    ['write', 'read'],
    ['write', 'write'],
  ] as const)('a %s lease and a %s lease at once are found', (first, second) => {
    const leases: Leases = {
      a: { granted: [0, 10], token: 1, mode: first, released: [50, 60] },
      b: { granted: [15, 20], token: 2, mode: second, released: [40, 45] },
    };
    expect(broken(leases, readWriteModel)).toEqual(['linearizability', 'validity']);
  });
});

describe('sections', () => {
  const inTurn = (first: LeaseShape['section'], second: LeaseShape['section']): Leases => ({
    a: { granted: [0, 10], token: 1, released: [20, 30], ...(first && { section: first }) },
    b: { granted: [40, 50], token: 2, released: [60, 70], ...(second && { section: second }) },
  });

  test('that all count are right', () => {
    const leases = inTurn({ outcome: 'written', value: 1 }, { outcome: 'written', value: 2 });
    expect(broken(leases, mutexModel)).toEqual([]);
  });

  test('of which one undid another are found', () => {
    const leases = inTurn({ outcome: 'written', value: 1 }, { outcome: 'written', value: 1 });
    expect(broken(leases, mutexModel)).toEqual(['lost update']);
  });

  test('that count what nobody counted are found', () => {
    const leases = inTurn({ outcome: 'written', value: 1 }, { outcome: 'written', value: 3 });
    expect(broken(leases, mutexModel)).toEqual(['lost update']);
  });

  test('may have counted when their process was killed', () => {
    const leases = inTurn({ outcome: 'abandoned', returnedAt: null }, { outcome: 'written', value: 2 });
    expect(broken(leases, mutexModel, {}, ['a'])).toEqual([]);
  });

  test('that are refused with a valid lease are found', () => {
    const leases = inTurn({ outcome: 'refused' }, { outcome: 'written', value: 1 });
    expect(broken(leases, mutexModel)).toEqual(['fencing']);
  });

  test('that are refused after their lease are right', () => {
    const leases = inTurn({ outcome: 'refused', isValid: false }, { outcome: 'written', value: 1 });
    expect(broken(leases, mutexModel)).toEqual([]);
  });

  test('of a reader that saw a write are found', () => {
    const leases = inTurn({ outcome: 'torn', value: 1 }, { outcome: 'written', value: 1 });
    expect(broken(leases, mutexModel)).toEqual(['lost update']);
  });
});

describe('progress', () => {
  const held: Leases = { a: { granted: [0, 10], token: 1, released: [20, null, 'unknown'] } };
  const waited = (waitMs: number): History => ({
    operations: [
      {
        id: 'c/1',
        op: 'acquire',
        key: 'k',
        lease: 'c/1',
        calledAt: 0,
        returnedAt: 9,
        outcome: 'timeout',
        waitMs,
      },
    ],
  });

  test('a call that never returned is found, unless its process was killed', () => {
    expect(broken(held, mutexModel)).toEqual(['progress']);
    expect(broken(held, mutexModel, {}, ['a'])).toEqual([]);
  });

  test('a call that waited in vain is found, unless its wait was short', () => {
    expect(check(waited(20_000), mutexModel).map(({ rule }) => rule)).toEqual(['progress']);
    expect(check(waited(20), mutexModel)).toEqual([]);
  });
});

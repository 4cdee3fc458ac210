/** The drawing of faults, and the judgement of the hour: what it is blind to, a run of an hour would not find either. */
import { describe as group, expect, test } from '@jest/globals';
import { drawFaults, FAULTS } from '../src/hour/draw.js';
import type { Sample } from '../src/hour/memory.js';
import type { HourReport } from '../src/hour/report.js';
import { describe, problemsOf } from '../src/hour/report.js';
import { isExcused } from '../src/hour/workload.js';
import { failuresOf } from '../src/hour/workloads/locks.js';
import type { Books } from '../src/market/books.js';
import { itemsOf, moneyOf } from '../src/market/books.js';

const MIB = 1_048_576;

function sample(heapMiB: number, files = 30): Sample {
  return { heapBytes: heapMiB * MIB, rssBytes: 60 * MIB, files };
}

function reportOf(changes: Partial<HourReport> = {}): HourReport {
  return {
    seed: 1,
    on: 'cluster',
    seconds: 600,
    faults: [],
    workloads: [
      { name: 'queues', violations: [], figures: { accepted: 10 }, left: { expiring: 2, leaked: [] } },
    ],
    processes: [{ name: 'queues, worker', keepsEvidence: false, early: sample(10), late: sample(11) }],
    connections: { early: 40, late: 42, left: 0 },
    failures: [],
    ...changes,
  };
}

group('the faults', () => {
  test.each(['cluster', 'sentinel'] as const)('of %s follow from the seed', (on) => {
    expect(drawFaults(7, on, 200)).toEqual(drawFaults(7, on, 200));
    expect(drawFaults(7, on, 200)).not.toEqual(drawFaults(8, on, 200));
    // A longer run begins as a shorter one.
    expect(drawFaults(7, on, 200).slice(0, 9)).toEqual(drawFaults(7, on, 9));
  });

  test.each(['cluster', 'sentinel'] as const)('of %s are all drawn before one comes again', (on) => {
    const all = FAULTS[on];
    const drawn = drawFaults(3, on, 2 * all.length).map(({ name }) => name);
    expect(new Set(drawn.slice(0, all.length))).toEqual(new Set(all));
    expect(new Set(drawn.slice(all.length))).toEqual(new Set(all));
  });

  test('neighbouring seeds begin with different ones', () => {
    const first = Array.from({ length: 40 }, (_, seed) => drawFaults(seed, 'cluster', 1)[0]!.name);
    expect(new Set(first).size).toBeGreaterThan(8);
  });
});

group('the judgement', () => {
  test('finds nothing in a run without violation and leak', () => {
    expect(problemsOf(reportOf())).toEqual([]);
    expect(describe(reportOf())).toContain('no violation, no leak');
  });

  test.each<[string, Partial<HourReport>, RegExp]>([
    [
      'a violation',
      { workloads: [{ ...reportOf().workloads[0]!, violations: ['lost, task 3'] }] },
      /^queues: lost, task 3$/,
    ],
    [
      'a key that nothing removes',
      { workloads: [{ ...reportOf().workloads[0]!, left: { expiring: 0, leaked: ['p:queues:{q}:x'] } }] },
      /^queues: the key p:queues:\{q\}:x is left$/,
    ],
    [
      'memory that grows',
      { processes: [{ name: 'worker', keepsEvidence: false, early: sample(10), late: sample(20) }] },
      /^worker has grown from 10\.0 MiB to 20\.0 MiB$/,
    ],
    [
      'connections of a process that grow',
      { processes: [{ name: 'worker', keepsEvidence: false, early: sample(10), late: sample(10, 60) }] },
      /^worker has 60 open files, and had 30$/,
    ],
    [
      'a process that is gone',
      { processes: [{ name: 'worker', keepsEvidence: false, early: sample(10), late: undefined }] },
      /^worker has ended before its time$/,
    ],
    ['connections of all', { connections: { early: 40, late: 80, left: 0 } }, /^80 connections at the end/],
    ['connections at the end', { connections: { early: 40, late: 40, left: 2 } }, /^2 connections are left$/],
    ['a run that failed', { failures: ['locks has not moved for 130 s'] }, /^locks has not moved/],
  ])('finds %s', (_, changes, problem) => {
    const problems = problemsOf(reportOf(changes));
    expect(problems).toEqual([expect.stringMatching(problem)]);
    expect(describe(reportOf(changes))).toContain(`✗ ${problems[0]}`);
  });

  test('lets a process grow that keeps evidence', () => {
    const processes = [{ name: 'conductor', keepsEvidence: true, early: sample(10), late: sample(90) }];
    expect(problemsOf(reportOf({ processes }))).toEqual([]);
  });

  test('excuses only what touches a loss', () => {
    const fault = { from: 10, to: 20, mayForget: true, isFlush: false };
    expect(isExcused([fault], { calledAt: 5, answeredAt: 10 })).toBe(true);
    expect(isExcused([fault], { calledAt: 20, answeredAt: 30 })).toBe(true);
    expect(isExcused([fault], { calledAt: 5, answeredAt: 9 })).toBe(false);
    expect(isExcused([fault], { calledAt: 21, answeredAt: 30 })).toBe(false);
    expect(isExcused([{ ...fault, mayForget: false }], { calledAt: 12, answeredAt: 13 })).toBe(false);
  });
});

group('the check of calls of locks', () => {
  const call = {
    id: 'w0.1/3',
    op: 'acquire',
    key: 'lock',
    lease: 'w0.1/3',
    calledAt: 10,
    returnedAt: 20,
  } as const;
  const failed = { ...call, outcome: 'failed', error: 'ERR no' } as const;

  test('finds a call that failed, unless a fault touches it', () => {
    expect(failuresOf([failed], [])).toEqual(['acquire w0.1/3 failed without a fault: ERR no']);
    expect(failuresOf([failed], [{ from: 21, to: 30 }])).toHaveLength(1);
    expect(failuresOf([failed], [{ from: 20, to: 30 }])).toEqual([]);
    expect(failuresOf([{ ...call, outcome: 'acquired' }], [])).toEqual([]);
  });
});

group('the books of the market', () => {
  const sale = { itemId: 'sword', sellerId: 'ann', buyerId: 'bob', price: 30 };
  const times = { calledAt: 1, answeredAt: 2 };

  function booksOf(funds: Record<string, number>, places: Record<string, string[]>): Books {
    return {
      players: ['ann', 'bob'],
      funds: 100,
      fundsOf: async (player) => funds[player]!,
      itemsOf: async (player) => places[player] ?? [],
      listed: async () => places['market'] ?? [],
    };
  }

  test('find a coin that was made, and one that moved without a sale', async () => {
    expect(await moneyOf(booksOf({ ann: 130, bob: 70 }, {}), [sale])).toEqual([]);
    expect(await moneyOf(booksOf({ ann: 131, bob: 70 }, {}), [sale])).toEqual([
      'ann has 131 coins, not 130',
      'there are 201 coins in all',
    ]);
    expect(await moneyOf(booksOf({ ann: 110, bob: 90 }, {}), [])).toHaveLength(2);
  });

  test('find an item that is nowhere, in two places, or not with its buyer', async () => {
    const missing: string[] = [];
    const look = (places: Record<string, string[]>): Promise<string[]> =>
      itemsOf(booksOf({}, places), [sale], new Map([['sword', times]]), (what) => missing.push(what) > 0);
    expect(await look({ bob: ['sword'] })).toEqual([]);
    expect(missing).toEqual([]);
    expect(await look({ ann: ['sword'] })).toEqual(['sword is not at bob, who has bought it']);
    expect(await look({ bob: ['sword'], market: ['sword'] })).toEqual(['sword is at bob and the market']);
    await look({});
    expect(missing).toEqual(['sword']);
  });
});

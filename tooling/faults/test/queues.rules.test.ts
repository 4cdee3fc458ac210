/** The accountant on its own: a run that adds up, and each way in which one may not. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { TASK_STATES } from '@mortise/queues';
import type { TaskState } from '@mortise/queues';
import type { Account, Evidence } from '../src/queues/accountant.js';
import { account, unfinishedOf } from '../src/queues/accountant.js';
import type { Source } from '../src/queues/executions.js';
import { Executions } from '../src/queues/executions.js';
import type { Outcome } from '../src/queues/records.js';
import { Recorder } from '../src/queues/records.js';
import { resultOf } from '../src/queues/task-ids.js';

const LEASE_MS = 1_000;
/** In ms; written down in µs. */
interface Run {
  readonly task: number;
  readonly worker?: number;
  readonly attempt?: number;
  readonly from: number;
  readonly to?: number;
  readonly outcome?: Outcome;
  readonly leaseEnd?: number;
}

interface Given {
  readonly runs: readonly Run[];
  readonly states: readonly (TaskState | undefined)[];
  /** For each succeeded task the place of its execution among `runs`. */
  readonly results?: readonly (number | undefined)[];
  readonly killed?: Readonly<Record<number, number>>;
  readonly stored?: Partial<Evidence['stored']>;
  readonly evidence?: Partial<Evidence>;
}

const directories: string[] = [];

afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

function accountOf({ runs, states, results = [], killed = {}, stored, evidence }: Given): Account {
  const directory = mkdtempSync(join(tmpdir(), 'mortise-faults-'));
  directories.push(directory);
  const sources = [0, 1, 2].map((worker): Source => {
    const killedAt = (killed[worker] ?? Infinity) * 1_000;
    return { worker, file: join(directory, String(worker)), killedAt, stops: [] };
  });
  const recorders = sources.map(({ file }) => new Recorder(file));
  const names = runs.map(
    ({ task, worker = 0, attempt = 1, from, to, outcome = 'returned', leaseEnd = from + LEASE_MS }) => {
      const recorder = recorders[worker]!;
      const execution = recorder.begin(task, attempt, from * 1_000, leaseEnd * 1_000);
      if (to !== undefined) recorder.end(execution, task, outcome, to * 1_000, leaseEnd * 1_000);
      return resultOf(worker, execution);
    },
  );
  for (const recorder of recorders) recorder.close();
  const tasks = states.length;
  return account({
    tasks,
    executions: Executions.read(sources),
    stored: {
      state: Uint8Array.from(states, (state) => (state ? TASK_STATES.indexOf(state) + 1 : 0)),
      attempt: new Uint16Array(tasks).fill(1),
      attempts: new Uint16Array(tasks).fill(1),
      result: Float64Array.from(states, (_, task) => names[results[task] ?? -1] ?? NaN),
      leases: new Map(),
      errors: new Map(),
      doubled: [],
      miscounted: [],
      ...stored,
    },
    acceptedAt: new Float64Array(tasks).fill(1),
    cancelledAt: new Float64Array(tasks),
    faults: [],
    leaseMs: LEASE_MS,
    readAt: 100_000,
    mayBeRemoved: false,
    ...evidence,
  });
}

const WHOLE: Given = {
  runs: [
    { task: 0, from: 0, to: 10, outcome: 'failed' },
    { task: 1, from: 5, to: 20, outcome: 'failed' },
    { task: 0, worker: 1, attempt: 2, from: 30, to: 40 },
    { task: 2, worker: 1, from: 50 },
    { task: 2, attempt: 2, from: 1_060, to: 1_070 },
  ],
  states: ['succeeded', 'dead', 'succeeded', 'cancelled'],
  results: [2, undefined, 4],
  killed: { 1: 55 },
};

test('a run that adds up', () => {
  const { violations, tasks, repetitions, duplicates, executions } = accountOf(WHOLE);
  expect(violations).toEqual([]);
  expect(tasks).toMatchObject({ succeeded: 2, dead: 1, cancelled: 1, removed: 0, forgotten: 0 });
  expect(repetitions).toMatchObject({ retry: 1, 'process killed': 1 });
  expect([duplicates, executions]).toEqual([1, 5]);
});

test.each<[string, Partial<Run>]>([
  ['has not ended', {}],
  ['has failed', { to: 4, outcome: 'failed' }],
])('an attempt of a killed worker that %s is followed by one with the next number', (_, end) => {
  const runs = (attempt: number): Run[] => [
    { task: 0, from: 0, ...end },
    { task: 0, worker: 1, attempt, from: 2_000, to: 2_010 },
  ];
  const rulesOf = (attempt: number): string[] => {
    const { violations } = accountOf({
      runs: runs(attempt),
      states: ['succeeded'],
      results: [1],
      killed: { 0: 5 },
    });
    return violations.map(({ rule }) => rule);
  };
  expect(rulesOf(2)).toEqual([]);
  expect(rulesOf(1)).toEqual(['attempt number']);
});

const ONE: Given = { runs: [{ task: 0, from: 0, to: 10 }], states: ['succeeded'], results: [0] };
const again = (run: Partial<Run>): Run => ({
  task: 0,
  worker: 1,
  attempt: 2,
  from: 2_000,
  to: 2_010,
  ...run,
});

describe('it finds', () => {
  test.each<[string, Given]>([
    ['lost', { ...ONE, states: [undefined] }],
    ['doubled', { ...ONE, stored: { doubled: [0] } }],
    ['miscounted', { ...ONE, stored: { miscounted: ['q: 2 succeeded, but 1 are listed'] } }],
    ['not run', { ...ONE, runs: [], results: [] }],
    ['not run', { ...ONE, results: [] }],
    [
      'stale completion',
      { ...ONE, runs: [{ task: 0, from: 0, to: 2_500 }, again({ to: 3_000 })], results: [0] },
    ],
    [
      'overlap',
      { ...ONE, runs: [{ task: 0, from: 0, to: 10 }, again({ from: 5 })], killed: { 0: 11 }, results: [1] },
    ],
    ['unexplained repetition', { ...ONE, runs: [...ONE.runs, again({})], results: [1] }],
    [
      'attempt number',
      {
        ...ONE,
        runs: [{ task: 0, from: 0, to: 10, outcome: 'failed' }, again({ attempt: 1 })],
        results: [1],
      },
    ],
    [
      'attempt number',
      {
        ...ONE,
        runs: [
          { task: 0, from: 0 },
          { task: 0, worker: 1, from: 2_000 },
          again({ worker: 2, attempt: 1, from: 4_000, to: 4_010 }),
        ],
        killed: { 0: 5, 1: 2_005 },
        results: [2],
      },
    ],
    ['died early', { ...ONE, states: ['dead'], stored: { attempts: Uint16Array.of(5) } }],
    ['wrong end', { ...ONE, evidence: { endOf: () => 'dead' } }],
    ['cancelled in vain', { ...ONE, evidence: { cancelledAt: Float64Array.of(1) } }],
    ['left behind', { ...ONE, states: ['active'], stored: { leases: new Map([[0, 90_000]]) } }],
    [
      'group order',
      {
        runs: [
          { task: 0, from: 0, to: 10 },
          { task: 1, from: 9, to: 20 },
        ],
        states: ['succeeded', 'succeeded'],
        results: [0, 1],
        evidence: { groups: [[0, 1]] },
      },
    ],
  ])('%s', (rule, given) => {
    const { violations } = accountOf(given);
    expect(violations.map((violation) => violation.rule)).toContain(rule);
  });
});

test('tasks that nobody runs are counted', () => {
  const { violations, tasks } = accountOf({ ...ONE, runs: [], states: ['ready'], results: [] });
  expect(violations).toEqual([]);
  expect(unfinishedOf(tasks)).toEqual(['1 tasks are still ready']);
  expect(unfinishedOf(accountOf(ONE).tasks)).toEqual([]);
});

describe('it excuses', () => {
  test('a task that retention has removed, if it ran', () => {
    const removed = accountOf({ ...ONE, states: [undefined], evidence: { mayBeRemoved: true } });
    expect([removed.violations, removed.tasks.removed]).toEqual([[], 1]);
    const lost = accountOf({ ...ONE, runs: [], states: [undefined], evidence: { mayBeRemoved: true } });
    expect(lost.violations.map(({ rule }) => rule)).toEqual(['lost']);
  });

  test('a task that was accepted while a failover could forget it, and none from before', () => {
    const faults = [{ from: 10_000, to: 20_000, mayForget: true }];
    const given = { runs: [], states: [undefined, undefined] };
    const { violations, tasks } = accountOf({
      ...given,
      evidence: { faults, acceptedAt: Float64Array.of(9_999, 10_001) },
    });
    expect(violations.map(({ rule, task }) => [rule, task])).toEqual([['lost', 0]]);
    expect(tasks.forgotten).toBe(1);
  });

  test('an execution that began when its lease was over', () => {
    const late = again({ attempt: 1, from: 1_500, to: 1_510, leaseEnd: 1_400 });
    const runs = [{ task: 0, from: 0, to: 10, attempt: 2 }, late];
    const { violations, repetitions } = accountOf({ ...ONE, runs });
    expect(violations).toEqual([]);
    expect(repetitions['lease over before it began']).toBe(1);
    const counted = accountOf({ ...ONE, runs, results: [1] });
    expect(counted.violations.map(({ rule }) => rule)).toEqual(['stale completion']);
  });

  test('that a group continues after a cancelled task, and not before that', () => {
    const rulesOf = (cancelledAt: number): string[] =>
      accountOf({
        runs: [
          { task: 0, from: 0, to: 10, outcome: 'cancelled' },
          { task: 1, from: 9, to: 20 },
        ],
        states: ['cancelled', 'succeeded'],
        results: [undefined, 1],
        evidence: { groups: [[0, 1]], cancelledAt: Float64Array.of(cancelledAt, 0) },
      }).violations.map(({ rule }) => rule);
    expect([rulesOf(8_999), rulesOf(9_001)]).toEqual([[], ['group order']]);
  });

  test('a repetition after a fault', () => {
    const faults = [{ from: 5_000, to: 30_000, mayForget: false }];
    const { violations, repetitions } = accountOf({
      ...ONE,
      runs: [...ONE.runs, again({})],
      results: [1],
      evidence: { faults },
    });
    expect(violations).toEqual([]);
    expect(repetitions['fault of Redis or the network']).toBe(1);
  });
});

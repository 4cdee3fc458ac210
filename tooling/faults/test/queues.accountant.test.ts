/**
 * Workers as processes on a queue whose scripts are broken on purpose: an accountant that doesn't find that would prove
 * nothing in the long suite (`npm run faults`).
 */
import { afterEach, expect, test } from '@jest/globals';
import { freshPrefix, runServer, until } from '@mortise/test-kit';
import type { Account } from '../src/queues/accountant.js';
import type { Sabotage } from '../src/queues/config.js';
import type { WorkerProcess } from '../src/queues/fleet.js';
import type { QueueRunOptions } from '../src/queues/queue-run.js';
import { QueueRun } from '../src/queues/queue-run.js';

const LEASE_MS = 1_000;

const { server } = await runServer({ isCluster: true });
let runs: QueueRun[] = [];

afterEach(async () => {
  await Promise.all(runs.map((run) => run.dispose()));
  runs = [];
});

function start(options: Omit<QueueRunOptions, 'prefix'>): QueueRun {
  const run = new QueueRun({ url: server.url }, { prefix: freshPrefix(), ...options });
  runs.push(run);
  return run;
}

test('every task of a queue is accounted for, also when a process is killed', async () => {
  const names = ['work', 'fail once', 'fail', 'discard', 'later', 'sleep'] as const;
  const run = start({
    tasks: 600,
    workers: { leaseMs: LEASE_MS, concurrency: 20, backoff: { type: 'fixed', delayMs: 1 } },
    plan: (task) => {
      const name = names[task % names.length]!;
      return { name, payload: 20, options: { attempts: name === 'fail' ? 2 : 1_000 } };
    },
  });
  const [victim] = await run.fleet.start(2);
  const [account] = await Promise.all([
    (async (): Promise<Account> => {
      await run.movesOn(150);
      await victim!.kill();
      await run.fleet.add();
      return run.verdict();
    })(),
    run.producer.run(),
  ]);
  expect(account.violations).toEqual([]);
  const { succeeded, dead } = account.tasks;
  expect({ succeeded, dead }).toEqual({ succeeded: 400, dead: 200 });
  expect(account.repetitions.retry).toBeGreaterThanOrEqual(100);
  expect(account.executions).toBeGreaterThanOrEqual(800);
  expect(run.fleet.failed).toEqual([]);
});

/** Runs some tasks with workers that have a broken script; returns the rules that were seen to be broken. */
async function broken(
  sabotage: Sabotage,
  plan: NonNullable<QueueRunOptions['plan']>,
  { tasks = 20, act, groups }: Scenario = {},
): Promise<[Sabotage, string[]]> {
  const run = start({ tasks, plan, workers: { leaseMs: LEASE_MS, concurrency: 20 } });
  const workers = await run.fleet.start(2, { sabotage });
  if (groups) await run.queues[0]!.configure({ groups: { ordered: true } });
  await run.producer.run();
  await act?.(run, workers);
  const { violations } = await run.verdict({ withinMs: 4_000, ...(groups && { groups }) });
  return [sabotage, [...new Set(violations.map(({ rule }) => rule))]];
}

interface Scenario {
  readonly tasks?: number;
  readonly act?: (run: QueueRun, workers: readonly WorkerProcess[]) => Promise<void>;
  readonly groups?: readonly number[][];
}

test('the accountant finds what broken scripts do', async () => {
  const sleeping = (ms: number) => () => ({ name: 'sleep', payload: ms });
  const found = await Promise.all([
    // Holds up its process for longer than the lease, and completes when another one has the task.
    broken('completion without a look at the token', () => ({ name: 'block', payload: 1_900 }), { tasks: 1 }),
    broken('tasks of dead workers stay', sleeping(60_000), {
      act: async (_, workers) => {
        const victim = await until('tasks to run', () => workers.find(({ records }) => records > 0));
        await victim.kill();
      },
    }),
    broken('renewal is not stored', sleeping(1_800)),
    broken('taken tasks stay in the list', sleeping(50)),
    broken('succeeded tasks are lost', sleeping(0)),
    broken('groups take no turns', () => ({ name: 'sleep', payload: 20, options: { group: 'g' } }), {
      groups: [Array.from({ length: 20 }, (_, task) => task)],
    }),
  ]);
  expect(Object.fromEntries(found)).toEqual({
    'completion without a look at the token': expect.arrayContaining(['stale completion']),
    'tasks of dead workers stay': ['left behind'],
    'renewal is not stored': expect.arrayContaining(['overlap']),
    'taken tasks stay in the list': expect.arrayContaining(['overlap']),
    'succeeded tasks are lost': ['lost'],
    'groups take no turns': ['group order'],
  });
});

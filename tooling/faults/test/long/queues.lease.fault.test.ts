/** Processes that stand still for longer than their leases: what they say of their tasks afterwards doesn't count. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { freshPrefix, runServer, until } from '@mortise/test-kit';
import { Executions } from '../../src/queues/executions.js';
import { QueueRun } from '../../src/queues/queue-run.js';

const LEASE_MS = 1_000;
const TASKS = 30;

const { server } = await runServer({ isCluster: true });
let run: QueueRun;

afterEach(() => run?.dispose());

test('a worker that was stopped (SIGSTOP) past its lease can neither complete, fail nor renew what another one has', async () => {
  const deeds = ['return', 'fail', 'renew'] as const;
  for (let time = 0; time < 3; time += 1) {
    run = new QueueRun(
      { url: server.url },
      {
        prefix: freshPrefix(),
        tasks: TASKS,
        plan: (task) => ({
          name: 'outlived',
          payload: { ms: 400, does: deeds[task % 3]!, laterMs: 2_500 },
          options: { attempts: 3 },
        }),
        workers: { leaseMs: LEASE_MS },
      },
    );
    const first = await run.fleet.add();
    await run.producer.run();
    await until('all to run', () => first.records === TASKS);
    await first.pause();
    const second = await run.fleet.add();
    await until('another one to have them', () => second.records === TASKS);
    first.resume();
    await until('the first one to have ended', () => first.records >= 2 * TASKS);
    // Acks are sent in the same tick, renewals at once: those of the first worker are answered.
    await run.redis.ping();
    await pause(300);
    const { tasks } = await run.queues[0]!.list('active');
    expect(tasks.map(({ attempt }) => attempt)).toEqual(Array(TASKS).fill(2));
    const account = await run.verdict();
    expect(account.violations).toEqual([]);
    expect(account.tasks.succeeded).toBe(TASKS);
    const executions = Executions.read(run.fleet.sources);
    expect(executions.count).toBe(2 * TASKS);
    const outcomes = Array.from({ length: executions.count }, (_, execution) => {
      const { task, worker } = executions;
      const deed = deeds[task[execution]! % 3]!;
      return `${worker[execution] === 0 ? 'first' : 'second'} ${deed}: ${executions.outcomeOf(execution)}`;
    });
    expect(outcomes.filter((outcome) => outcome.startsWith('first renew'))).toEqual(
      Array(TASKS / 3).fill('first renew: lease lost'),
    );
    expect(outcomes.filter((outcome) => /^second.*: returned$/.test(outcome))).toHaveLength(TASKS);
    await run.dispose();
  }
});

test('nor one whose event loop was held up by a handler', async () => {
  run = new QueueRun(
    { url: server.url },
    {
      prefix: freshPrefix(),
      tasks: 3,
      plan: () => ({ name: 'block', payload: 2_000, options: { attempts: 3 } }),
      workers: { leaseMs: LEASE_MS, concurrency: 1 },
    },
  );
  await run.fleet.start(2);
  await run.producer.run();
  const account = await run.verdict();
  expect(account.violations).toEqual([]);
  expect(account.tasks.succeeded).toBe(3);
  expect(account.repetitions['lease lost']).toBeGreaterThan(0);
});

test('a server that stands still for longer than a lease: nobody else has a task meanwhile, and all are done', async () => {
  run = new QueueRun(
    { url: server.url },
    {
      prefix: freshPrefix(),
      tasks: 100_000,
      plan: (task) => ({ name: 'sleep', payload: task % 30 }),
      workers: { leaseMs: LEASE_MS, concurrency: 20 },
      chunk: 20,
      pauseMs: 20,
    },
  );
  await run.fleet.start(3);
  const accepted = await run.whileProducing(async () => {
    for (let time = 0; time < 3; time += 1) {
      await run.movesOn(200);
      await run.during(async () => {
        server.pause();
        try {
          // The lease passes here, on everybody's clock.
          await pause(LEASE_MS * 1.5);
        } finally {
          server.resume();
        }
      });
    }
  });
  const account = await run.verdict();
  expect(account.violations).toEqual([]);
  expect(account.tasks.succeeded).toBe(accepted);
});

test('tasks that take longer than their leases, which are renewed: each runs once', async () => {
  run = new QueueRun(
    { url: server.url },
    {
      prefix: freshPrefix(),
      tasks: 100,
      plan: () => ({ name: 'sleep', payload: 3.5 * LEASE_MS }),
      workers: { leaseMs: LEASE_MS, concurrency: 50 },
    },
  );
  await run.fleet.start(3);
  await run.producer.run();
  const account = await run.verdict();
  expect(account.violations).toEqual([]);
  expect([account.tasks.succeeded, account.executions]).toEqual([100, 100]);
});

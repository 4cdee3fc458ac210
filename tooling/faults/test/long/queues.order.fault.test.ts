/** Worker processes are killed while groups, flows and schedules are under way: their order and their number stay what they are. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { freshPrefix, runServer, until } from '@mortise/test-kit';
import { nowUs } from '../../src/locks/clock.js';
import { LOAD_WORKERS } from '../../src/queues/load.js';
import type { QueueRunOptions } from '../../src/queues/queue-run.js';
import { QueueRun } from '../../src/queues/queue-run.js';
import { SCHEDULED_TASKS, taskId, taskIndex } from '../../src/queues/task-ids.js';

const { server } = await runServer({ isCluster: true });
let run: QueueRun;

afterEach(() => run?.dispose());

async function start(options: Omit<QueueRunOptions, 'prefix' | 'workers'>): Promise<void> {
  run = new QueueRun({ url: server.url }, { prefix: freshPrefix(), workers: LOAD_WORKERS, ...options });
  await run.fleet.start(3);
}

async function killWorkers(times: number, executions: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await run.movesOn(executions);
    await run.fleet.running[0]!.kill();
    await run.fleet.add();
  }
}

test('ordered groups: each task begins when the one before it has ended, whoever is killed', async () => {
  const groups = 20;
  await start({
    tasks: 100_000,
    plan: (task) => ({
      name: task % 7 === 0 ? 'fail once' : 'sleep',
      payload: 30,
      options: { group: `group ${task % groups}` },
    }),
    chunk: 20,
    pauseMs: 20,
  });
  await run.queues[0]!.configure({ groups: { ordered: true } });
  const accepted = await run.whileProducing(() => killWorkers(4, 200));
  const account = await run.verdict({
    groups: Array.from({ length: groups }, (_, group) =>
      Array.from({ length: accepted / groups }, (_position, index) => group + index * groups),
    ),
  });
  expect(account.violations).toEqual([]);
  expect(account.tasks.succeeded).toBe(accepted);
  expect(account.repetitions['process killed']).toBeGreaterThan(0);
});

test('flows: a parent runs once its children have ended, whoever is killed', async () => {
  const size = 4;
  await start({ tasks: 100_000 });
  const [queue] = run.queues;
  const options = (task: number): { id: string; attempts: number } => ({ id: taskId(task), attempts: 1_000 });
  let flows = 0;
  const producing = { isOver: false };
  const enqueueing = (async () => {
    while (!producing.isOver) {
      const root = flows * size;
      const children = [1, 2, 3].map((child) => ({
        name: 'sleep',
        payload: 5 * child,
        options: options(root + child),
      }));
      await queue!.enqueueFlow({ name: 'work', payload: null, options: options(root), children });
      run.producer.acceptedAt.fill(nowUs(), root, root + size);
      flows += 1;
      await pause(10);
    }
  })();
  await killWorkers(4, 150);
  producing.isOver = true;
  await enqueueing;
  const account = await run.verdict({
    groups: Array.from({ length: flows }, (_, flow) =>
      [1, 2, 3].map((child) => [flow * size + child, flow * size]),
    ).flat(),
  });
  expect(account.violations).toEqual([]);
  expect(account.tasks.succeeded).toBe(flows * size);
});

test('schedules: a task for each instant, and one only, whoever is killed', async () => {
  await start({ tasks: SCHEDULED_TASKS });
  const [queue] = run.queues;
  await queue!.schedule('t', { everyMs: 1_000, missed: 'all' }, 'work', null, { attempts: 1_000 });
  for (let time = 0; time < 4; time += 1) {
    await until('the next instant', async () => (await queue!.counts()).succeeded >= 2 * time + 1);
    await Promise.all(run.fleet.running.map((worker) => worker.kill()));
    await run.fleet.start(2);
  }
  await until('the last instant', async () => (await queue!.counts()).succeeded >= 8);
  await queue!.unschedule('t');
  const account = await run.verdict();
  expect(account.violations).toEqual([]);
  const { tasks } = await queue!.list('succeeded', { limit: 1_000 });
  const seconds = tasks.map(({ id }) => taskIndex(id)).toSorted((a, b) => a - b);
  expect(seconds).toEqual(Array.from(seconds, (_, index) => seconds[0]! + index));
});

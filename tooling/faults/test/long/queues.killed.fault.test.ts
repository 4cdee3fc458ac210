/** Worker processes that are killed, end by themselves, or are stopped, while they hold tasks. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { freshPrefix, runServer, until } from '@mortise/test-kit';
import { nowUs } from '../../src/locks/clock.js';
import { Executions } from '../../src/queues/executions.js';
import type { QueueRunOptions } from '../../src/queues/queue-run.js';
import { QueueRun } from '../../src/queues/queue-run.js';

const LEASE_MS = 1_000;
const DEFAULT_LEASE_MS = 10_000;
/** How much later than the end of a lease its task runs again at most. */
const RECOVERY_MS = 1_000;

const { server } = await runServer({ isCluster: true });
let prefix: string;
let runs: QueueRun[] = [];

afterEach(async () => {
  await Promise.all(runs.map((run) => run.dispose()));
  runs = [];
});

function start(options: Omit<QueueRunOptions, 'prefix'>): QueueRun {
  prefix = freshPrefix();
  const run = new QueueRun({ url: server.url }, { prefix, ...options });
  runs.push(run);
  return run;
}

async function idleWorkers(count: number): Promise<void> {
  await until(`${count} idle workers`, async () => {
    return (await server.command('ZCARD', `${prefix}:queues:{q}:idle`)) === count;
  });
}

/** How long after an instant (µs) the last second attempt began, in ms. */
function secondAttemptsAfter(fromUs: number, run: QueueRun): number {
  const executions = Executions.read(run.fleet.sources);
  let latest = 0;
  for (let execution = 0; execution < executions.count; execution += 1) {
    if (executions.attempt[execution]! > 1) latest = Math.max(latest, executions.beganAt[execution]!);
  }
  return (latest - fromUs) / 1_000;
}

test('SIGKILL of workers in the middle of their tasks: each task runs to its end', async () => {
  const run = start({
    tasks: 100_000,
    // Nearly as much as the workers can do, so that whoever is killed has some.
    plan: (task) => ({ name: 'sleep', payload: 10 + (task % 60) }),
    workers: { leaseMs: LEASE_MS },
    chunk: 50,
    pauseMs: 20,
  });
  await run.fleet.start(3);
  const accepted = await run.whileProducing(async () => {
    for (let time = 0; time < 4; time += 1) {
      await run.movesOn(300);
      await run.fleet.running[time % 2]!.kill();
      await run.fleet.add();
    }
  });
  const account = await run.verdict();
  expect(account.violations).toEqual([]);
  expect(account.tasks.succeeded).toBe(accepted);
  expect(account.repetitions['process killed']).toBeGreaterThan(0);
});

test('retention removes what has ended, and nothing else, while workers are killed', async () => {
  const run = start({
    tasks: 100_000,
    plan: (task) => ({ name: 'sleep', payload: task % 20 }),
    workers: { leaseMs: LEASE_MS, keepSucceeded: 100 },
    chunk: 100,
    pauseMs: 20,
  });
  await run.fleet.start(2);
  const accepted = await run.whileProducing(async () => {
    for (let time = 0; time < 2; time += 1) {
      await run.movesOn(500);
      await run.fleet.running[0]!.kill();
      await run.fleet.add();
    }
  });
  // An eighth more may be kept until maintenance.
  await until('all to end', async () => (await run.left()) === 0, 60_000);
  await until('the surplus to go', async () => (await run.queues[0]!.counts()).succeeded <= 100);
  const { violations, tasks } = await run.verdict({ mayBeRemoved: true });
  expect(violations).toEqual([]);
  expect(tasks.succeeded).toBe(100);
  expect(tasks.removed).toBe(accepted - 100);
});

describe('tasks of a killed worker run again within its lease, 10 s by default, and a second', () => {
  test.each([
    // Nobody asks for more tasks than it can run, so a full one doesn't keep the time.
    { what: 'when another worker keeps the time', concurrency: 20 },
    { what: 'when the killed worker was the one that kept the time', concurrency: 50 },
  ])('$what', async ({ concurrency }) => {
    const keepsTime = concurrency > 20;
    const run = start({
      tasks: 20,
      plan: () => ({ name: 'hold', payload: 60_000 }),
      workers: { leaseMs: DEFAULT_LEASE_MS },
    });
    const timekeeper = `${prefix}:queues:{q}:timekeeper`;
    const victim = await run.fleet.add({ options: { concurrency } });
    await run.producer.run();
    await until('all to run', () => victim.records === 20);
    if (keepsTime) await until('a timekeeper', async () => (await run.redis.get(timekeeper)) !== null);
    const channel = (await run.redis.get(timekeeper))?.split(' ')[1];
    await run.fleet.add();
    await idleWorkers(keepsTime ? 2 : 1);
    const keeper = (await run.redis.get(timekeeper))?.split(' ')[1];
    expect(keeper === channel).toBe(keepsTime);
    const killedAt = nowUs();
    await victim.kill();
    const { tasks } = await run.queues[0]!.list('active');
    const leasesEndAt = Math.max(...tasks.map(({ leaseUntil }) => leaseUntil!));
    const endsAtUs = nowUs() + (leasesEndAt - Date.now()) * 1_000;
    const account = await run.verdict();
    expect(account.violations).toEqual([]);
    expect(account.repetitions['process killed']).toBe(20);
    const [waitedMs, lateMs] = [secondAttemptsAfter(killedAt, run), secondAttemptsAfter(endsAtUs, run)];
    process.stdout.write(
      `again ${waitedMs.toFixed(0)} ms after the kill, ${lateMs.toFixed(0)} ms after the lease\n`,
    );
    expect(waitedMs).toBeLessThan(DEFAULT_LEASE_MS + RECOVERY_MS);
    expect(lateMs).toBeLessThan(RECOVERY_MS);
  });
});

test('stop({ graceMs }) hands over what is not finished: another worker has it in less than a second', async () => {
  const run = start({
    tasks: 40,
    // Every other one is done before the grace is over.
    plan: (task) => ({ name: 'hold', payload: task % 2 ? 60_000 : 100 }),
    workers: { leaseMs: DEFAULT_LEASE_MS },
  });
  const first = await run.fleet.add();
  await run.producer.run();
  await until('all to run', () => first.records >= 40);
  await run.fleet.add();
  const stoppedAt = nowUs();
  await first.stop({ graceMs: 500 });
  expect(first.exitCode).toBe(0);
  // Attempts that were given back don't count, so these hold as well; they are done by a third worker's hands.
  await until('the second one to have them', () => run.fleet.workers[1]!.records >= 20);
  const executions = Executions.read(run.fleet.sources);
  const begun = [...executions.beganAt].filter((_, index) => executions.worker[index] === 1);
  const movedMs = (Math.max(...begun) - stoppedAt) / 1_000 - 500;
  process.stdout.write(`moved ${movedMs.toFixed(0)} ms after the grace\n`);
  expect(movedMs).toBeLessThan(1_000);
  expect(begun).toHaveLength(20);
  expect((await run.queues[0]!.get('t1'))?.attempt).toBe(1);
  const { violations, tasks, repetitions } = await run.verdict({ withinMs: 0 });
  expect(violations).toEqual([]);
  expect([tasks.succeeded, tasks.active]).toEqual([20, 20]);
  expect(repetitions['given back']).toBe(20);
});

test('a handler that ends the process: dead after its attempts, and all others are done', async () => {
  const isDeadly = (task: number): boolean => task % 50 === 7;
  const run = start({
    tasks: 150,
    plan: (task) =>
      isDeadly(task)
        ? { name: task === 7 ? 'poison' : 'exit', payload: 9, options: { attempts: 2 } }
        : { name: 'sleep', payload: 5 },
    workers: { leaseMs: LEASE_MS, concurrency: 10 },
  });
  await run.producer.run();
  const endReplacing = run.fleet.keep(2);
  await until('all to end', async () => (await run.left()) === 0, 60_000);
  await endReplacing();
  const account = await run.verdict({ endOf: (task) => (isDeadly(task) ? 'dead' : 'succeeded') });
  expect(account.violations).toEqual([]);
  expect([account.tasks.succeeded, account.tasks.dead]).toEqual([147, 3]);
  expect(await run.queues[0]!.get('t57')).toMatchObject({
    attempt: 2,
    error: { code: 'ERR_LEASE_LOST', message: expect.stringContaining('the lease ended') },
  });
});

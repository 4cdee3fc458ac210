/** Faults of one server in the middle of work: no accepted task is lost. */
import { afterEach, describe, expect, test } from '@jest/globals';
import type { RedisServer, SingleOptions } from '@mortise/redis-server';
import { startSingle } from '@mortise/redis-server';
import { freshPrefix, until } from '@mortise/test-kit';
import { endOfLoad, LOAD_WORKERS, planLoad } from '../../src/queues/load.js';
import { QueueRun } from '../../src/queues/queue-run.js';

const TIMES = 3;

let server: RedisServer;
let run: QueueRun;

afterEach(async () => {
  await run?.dispose();
  await server?.stop();
});

async function start(options: SingleOptions = {}): Promise<void> {
  server = await startSingle(options);
  run = new QueueRun(
    { url: server.url },
    { prefix: freshPrefix(), tasks: 200_000, plan: planLoad, workers: LOAD_WORKERS, chunk: 30, pauseMs: 20 },
  );
}

describe('in the middle of work', () => {
  test.each<{ what: string; options?: SingleOptions; act: () => Promise<unknown> }>([
    {
      what: 'SIGKILL, with appendfsync always',
      options: { appendFsync: 'always' },
      act: async () => {
        await server.kill();
        await server.restart();
      },
    },
    { what: 'SCRIPT FLUSH', act: () => server.command('SCRIPT', 'FLUSH') },
    { what: 'CLIENT KILL of all connections', act: () => server.command('CLIENT', 'KILL', 'TYPE', 'normal') },
    {
      what: 'CLIENT KILL of all subscriptions',
      act: () => server.command('CLIENT', 'KILL', 'TYPE', 'pubsub'),
    },
  ])('$what: each accepted task is done', async ({ options, act }) => {
    await start(options);
    await run.fleet.start(2);
    const accepted = await run.whileProducing(async () => {
      for (let time = 0; time < TIMES; time += 1) {
        await run.movesOn(300);
        await run.during(act);
      }
      await run.movesOn(300);
    });
    const account = await run.verdict({ endOf: endOfLoad });
    expect(account.violations).toEqual([]);
    expect(account.tasks.succeeded + account.tasks.dead).toBe(accepted);
    expect(accepted).toBeGreaterThan(TIMES * 200);
  });
});

test('full memory (noeviction): enqueues are refused with an error that says so, and all that is there is done', async () => {
  await start();
  const [queue] = run.queues;
  await run.producer.run(0, 600);
  await server.command('CONFIG', 'SET', 'maxmemory', '1');
  await expect(queue!.enqueue('work', null, { id: 'refused' })).rejects.toMatchObject({
    code: 'ERR_MEMORY_FULL',
  });
  expect(await queue!.get('refused')).toBeNull();
  await run.fleet.start(2);
  const refused = run.producer.run(600, 900);
  await until('all that was accepted to end', async () => (await run.left()) === 0);
  const { succeeded, dead } = await queue!.counts();
  expect([succeeded + dead, run.producer.accepted]).toEqual([600, 600]);
  expect(run.producer.failures).toBeGreaterThan(0);
  await server.command('CONFIG', 'SET', 'maxmemory', '0');
  await refused;
  const account = await run.verdict({ endOf: endOfLoad });
  expect(account.violations).toEqual([]);
  expect(account.tasks.succeeded + account.tasks.dead).toBe(900);
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { startCluster } from '@mortise/redis-server';
import type { RedisCluster } from '@mortise/redis-server';
import { Cluster } from 'ioredis';
import { run } from '../../src/cli/run.js';
import { launch } from '../fixture/launch.js';
import { until } from '../fixture/until.js';

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

let servers: RedisCluster;
let cluster: Cluster;

beforeAll(async () => {
  servers = await startCluster({ nodeTimeoutMs: 15_000 });
  cluster = new Cluster(servers.startupNodes);
});

afterAll(async () => {
  await cluster?.quit();
  await servers?.stop();
});

const range = (count: number): string[] => Array.from({ length: count }, (_, n) => `n${n}`);

test('tasks of a queue with shards on all masters, by id and all together', async () => {
  const prefix = 'operate';
  const queue = new Queue<Tasks>(cluster, 'q', { prefix, shards: 6 });
  const ids = range(60);
  // Groups decide where these lie, not their ids.
  await queue.enqueueMany(
    ids.map((id, n) => ({ name: 't', payload: id, options: { id, ...(n % 2 && { group: id }) } })),
  );
  expect(await Promise.all(ids.slice(0, 30).map((id) => queue.cancel(id)))).toEqual(
    ids.slice(0, 30).map(() => true),
  );
  expect(await queue.counts()).toMatchObject({ ready: 30, cancelled: 30 });
  expect(await Promise.all(ids.slice(0, 5).map((id) => queue.retry(id)))).toEqual([
    true,
    true,
    true,
    true,
    true,
  ]);
  expect(await Promise.all(ids.slice(55).map((id) => queue.remove(id)))).toEqual([
    true,
    true,
    true,
    true,
    true,
  ]);
  expect(await queue.retryAll({ state: 'cancelled', limit: 15 })).toBe(15);
  expect(await queue.clean('cancelled')).toBe(10);

  const listed: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await queue.list('ready', { cursor, limit: 4 });
    listed.push(...page.tasks.map(({ id }) => id));
    cursor = page.cursor;
  } while (cursor !== null);
  expect(listed).toHaveLength(45);
  expect(new Set(listed).size).toBe(45);

  const running = new Map<string, AbortSignal>();
  const t = async (_: unknown, { id, signal }: { id: string; signal: AbortSignal }): Promise<void> => {
    running.set(id, signal);
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve);
    });
  };
  await launch(cluster, 'q', { t }, { prefix, onError: () => undefined });
  await until(() => running.size === 45);
  const cancelled = listed.slice(0, 12);
  await Promise.all(cancelled.map((id) => queue.cancel(id)));
  await until(() => cancelled.every((id) => running.get(id)!.aborted));
  expect(await queue.counts()).toMatchObject({ active: 33, cancelled: 12 });
  await queue.enqueueMany(range(20).map((id) => ({ name: 't', payload: id, options: { delayMs: 60_000 } })));
  expect(await queue.drain({ scheduled: true })).toBe(20);
});

test('names, pauses everywhere, and the program', async () => {
  const prefix = 'names';
  const names = range(12);
  for (const name of names) await new Queue<Tasks>(cluster, name, { prefix }).enqueue('t', 1);
  expect(await Queue.names(cluster, { prefix })).toEqual(names.toSorted());
  expect(await Queue.pauseAll(cluster, { prefix })).toEqual(names.toSorted());
  const { host, port } = servers.startupNodes[0]!;
  let out = '';
  let err = '';
  const code = await run(
    ['ls', '--json', '--cluster', '--redis', `redis://${host}:${port}`, '--prefix', prefix],
    {
      env: {},
      out: (text) => void (out += text),
      err: (text) => void (err += text),
    },
  );
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(JSON.parse(out)).toMatchObject(
    names.toSorted().map((name) => ({ name, isPaused: true, counts: { ready: 1 } })),
  );
});

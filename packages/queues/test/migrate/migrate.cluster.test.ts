/** `mortise-queues migrate --cluster`: the new queue has shards on three masters. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Queue, Worker } from '@mortise/queues';
import { freshPrefix, runCluster, runServer, until } from '@mortise/test-kit';
import { Queue as BullQueue, Worker as BullWorker } from 'bullmq';
import type { Redis } from 'ioredis';
import { run } from '../../src/cli/run.js';
import { QueueKeys } from '../../src/keys.js';

const { servers, cluster } = await runCluster({ replicasPerMaster: 0 });
const { server, redis: single } = await runServer();
const SHARDS = 6;
const JOBS = 300;
const [node] = servers.startupNodes;
const url = `redis://${node!.host}:${node!.port}`;

let prefix: string;
let queue: Queue;
beforeEach(async () => {
  prefix = freshPrefix();
  queue = new Queue(cluster, 'mail', { prefix, shards: SHARDS });
  // Stores its shards.
  await queue.counts();
});
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function migrate(...args: readonly string[]): Promise<{ code: number; out: unknown; err: string }> {
  let [out, err] = ['', ''];
  const given = ['migrate', 'mail', '--prefix', prefix, '--cluster', '--redis', url, '--json', ...args];
  const code = await run(given, {
    env: {},
    out: (text) => void (out += text),
    err: (text) => void (err += text),
  });
  return { code, out: out === '' ? undefined : JSON.parse(out), err };
}

/** Jobs of all kinds that wait, and one that failed. */
async function addJobs(bull: BullQueue): Promise<void> {
  await bull.addBulk(
    Array.from({ length: JOBS }, (_, n) => ({ name: 't', data: { n }, opts: { jobId: `id ${n}` } })),
  );
  await bull.add('t', {}, { jobId: 'urgent', priority: 1 });
  await bull.add('t', {}, { jobId: 'late', delay: 3_600_000 });
  await bull.upsertJobScheduler('daily', { pattern: '0 7 * * *' }, { name: 'report' });
}

/** Each job has become one task, on every master, and runs once. */
async function expectMoved(bull: BullQueue): Promise<void> {
  expect(await bull.getJobCounts()).toMatchObject({ waiting: 0, prioritized: 0, delayed: 0, failed: 0 });
  expect((await queue.schedules()).map(({ key }) => key)).toEqual(['daily']);
  expect(await queue.counts()).toMatchObject({ ready: JOBS + 1, scheduled: 2, dead: 1 });
  const masters = await Promise.all(
    Array.from({ length: SHARDS }, (_, shard) =>
      servers.ownerOf(new QueueKeys('mail', prefix, shard).of.tasks),
    ),
  );
  expect(new Set(masters).size).toBe(3);
  expect((await queue.get('bad'))!.error).toMatchObject({ message: 'no address' });
  const seen: string[] = [];
  await using worker = new Worker(
    cluster,
    ['mail'],
    { t: async (_, { id }) => void seen.push(id) },
    { prefix },
  );
  await worker.start();
  await until('the end of all', () => seen.length > JOBS);
  const ids = [...Array.from({ length: JOBS }, (_, n) => `id ${n}`), 'urgent'];
  expect(seen.toSorted((a, b) => a.localeCompare(b))).toEqual(ids.toSorted((a, b) => a.localeCompare(b)));
  await worker.stop();
}

async function failOne(
  bull: BullQueue,
  connection: Redis | typeof cluster,
  bullPrefix: string,
): Promise<void> {
  const worker = new BullWorker(bull.name, () => Promise.reject(new Error('no address')), {
    connection,
    prefix: bullPrefix,
  });
  await bull.add('t', {}, { jobId: 'bad' });
  await until('a failed job', async () => (await bull.getFailedCount()) === 1);
  await worker.close();
}

test('from a queue of BullMQ on the same Cluster', async () => {
  const bull = new BullQueue('old', { connection: cluster, prefix: '{bull}' });
  closers.push(() => bull.close());
  await failOne(bull, cluster, '{bull}');
  await addJobs(bull);
  const from = ['--from-bullmq', 'old', '--from-prefix', '{bull}'];
  expect(await migrate(...from)).toEqual({
    code: 0,
    out: { moved: { waiting: JOBS, prioritized: 1, delayed: 2, failed: 1, schedules: 1 }, left: {} },
    err: '',
  });
  await expectMoved(bull);
});

test('from a queue of BullMQ on a server of its own', async () => {
  const connection = single.duplicate({ maxRetriesPerRequest: null });
  closers.push(() => connection.quit().then(() => undefined));
  const bull = new BullQueue('old', { connection });
  closers.push(() => bull.close());
  await failOne(bull, connection, 'bull');
  await addJobs(bull);
  const from = ['--from-bullmq', 'old', '--from-redis', server.url];
  expect(await migrate(...from)).toMatchObject({
    code: 0,
    out: { moved: { waiting: JOBS, prioritized: 1, delayed: 2, failed: 1, schedules: 1 }, left: {} },
  });
  await expectMoved(bull);
});

test('from a Cluster to the same, named twice', async () => {
  const bull = new BullQueue('old', { connection: cluster, prefix: '{other}' });
  closers.push(() => bull.close());
  await bull.add('t', {}, { jobId: 'a' });
  const from = ['--from-bullmq', 'old', '--from-prefix', '{other}', '--from-redis', url];
  expect(await migrate(...from)).toMatchObject({ code: 0, out: { moved: { waiting: 1 } } });
  expect(await queue.get('a')).toMatchObject({ state: 'ready' });
});

/** The console on a Cluster: its queues lie on several masters. */
import { expect, test } from '@jest/globals';
import { consoleHandler } from '@mortise/console';
import { Queue, Worker } from '@mortise/queues';
import { runCluster, until } from '@mortise/test-kit';

import { Follower } from './fixture/follower.js';
import { ask, closeLater, listen } from './fixture/serve.js';

const { cluster, servers } = await runCluster({ nodeTimeoutMs: 15_000 });
const prefix = 'console';
const names = Array.from({ length: 9 }, (_, n) => `queue-${n}`);

const handler = consoleHandler(cluster, { prefix, authorize: () => 'change', onAction: () => undefined });
closeLater(() => handler.close());
const url = await listen((request, response) => void handler(request, response));
const call = (method: string, path: string, body?: unknown) => ask(`${url}/console/v1/${path}`, method, body);
const queueOf = (name: string) => new Queue(cluster, name, { prefix });

test('queues of all masters are listed, counted, followed and acted on', async () => {
  for (const name of names) {
    const task = { name: 't', payload: { name }, id: `${name}-a` };
    expect((await call('POST', `queues/${name}/tasks`, task)).status).toBe(201);
  }
  const owners = await Promise.all(
    names.map(async (name) => (await servers.ownerOf(`${prefix}:queues:{${name}}:tasks`)).url),
  );
  expect(new Set(owners).size).toBe(3);
  expect((await call('GET', 'queues')).json.items).toMatchObject(names.map((name) => ({ name })));
  expect((await call('GET', 'overview')).json).toMatchObject({
    total: names.length,
    queues: names.map((name) => ({ name, counts: { ready: 1 } })),
  });
  const tab = await new Follower().open(url, ['overview', ...names.map((name) => `queue:${name}`)].join(','));
  for (const name of names) expect((await call('POST', `queues/${name}/pause`)).status).toBe(204);
  await until('all pauses', () => tab.events.filter(({ type }) => type === 'paused').length === names.length);
  tab.leave();
  const back = await new Follower().open(url, names.map((name) => `queue:${name}`).join(','), {
    'last-event-id': tab.events.at(-1)!.id,
  });
  await queueOf(names[0]!).resume();
  await back.next('resumed');
  expect(back.events.map(({ type }) => type)).toEqual(['open', 'resumed']);
  back.leave();
});

test('a queue with shards is listed page by page, and changed as a whole', async () => {
  const settings = { priorities: ['high', 'low'], shards: 4 };
  expect((await call('PUT', 'queues/sharded', settings)).json).toMatchObject(settings);
  const queue = new Queue(cluster, 'sharded', { prefix, ...settings });
  await queue.enqueueMany(
    Array.from({ length: 300 }, (_, n) => ({ name: n % 2 ? 'odd' : 'even', payload: { n } })),
  );
  const seen = new Set<string>();
  let cursor: string | null = '';
  while (cursor !== null) {
    const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { json } = await call('GET', `queues/sharded/tasks?state=ready&limit=50${from}`);
    for (const { id } of json.items) seen.add(id as string);
    cursor = json.nextCursor as string | null;
  }
  expect(seen.size).toBe(300);
  const body = { action: 'cancel', state: 'ready', name: 'odd' };
  const { json: operation } = await call('POST', 'queues/sharded/bulk-operations', body);
  const ended = await until('the end', async () => {
    const { json } = await call('GET', `operations/${operation.id}`);
    return json.status !== 'running' && json;
  });
  expect(ended).toMatchObject({ status: 'completed', changed: 150 });
  expect((await call('GET', 'queues/sharded')).json.counts).toMatchObject({ ready: 150, cancelled: 150 });
  expect((await call('POST', 'queues/sharded/drain', {})).json).toEqual({ tasks: 150 });
});

test('a task that runs is seen with its times, and a schedule is stored', async () => {
  const queue = queueOf('runs');
  await queue.eventsCursor();
  await using worker = new Worker(cluster, ['runs'], { t: async () => 'done' }, { prefix });
  await worker.start();
  const { json } = await call('POST', 'queues/runs/tasks', { name: 't', payload: 1 });
  await queue.result(json.id as string);
  expect((await call('GET', 'queues/runs/times')).json).toMatchObject({ count: 1 });
  expect((await call('GET', `queues/runs/tasks/${json.id}/events`)).json.items.length).toBeGreaterThan(1);
  const rule = { everyMs: 60_000, name: 't', payload: 1 };
  expect((await call('PUT', 'queues/runs/schedules/s', rule)).status).toBe(200);
  expect((await call('GET', 'queues/runs/schedules')).json.items).toHaveLength(1);
  expect((await call('DELETE', 'queues/runs/schedules/s')).status).toBe(204);
  await worker.stop();
});

test('a failover of a master is survived', async () => {
  const tab = await new Follower().open(url, 'queue:queue-1');
  await servers.failover(await servers.ownerOf(`${prefix}:queues:{queue-1}:tasks`));
  await queueOf('queue-1').resume();
  await tab.next('resumed');
  expect((await call('GET', 'queues/queue-1')).json).toMatchObject({ counts: { ready: 1 } });
  tab.leave();
});

/** Queues and tasks over HTTP. */
import { describe, expect, test } from '@jest/globals';
import { Queue, Worker } from '@mortise/queues';
import { until } from '@mortise/test-kit';

import {
  batchSchema,
  depthsSchema,
  queueSchema,
  queuesPage,
  settingsSchema,
  taskSchema,
  tasksPage,
} from '../../src/queues/schemas.js';
import type { Answer } from '../fixture/api.js';
import { api, ask, get, post, prefix, queueOf, redis, slugOf } from './api.js';

const remove = (path: string): Promise<Answer> => ask('DELETE', path);
const put = (path: string, body: object, headers = {}): Promise<Answer> => ask('PUT', path, body, headers);

describe('a task', () => {
  test('is stored with all its options, and read again', async () => {
    const options = {
      priority: 'high',
      delayMs: 3_600_000,
      id: 'a~1:@-._',
      attempts: 3,
      backoff: { type: 'fixed', delayMs: 5 },
      timeoutMs: 1_000,
      expiresInMs: 7_200_000,
      headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
      group: 'eu ☃',
      dedupMs: 60_000,
    };
    const payload = { deep: [{ é: null }, 1.5, 'x'] };
    const stored = await post('/full/tasks', { name: 'report ☃', payload, ...options });
    expect([stored.status, stored.json]).toEqual([201, { id: options.id, isDuplicate: false }]);
    const task = await api.send({ path: String(stored.headers.location) });
    expect(task.status).toBe(200);
    expect(taskSchema.strict().parse(task.json)).toMatchObject({
      id: options.id,
      queue: 'full',
      name: 'report ☃',
      payload,
      state: 'scheduled',
      priority: 'high',
      group: 'eu ☃',
      headers: { ...options.headers, 'x-request-id': stored.headers['x-request-id'] },
      attempt: 0,
      attempts: 3,
      timeoutMs: 1_000,
    });
    expect(Math.abs(task.json.runAt - task.json.enqueuedAt - 3_600_000)).toBeLessThan(10_000);
    const again = await post('/full/tasks', { name: 'report ☃', payload, ...options });
    expect([again.status, again.json]).toEqual([200, { id: options.id, isDuplicate: true }]);
  });

  test('has the Idempotency-Key as its id', async () => {
    const key = { 'idempotency-key': 'cart-42' };
    const first = await post('/keyed/tasks', { name: 't', payload: null }, key);
    const second = await post('/keyed/tasks', { name: 't', payload: null }, key);
    expect([first, second].map(({ status, json }) => [status, json])).toEqual([
      [201, { id: 'cart-42', isDuplicate: false }],
      [200, { id: 'cart-42', isDuplicate: true }],
    ]);
    const reused = await post('/keyed/tasks', { name: 't', payload: 1 }, key);
    expect([...slugOf(reused), reused.json.requestKey]).toEqual([422, 'request-reused', 'cart-42']);
    const conflict = await post('/keyed/tasks', { name: 't', payload: 1, id: 'cart-42' });
    expect(slugOf(conflict)).toEqual([409, 'task-conflict']);
    const other = await post('/keyed/tasks', { name: 't', payload: null, id: 'other' }, key);
    expect([...slugOf(other), other.json.errors]).toEqual([
      400,
      'invalid-body',
      [{ pointer: '/id', message: 'is not the Idempotency-Key' }],
    ]);
  });

  test('may be as large as the queue allows, and no larger', async () => {
    const payload = 'x'.repeat(262_142);
    expect((await post('/large/tasks', { name: 't', payload })).status).toBe(201);
    expect(slugOf(await post('/large/tasks', { name: 't', payload: `${payload}x` }))).toEqual([
      413,
      'payload-too-large',
    ]);
    expect(slugOf(await post('/large/tasks', { name: 't', payload: 'x'.repeat(1_048_576) }))).toEqual([
      413,
      'body-too-large',
    ]);
  });

  test.each([
    'order/42',
    '../x',
    'a b',
    '}x',
    '%',
    '%2F',
    'é☃',
    '\n',
    '?x=1',
    '#',
    '__proto__',
    'x'.repeat(1_024),
  ])('of the id %j is reached by its encoding', async (id) => {
    const path = `/others/tasks/${encodeURIComponent(id)}`;
    await queueOf('others').enqueue('t', 1, { id });
    expect((await get(path)).json).toMatchObject({ id, state: 'ready' });
    expect((await post(`${path}/cancel`, {})).status).toBe(204);
    expect((await get(path)).json).toMatchObject({ id, state: 'cancelled' });
    expect((await remove(path)).status).toBe(204);
    expect(slugOf(await get(path))).toEqual([404, 'unknown-task']);
  });

  test('is retried, promoted, cancelled and removed where that can be', async () => {
    await post('/acts/tasks', { name: 't', payload: 1, id: 'later', delayMs: 3_600_000 });
    const act = (id: string, verb: string, body?: object): Promise<Answer> =>
      post(`/acts/tasks/${id}/${verb}`, body);
    expect((await act('later', 'promote')).status).toBe(204);
    const promoted = await act('later', 'promote');
    expect([...slugOf(promoted), promoted.json.state, promoted.json.taskId]).toEqual([
      409,
      'wrong-state',
      'ready',
      'later',
    ]);
    expect(slugOf(await act('later', 'retry'))).toEqual([409, 'wrong-state']);
    expect((await act('later', 'cancel', { reason: 'not wanted' })).status).toBe(204);
    expect((await get('/acts/tasks/later')).json).toMatchObject({
      state: 'cancelled',
      error: { message: 'not wanted' },
    });
    expect(slugOf(await act('later', 'cancel', {}))).toEqual([409, 'wrong-state']);
    expect((await act('later', 'retry')).status).toBe(204);
    const { json } = await post('/acts/claims', {});
    expect(json.items).toMatchObject([{ id: 'later', attempt: 1 }]);
    expect(slugOf(await remove('/acts/tasks/later'))).toEqual([409, 'task-active']);
    for (const verb of ['retry', 'promote', 'cancel']) {
      expect(slugOf(await act('none', verb, verb === 'cancel' ? {} : undefined))).toEqual([
        404,
        'unknown-task',
      ]);
    }
    expect(slugOf(await remove('/acts/tasks/none'))).toEqual([404, 'unknown-task']);
  });
});

describe('a batch', () => {
  test('stores a thousand tasks in order, each for itself', async () => {
    await post('/batch/tasks', { name: 't', payload: 'taken', id: 't7' });
    const tasks: object[] = Array.from({ length: 1_000 }, (_, n) => ({ name: 't', payload: n, id: `t${n}` }));
    tasks[8] = { name: 't', payload: 8, priority: 'urgent' };
    tasks[9] = { name: 't', payload: 'x'.repeat(262_145) };
    const { status, json } = await post('/batch/task-batches', { tasks });
    expect(status).toBe(200);
    const { items } = batchSchema.parse(json);
    expect(items.length).toBe(1_000);
    expect(items[0]).toEqual({ id: 't0', isDuplicate: false });
    expect(items.slice(7, 10)).toMatchObject([
      { problem: { type: expect.stringContaining('task-conflict'), status: 409 } },
      {
        problem: {
          errors: [{ pointer: '/priority', message: expect.stringContaining('high, medium, low') }],
        },
      },
      { problem: { type: expect.stringContaining('payload-too-large'), status: 413 } },
    ]);
    const counts = (await get('/batch')).json.counts;
    expect(counts.ready).toBe(998);
    const page = (await get('/batch/tasks?state=ready&limit=3')).json;
    expect(page.items.map(({ id }: { id: string }) => id)).toEqual(['t7', 't0', 't1']);
  });
});

describe('the list', () => {
  test('goes page by page through a state, also by name, without payloads', async () => {
    const tasks = Array.from({ length: 25 }, (_, n) => ({
      name: n % 5 === 0 ? 'rare' : 't',
      payload: n,
      id: `t${n}`,
    }));
    await post('/pages/task-batches', { tasks });
    const ids = async (query: string): Promise<string[]> => {
      const found: string[] = [];
      let cursor = '';
      do {
        const { json } = await get(`/pages/tasks?state=ready&limit=10${query}${cursor}`);
        const page = tasksPage.parse(json);
        for (const item of json.items) expect(Object.keys(item)).not.toContain('payload');
        found.push(...page.items.map(({ id }) => id));
        cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`;
      } while (cursor !== '');
      return found;
    };
    expect(await ids('')).toEqual(tasks.map(({ id }) => id));
    expect(await ids('&name=rare')).toEqual(['t0', 't5', 't10', 't15', 't20']);
    const { nextCursor } = (await get('/pages/tasks?state=ready&limit=10')).json;
    expect(slugOf(await get(`/pages/tasks?state=dead&cursor=${nextCursor}`))).toEqual([
      400,
      'invalid-cursor',
    ]);
  });
});

describe('a queue', () => {
  test('comes into being with its first task or its settings, and is listed then', async () => {
    expect(slugOf(await get('/born'))).toEqual([404, 'unknown-queue']);
    for (const sent of [
      get('/born/tasks?state=ready'),
      get('/born/tasks/x'),
      post('/born/pause'),
      post('/born/drain', {}),
    ]) {
      expect(slugOf(await sent)).toEqual([404, 'unknown-queue']);
    }
    await post('/born/tasks', { name: 't', payload: 1 });
    expect((await get('/born')).status).toBe(200);
    expect((await put('/set', {})).status).toBe(200);
    const { items } = queuesPage.parse((await get('?limit=200')).json);
    expect(items.map(({ name }) => name)).toEqual(expect.arrayContaining(['born', 'set']));
    expect(items.find(({ name }) => name === 'born')).toMatchObject({
      counts: { ready: 1 },
      headAgeMs: expect.any(Number),
      isPaused: false,
    });
  });

  test('is on one page of the list, whose cursor leads to the next', async () => {
    const names = ['paged-1', 'paged-2', 'paged-3', `paged-${'\u0001'.repeat(1_000)}`, '\u{1f600}'];
    for (const name of names) await put(`/${encodeURIComponent(name)}`, {});
    const seen: string[] = [];
    let [cursor, pages] = ['' as string | null, 0];
    while (cursor !== null) {
      const page = queuesPage.parse((await get(`?limit=3${cursor && `&cursor=${cursor}`}`)).json);
      seen.push(...page.items.map(({ name }) => name));
      [cursor, pages] = [page.nextCursor, pages + 1];
    }
    expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => (a < b ? -1 : 1)));
    expect(seen).toEqual(expect.arrayContaining(names));
    expect(pages).toBe(Math.ceil(seen.length / 3));
    expect(slugOf(await get('?cursor=nothing'))).toEqual([400, 'invalid-cursor']);
    expect(slugOf(await get('?limit=201'))).toEqual([400, 'invalid-query']);
  });

  test('tells its waiting tasks by priority and by time', async () => {
    await put('/deep', { priorities: ['first', 'second'] });
    await post('/deep/tasks', { name: 't', payload: 1, priority: 'first' });
    await post('/deep/tasks', { name: 't', payload: 1, priority: 'second', delayMs: 120_000 });
    const { priorities, due, inGroups } = depthsSchema.parse((await get('/deep/depths')).json);
    expect([priorities, inGroups]).toEqual([
      [
        { priority: 'first', ready: 1, scheduled: 0, retrying: 0 },
        { priority: 'second', ready: 0, scheduled: 1, retrying: 0 },
      ],
      0,
    ]);
    expect(due.filter(({ tasks }) => tasks > 0)).toEqual([{ withinMs: 300_000, tasks: 1 }]);
    expect(slugOf(await get('/none/depths'))).toEqual([404, 'unknown-queue']);
  });

  test('has settings that hold for all workers, and tells its load', async () => {
    const body = {
      priorities: ['first', 'second'],
      shards: 2,
      isPaused: true,
      concurrency: 4,
      rate: { limit: 100, periodMs: 1_000, burst: 5 },
      groups: { concurrency: 1, isOrdered: true },
      maxTasks: 1_000,
      keepEvents: 50,
    };
    const settings = {
      name: 'limits',
      ...body,
      groups: { concurrency: 1, rate: null, isOrdered: true },
    };
    expect(await put('/limits', body)).toMatchObject({ status: 200, json: settings });
    // A missing limit stays; null removes it.
    const changed = await put('/limits', { rate: null, isPaused: false, groups: { concurrency: null } });
    expect(settingsSchema.parse(changed.json)).toEqual({
      ...settings,
      rate: null,
      isPaused: false,
      groups: { concurrency: null, rate: null, isOrdered: true },
    });
    await post('/limits/task-batches', {
      tasks: [1, 2].map((payload) => ({ name: 't', payload, priority: 'first' })),
    });
    const { json } = await get('/limits');
    expect(queueSchema.parse(json)).toMatchObject({ counts: { ready: 2, active: 0 }, load: 0.5 });
    expect(json.headAgeMs).toBeGreaterThanOrEqual(0);
    const others = [{ priorities: ['other'] }, { shards: 3 }];
    expect((await Promise.all(others.map((other) => put('/limits', other)))).map(slugOf)).toEqual([
      [409, 'priorities-mismatch'],
      [409, 'shards-mismatch'],
    ]);
    expect((await get('/limits')).json).toMatchObject({ shards: 2, priorities: ['first', 'second'] });
  });

  test('changes only where its settings are those that were seen, for whoever says so', async () => {
    const none = await put('/tagged', { concurrency: 1 }, { 'if-match': '*' });
    expect(slugOf(none)).toEqual([412, 'settings-changed']);
    expect(slugOf(await get('/tagged'))).toEqual([404, 'unknown-queue']);
    const made = await put('/tagged', { concurrency: 1 });
    const seen = String(made.headers.etag);
    expect((await get('/tagged')).headers.etag).toBe(seen);
    // Tasks change nothing about it.
    await post('/tagged/tasks', { name: 't', payload: 1 });
    expect((await get('/tagged')).headers.etag).toBe(seen);
    // A program that uses the package is seen as well.
    await queueOf('tagged').configure({ concurrency: 2 });
    const late = await put('/tagged', { concurrency: 3 }, { 'if-match': seen });
    const { headers, json } = await get('/tagged');
    expect([...slugOf(late), late.json.etag, json.concurrency]).toEqual([
      412,
      'settings-changed',
      headers.etag,
      2,
    ]);
    const tags = `"other", ${String(headers.etag)}`;
    const changed = await put('/tagged', { concurrency: 3, isPaused: true }, { 'if-match': tags });
    expect([changed.status, changed.json.concurrency, changed.json.isPaused]).toEqual([200, 3, true]);
    expect(changed.headers.etag).not.toBe(headers.etag);
    expect((await get('/tagged')).headers.etag).toBe(changed.headers.etag);
    expect((await put('/tagged', { concurrency: 4 }, { 'if-match': '*' })).status).toBe(200);
  });

  test('of two changes that go by the same settings one is made', async () => {
    const { headers } = await put('/raced', { concurrency: 1 });
    const changes = [2, 3].map((concurrency) =>
      put('/raced', { concurrency }, { 'if-match': String(headers.etag) }),
    );
    const statuses = (await Promise.all(changes)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 412]));
    expect((await get('/raced')).json.concurrency).toBe(2 + statuses.indexOf(200));
  });

  test('of the application cannot be made with others', async () => {
    for (const own of ['/mail', '/market']) {
      expect(slugOf(await put(own, { priorities: ['only'] }))).toEqual([409, 'priorities-mismatch']);
      expect(slugOf(await put(own, { shards: 2 }))).toEqual([409, 'shards-mismatch']);
      expect((await put(own, { priorities: ['high', 'medium', 'low'], shards: 1 })).status).toBe(200);
    }
  });

  test('that has got shards meanwhile is used as it is', async () => {
    expect((await post('/sharded/claims', {})).json).toEqual({ items: [] });
    await queueOf('sharded').counts();
    const creator = new Queue(redis, 'sharded', { prefix, shards: 4 });
    await creator.enqueueMany(Array.from({ length: 20 }, (_, payload) => ({ name: 't', payload })));
    expect((await post('/sharded/tasks', { name: 't', payload: 20 })).status).toBe(201);
    const claimed = new Set<string>();
    for (let tries = 0; tries < 30 && claimed.size < 21; tries += 1) {
      for (const { id } of (await post('/sharded/claims', { limit: 100 })).json.items) claimed.add(id);
    }
    expect(claimed.size).toBe(21);
  });

  test('is paused and resumed', async () => {
    await post('/rest/tasks', { name: 't', payload: 1 });
    expect((await post('/rest/pause')).status).toBe(204);
    expect((await get('/rest')).json.isPaused).toBe(true);
    expect((await post('/rest/claims', {})).json).toEqual({ items: [] });
    const waiting = post('/rest/claims', { waitMs: 30_000 });
    expect((await post('/rest/resume')).status).toBe(204);
    expect((await waiting).json.items).toHaveLength(1);
  });

  test('that is full says so', async () => {
    await put('/full-up', { maxTasks: 1 });
    await post('/full-up/tasks', { name: 't', payload: 1 });
    const refused = await post('/full-up/tasks', { name: 't', payload: 2 });
    expect([...slugOf(refused), refused.headers['retry-after']]).toEqual([429, 'queue-full', '1']);
  });

  test('shows the names of tasks that its workers handle', async () => {
    await post('/served/tasks', { name: 'old', payload: 1 });
    expect((await get('/served/task-names')).json).toEqual({ items: [] });
    const worker = new Worker(redis, ['served'], { b: () => 1, a: () => 1 }, { prefix, onError: () => 0 });
    await worker.start();
    await until('the names', async () => (await get('/served/task-names')).json.items.length === 2);
    expect((await get('/served/task-names')).json).toEqual({ items: [{ name: 'a' }, { name: 'b' }] });
    await worker.stop();
    expect(slugOf(await get('/none/task-names'))).toEqual([404, 'unknown-queue']);
  });

  test('is removed, but not while it is in use unless forced', async () => {
    await put('/removed', { concurrency: 5 });
    await post('/removed/tasks', { name: 't', payload: 1 });
    const claimed = await post('/removed/claims', { leaseMs: 60_000 });
    expect(claimed.json.items).toHaveLength(1);
    const refused = await remove('/removed');
    expect([...slugOf(refused), refused.json.active]).toEqual([409, 'queue-in-use', 1]);
    expect((await get('/removed')).json.counts).toMatchObject({ active: 1 });
    expect((await remove('/removed?isForced=true')).status).toBe(204);
    expect(slugOf(await remove('/removed'))).toEqual([404, 'unknown-queue']);
    await post('/removed/tasks', { name: 't', payload: 1 });
    expect((await get('/removed')).json).toMatchObject({
      concurrency: null,
      counts: { ready: 1, active: 0 },
    });
  });

  test('is drained, cleaned, and its dead tasks are retried', async () => {
    const worker = new Worker(
      redis,
      ['bulk'],
      { ok: () => 1, die: () => Promise.reject(new Error('no')) },
      { prefix },
    );
    const tasks = ['ok', 'die', 'die', 'die'].map((name) => ({ name, payload: 1, attempts: 1 }));
    await post('/bulk/task-batches', { tasks });
    await worker.start();
    const counts = async (): Promise<Record<string, number>> => (await get('/bulk')).json.counts;
    await until('the tasks to end', async () => (await counts())['dead'] === 3);
    await worker.stop();
    expect((await post('/bulk/retry', { name: 'die', limit: 2 })).json).toEqual({ tasks: 2 });
    expect((await post('/bulk/clean', { state: 'succeeded' })).json).toEqual({ tasks: 1 });
    expect((await post('/bulk/clean', { state: 'dead', olderThanMs: 3_600_000 })).json).toEqual({ tasks: 0 });
    await post('/bulk/tasks', { name: 'ok', payload: 1, delayMs: 3_600_000 });
    expect((await post('/bulk/drain', {})).json).toEqual({ tasks: 2 });
    expect(await counts()).toMatchObject({ ready: 0, scheduled: 1, dead: 1, succeeded: 0 });
    expect((await post('/bulk/drain', { isAll: true })).json).toEqual({ tasks: 1 });
  });
});

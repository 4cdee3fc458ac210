/** The routes that the areas of the page call. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Queue, Worker } from '@mortise/queues';
import { gate, until } from '@mortise/test-kit';

import type { Served } from '../fixture/serve.js';
import { redis, serve } from '../fixture/serve.js';

/** Everything that a name of another program may have. */
const HOSTILE = '<img src=x onerror=alert(1)>/../%2F{}"\'?#& \u{1F642}\n';

let served: Served;
beforeAll(async () => {
  served = await serve();
});

const coded = encodeURIComponent;

describe('queues', () => {
  test('are listed, looked at, set, paused, drained and removed', async () => {
    const limits = {
      concurrency: 4,
      rate: { limit: 10, periodMs: 1_000 },
      groups: { isOrdered: true },
      isPaused: true,
    };
    const put = await served.call('PUT', 'queues/reports', { priorities: ['now', 'later'], ...limits });
    expect(put).toMatchObject({
      status: 200,
      json: { priorities: ['now', 'later'], concurrency: 4, isPaused: true },
    });
    await served.queue('reports').enqueue('daily', 1);
    await served.queue('reports').enqueue('daily', 1, { delayMs: 60_000 });
    expect((await served.call('GET', 'queues')).json.items).toContainEqual(
      expect.objectContaining({ name: 'reports' }),
    );
    expect((await served.call('GET', 'queues/reports')).json).toMatchObject({
      name: 'reports',
      counts: { ready: 1, scheduled: 1 },
      load: 0.25,
      headAgeMs: expect.any(Number),
      groups: { isOrdered: true },
    });
    expect((await served.call('PUT', 'queues/reports', { concurrency: null })).json).toMatchObject({
      concurrency: null,
      rate: { limit: 10 },
    });
    expect((await served.call('POST', 'queues/reports/resume')).status).toBe(204);
    expect((await served.call('POST', 'queues/reports/drain', { isAll: true })).json).toEqual({ tasks: 2 });
    expect((await served.call('DELETE', 'queues/reports?isForced=true')).status).toBe(204);
    expect((await served.call('GET', 'queues/reports')).json).toMatchObject({
      status: 404,
      queue: 'reports',
    });
  });

  test('refuse other priorities than they have, and wrong limits', async () => {
    await served.call('PUT', 'queues/fixed', { priorities: ['a', 'b'] });
    expect((await served.call('PUT', 'queues/fixed', { priorities: ['c'] })).json).toMatchObject({
      status: 409,
      title: 'The queue has other priorities',
    });
    expect((await served.call('PUT', 'queues/fixed', { concurrency: 0 })).status).toBe(400);
    expect((await served.call('PUT', 'queues/fixed', { isPaused: 'yes' })).status).toBe(400);
  });

  test('may have any name', async () => {
    const path = `queues/${coded(HOSTILE)}`;
    const { json } = await served.call('POST', `${path}/tasks`, {
      name: HOSTILE,
      payload: HOSTILE,
      id: HOSTILE,
    });
    expect(json).toEqual({ id: HOSTILE, isDuplicate: false });
    expect((await served.call('GET', `${path}/tasks/${coded(HOSTILE)}`)).json).toMatchObject({
      queue: HOSTILE,
      id: HOSTILE,
      payload: HOSTILE,
    });
    expect((await served.call('POST', `${path}/tasks/${coded(HOSTILE)}/cancel`)).status).toBe(204);
  });

  test('of a list alone are there, for every call', async () => {
    const few = await serve({ prefix: served.prefix, queues: ['shown', 'new'] });
    await served.queue('shown').enqueue('t', 1, { id: 'a' });
    await served.queue('hidden').enqueue('t', 1, { id: 'a' });
    expect((await few.call('GET', 'queues')).json).toMatchObject({
      items: [{ name: 'shown', isPaused: false }],
      nextCursor: null,
    });
    // The workers are those of all queues.
    expect((await few.call('GET', 'overview')).json.workers).toBe(null);
    expect((await few.call('GET', 'overview')).json).toMatchObject({ total: 1, queues: [{ name: 'shown' }] });
    const flow = await served.queue('shown').enqueueFlow({
      name: 'parent',
      payload: 0,
      options: { delayMs: 60_000 },
      children: [{ queue: 'hidden', name: 'child', payload: 0 }],
    });
    expect((await few.call('GET', `queues/shown/tasks/${flow.id}/children`)).json).toEqual({
      count: 1,
      items: [{ queue: 'hidden', id: flow.children[0]!.id }],
    });
    for (const [method, path, body] of [
      ['GET', 'queues/hidden'],
      ['PUT', 'queues/hidden', {}],
      ['DELETE', 'queues/hidden'],
      ['GET', 'queues/hidden/tasks?state=ready'],
      ['POST', 'queues/hidden/tasks', { name: 't', payload: 1 }],
      ['DELETE', 'queues/hidden/tasks/a'],
      ['PUT', 'queues/hidden/schedules/s', { everyMs: 1_000, name: 't', payload: 1 }],
      ['POST', 'queues/hidden/bulk-operations', { action: 'remove', state: 'ready' }],
      ['GET', 'events?topics=queue:hidden'],
    ] as const) {
      const { json } = await few.call(method, path, body);
      expect([method, path, json.title]).toEqual([method, path, 'There is no such queue']);
    }
    const operation = { action: 'retry', state: 'dead' };
    const { id } = (await served.call('POST', 'queues/hidden/bulk-operations', operation)).json;
    for (const path of [`operations/${id}`, `events?topics=operation:${id}`])
      expect((await few.call('GET', path)).json).toMatchObject({ status: 404, id });
    expect((await few.call('POST', 'queues/new/tasks', { name: 't', payload: 1 })).status).toBe(201);
  });
});

describe('tasks', () => {
  test('are listed by state, name and a member, page by page', async () => {
    const queue = served.queue('lists');
    for (const n of [1, 2, 3, 4])
      await queue.enqueue(n % 2 ? 'odd' : 'even', { user: { id: n } }, { id: `t${n}` });
    const first = (await served.call('GET', 'queues/lists/tasks?state=ready&limit=3')).json;
    expect(first.items).toHaveLength(3);
    expect(first.items[0]).not.toHaveProperty('payload');
    const { json } = await served.call(
      'GET',
      `queues/lists/tasks?state=ready&limit=3&cursor=${coded(first.nextCursor)}`,
    );
    expect(json).toMatchObject({ items: [{ id: 't4' }], nextCursor: null });
    const named = await served.call('GET', 'queues/lists/tasks?state=ready&name=even');
    expect(named.json.items.map(({ id }: { id: string }) => id)).toEqual(['t2', 't4']);
    const found = await served.call('GET', 'queues/lists/tasks?state=ready&field=user.id&equals=3');
    expect(found.json).toMatchObject({ items: [{ id: 't3' }], isCapped: false });
    expect(found.json.items[0]).not.toHaveProperty('payload');
  });

  test.each([
    'state=sleeping',
    '',
    'state=ready&limit=0',
    'state=ready&limit=1e1',
    'state=ready&cursor=nonsense',
    'state=ready&field=a',
    'state=ready&colour=red',
    'state=ready&state=dead',
  ])('a list by %j is refused', async (query) => {
    await served.queue('lists').enqueue('t', 1);
    expect((await served.call('GET', `queues/lists/tasks?${query}`)).json).toMatchObject({
      title: 'The query is not what the route takes',
    });
  });

  test('are rescheduled, reprioritized, promoted, cancelled, retried and removed', async () => {
    const queue = served.queue('moves');
    await queue.enqueue('t', 1, { id: 'a' });
    const act = async (verb: string, body?: object) =>
      (await served.call('POST', `queues/moves/tasks/a/${verb}`, body)).status;
    expect(await act('reschedule', { delayMs: 60_000 })).toBe(204);
    expect(await queue.get('a')).toMatchObject({ state: 'scheduled' });
    expect(await act('priority', { priority: 'high' })).toBe(204);
    expect(await act('priority', { priority: 'none' })).toBe(400);
    expect(await act('promote')).toBe(204);
    expect(await act('promote')).toBe(409);
    expect(await act('cancel', { reason: 'not wanted' })).toBe(204);
    expect(await queue.get('a')).toMatchObject({
      state: 'cancelled',
      priority: 'high',
      error: { message: 'not wanted' },
    });
    expect(await act('retry')).toBe(204);
    expect((await served.call('POST', 'queues/moves/tasks/a/retry')).json).toMatchObject({
      status: 409,
      state: 'ready',
    });
    expect((await served.call('DELETE', 'queues/moves/tasks/a')).status).toBe(204);
    for (const verb of ['retry', 'cancel', 'priority', 'reschedule']) {
      const body = { priority: { priority: 'high' }, reschedule: { delayMs: 1 } }[verb];
      expect([verb, await act(verb, body)]).toEqual([verb, 404]);
    }
  });

  test('get events, each once by its id, until they end', async () => {
    const queue = served.queue('delivered');
    const { id } = await queue.enqueue('t', 1);
    const deliver = (body: object, task = id) =>
      served.call('POST', `queues/delivered/tasks/${task}/events`, body);
    const approved = { event: 'approved', payload: { by: 'ann' }, id: 'click' };
    for (const body of [approved, approved]) expect((await deliver(body)).status).toBe(204);
    const taken = gate<unknown>();
    await using worker = new Worker(
      redis,
      ['delivered'],
      { t: async (_, context) => taken.open(await context.waitFor('approved', { timeoutMs: 60_000 })) },
      { prefix: served.prefix },
    );
    await worker.start();
    expect(await taken.passed).toEqual({ by: 'ann' });
    await queue.result(id, { waitMs: 20_000 });
    await worker.stop();
    // Known already, so a repeated request is no error.
    expect((await deliver(approved)).status).toBe(204);
    expect((await deliver({ event: 'late' })).json).toMatchObject({ status: 409, state: 'succeeded' });
    expect((await deliver(approved, 'unknown')).status).toBe(404);
    expect((await deliver({ payload: 1 })).status).toBe(400);
    expect((await deliver({ ...approved, other: 1 })).status).toBe(400);
    await queue.enqueue('other', 1, { id: 'full', delayMs: 3_600_000 });
    for (let n = 0; n < 100; n += 1) await queue.deliver('full', 'e', n);
    expect((await deliver({ event: 'e' }, 'full')).json).toMatchObject({
      status: 409,
      type: expect.stringContaining('too-many-events'),
    });
  });

  test('tell what happened to them, their times and the ends of their children', async () => {
    const queue = served.queue('flows');
    await queue.eventsCursor();
    const { id } = await queue.enqueueFlow({
      name: 'parent',
      payload: 1,
      children: [{ name: 'child', payload: { token: 'x' } }],
    });
    const end = gate();
    const listed = async () => (await served.call('GET', `queues/flows/tasks/${id}/children`)).json;
    expect(await listed()).toEqual({
      count: 1,
      items: [{ queue: 'flows', id: expect.any(String), name: 'child', state: 'ready' }],
    });
    await using worker = new Worker(
      redis,
      ['flows'],
      { child: async () => ({ token: 'x', size: 3 }), parent: () => end.passed },
      { prefix: served.prefix },
    );
    await worker.start();
    await until('the parent', async () => (await queue.get(id))?.state === 'active');
    expect(await listed()).toMatchObject({
      count: 1,
      items: [{ state: 'succeeded', result: { token: '[redacted]', size: 3 } }],
    });
    end.open();
    await queue.result(id);
    const { json: events } = await served.call('GET', `queues/flows/tasks/${id}/events`);
    expect(events.items.map(({ type }: { type: string }) => type)).toEqual(
      expect.arrayContaining(['started', 'succeeded']),
    );
    expect((await served.call('GET', 'queues/flows/times')).json).toMatchObject({
      count: 2,
      run: { p50: expect.any(Number) },
    });
    expect((await served.call('GET', 'queues/flows/task-names')).json.items).toEqual([
      { name: 'child' },
      { name: 'parent' },
    ]);
    await worker.stop();
  });

  test('are shown without secrets, and cut', async () => {
    const queue = served.queue('secrets');
    const payload = { user: 'frank', Password: 'hunter2', deep: [{ api_key: 'k', 'credit-card': '4111' }] };
    await queue.enqueue('t', payload, { id: 'a' });
    await queue.enqueue('t', { text: '\u{1F642}'.repeat(40_000) }, { id: 'long' });
    expect((await served.call('GET', 'queues/secrets/tasks/a')).json.payload).toEqual({
      user: 'frank',
      Password: '[redacted]',
      deep: [{ api_key: '[redacted]', 'credit-card': '[redacted]' }],
    });
    const { json: cut } = await served.call('GET', 'queues/secrets/tasks/long?maxBytes=101');
    expect(cut).toMatchObject({ payloadBytes: 160_011 });
    expect(cut.payloadText).toBe(`{"text":"${'\u{1F642}'.repeat(23)}`);
    expect(cut).not.toHaveProperty('payload');
  });

  test('are shown without the secrets of their headers and of lines that are JSON', async () => {
    const queue = served.queue('lines');
    await queue.enqueue('t', 1, { id: 'a', headers: { authorization: 'hunter2', trace: 'kept' } });
    await using worker = new Worker(
      redis,
      ['lines'],
      {
        t: async (_, { log }) => {
          await log('{"token":"hunter2","user":"frank"}');
          await log('token of frank');
        },
      },
      { prefix: served.prefix },
    );
    await worker.start();
    await queue.result('a');
    const { json } = await served.call('GET', 'queues/lines/tasks/a');
    expect(json.headers).toEqual({ authorization: '[redacted]', trace: 'kept' });
    expect(json.logs.map(({ text }: { text: string }) => text)).toEqual([
      '{"token":"[redacted]","user":"frank"}',
      'token of frank',
    ]);
    const list = await served.call('GET', 'queues/lines/tasks?state=succeeded');
    expect(list.json.items[0].headers).toEqual({ authorization: '[redacted]', trace: 'kept' });
  });

  test('are not found by the value of a secret', async () => {
    await served.queue('secrets').enqueue('t', { user: { password: 'hunter2' } });
    const search = await served.call(
      'GET',
      'queues/secrets/tasks?state=ready&field=user.password&equals=hunter2',
    );
    expect(search.json).toMatchObject({ status: 400, detail: 'field is redacted' });
    const body = { action: 'remove', state: 'ready', field: 'user.PASSWORD', equals: 'hunter2' };
    expect((await served.call('POST', 'queues/secrets/bulk-operations', body)).status).toBe(400);
    const whole = encodeURIComponent('{"password":"hunter2"}');
    const around = await served.call('GET', `queues/secrets/tasks?state=ready&field=user&equals=${whole}`);
    expect(around.json).toMatchObject({ status: 400, detail: 'field is redacted' });
    const open = await serve({ prefix: served.prefix, redact: [] });
    const found = await open.call(
      'GET',
      'queues/secrets/tasks?state=ready&field=user.password&equals=hunter2',
    );
    expect(found.json.items).toHaveLength(1);
  });
});

test('schedules are stored, listed and ended', async () => {
  const rule = {
    cron: '0 9 * * *',
    timezone: 'Europe/Berlin',
    name: 'daily',
    payload: { a: 1 },
    priority: 'high',
  };
  const path = 'queues/crons/schedules/every%20day';
  expect((await served.call('PUT', path, rule)).json).toMatchObject({ key: 'every day', isChanged: true });
  expect((await served.call('PUT', path, rule)).json).toMatchObject({ isChanged: false });
  expect((await served.call('PUT', path, { ...rule, cron: 'never' })).json).toMatchObject({
    status: 400,
    title: 'The rule of the schedule is none',
  });
  const { json } = await served.call('GET', 'queues/crons/schedules');
  expect(json.items).toEqual([
    expect.objectContaining({
      key: 'every day',
      cron: '0 9 * * *',
      timezone: 'Europe/Berlin',
      name: 'daily',
      runs: 0,
    }),
  ]);
  expect(json.items[0]).not.toHaveProperty('payload');
  expect((await served.call('DELETE', path)).status).toBe(204);
  expect((await served.call('DELETE', path)).status).toBe(404);
});

describe('bulk operations', () => {
  const ended = async (id: string) =>
    until(`the end of ${id}`, async () => {
      const { json } = await served.call('GET', `operations/${id}`);
      return json.status !== 'running' && json;
    });

  test.each([
    [
      { action: 'remove', state: 'ready', name: 'odd' },
      { ready: 150, scheduled: 0 },
    ],
    [
      { action: 'reschedule', state: 'ready', delayMs: 60_000 },
      { ready: 0, scheduled: 300 },
    ],
    [{ action: 'set-priority', state: 'ready', priority: 'high' }, { ready: 300 }],
    [
      { action: 'cancel', state: 'ready', field: 'n', equals: '7' },
      { ready: 299, cancelled: 1 },
    ],
  ])('%j', async (body, counts) => {
    const name = `bulk-${body.action}`;
    const queue = new Queue(redis, name, { prefix: served.prefix });
    const tasks = Array.from({ length: 300 }, (_, n) => ({ name: n % 2 ? 'odd' : 'even', payload: { n } }));
    await queue.enqueueMany(tasks);
    const { status, json } = await served.call('POST', `queues/${name}/bulk-operations`, body);
    expect([status, json]).toEqual([
      202,
      expect.objectContaining({ queue: name, status: 'running', changed: 0, ...body }),
    ]);
    const before = 300 - (counts.ready === 300 || counts.ready === 0 ? 0 : counts.ready);
    expect(await ended(json.id)).toMatchObject({ status: 'completed', changed: before, skipped: 0 });
    expect(await queue.counts()).toMatchObject(counts);
    const key = `${served.prefix}:queues:{${json.id}}:operation`;
    expect(await redis.pttl(key)).toBeGreaterThan(86_000_000);
  });

  test.each([
    { action: 'explode', state: 'ready' },
    { action: 'retry', state: 'ready' },
    { action: 'remove', state: 'active' },
    { action: 'remove', state: 'ready', field: 'a' },
    { action: 'reschedule', state: 'ready' },
    { action: 'reschedule', state: 'ready', delayMs: 1, runAt: 1 },
    { action: 'remove', state: 'ready', delayMs: 1 },
    { action: 'set-priority', state: 'ready' },
    { action: 'remove', state: 'ready', limit: 0 },
    { action: 'remove', state: 'ready', name: 5 },
  ])('%j is refused', async (body) => {
    await served.queue('bulk').enqueue('t', 1);
    expect((await served.call('POST', 'queues/bulk/bulk-operations', body)).status).toBe(400);
    expect(await served.queue('bulk').counts()).toMatchObject({ dead: 0 });
  });

  test('an unknown one is not there', async () => {
    expect((await served.call('GET', 'operations/none')).json).toMatchObject({ status: 404, id: 'none' });
  });
});

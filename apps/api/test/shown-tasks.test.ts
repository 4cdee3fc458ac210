/** How a page sees tasks: cut, without secrets, with their events and times; and how it moves those that wait. */
import { describe, expect, test } from '@jest/globals';
import { Queue, Worker } from '@mortise/queues';
import { connect, until } from '@mortise/test-kit';

import type { Answer, Api } from './fixture/api.js';
import { startApi } from './fixture/api.js';

const ADMIN = 'mk_admin_0123456789012345678901';
const redis = connect();
const api = await startApi({ AUTH: 'keys', ADMIN_KEY: ADMIN, CONSOLE: 'on' });
const { prefix } = api;
const HOUR_MS = 3_600_000;

type Headers = Record<string, string>;
const bearer: Headers = { authorization: `Bearer ${ADMIN}` };
const slugOf = ({ status, json }: Answer): [number, string] => [status, json?.type.split('/').at(-1)];
const ask = (target: string, body?: object, headers = bearer, by: Api = api): Promise<Answer> => {
  const [method, path] = target.split(' ') as [string, string];
  return by.send({ method, path: `/v1/${path}`, headers, ...(body && { body }) });
};
async function openSession(by: Api = api): Promise<Headers> {
  const { headers } = await ask('POST session', undefined, bearer, by);
  const [cookie = ''] = headers['set-cookie'] ?? [];
  return { cookie: cookie.split(';')[0]!, 'sec-fetch-site': 'same-origin' };
}
const session = await openSession();
const enqueue = (queue: string, id: string, payload: unknown, more = {}): Promise<Answer> =>
  ask(`POST queues/${queue}/tasks`, { name: 't', payload, id, ...more });
const taskOf = async (queue: string, id: string, query = '', headers = bearer): Promise<Answer['json']> =>
  (await ask(`GET queues/${queue}/tasks/${id}${query}`, undefined, headers)).json;
const ended = async (id: string): Promise<Answer['json']> =>
  until('the end of an operation', async () => {
    const { json } = await ask(`GET operations/${id}`);
    return json.status !== 'running' && json;
  });

describe('a payload', () => {
  test('that is longer than maxBytes is the beginning of its JSON, without half a character', async () => {
    await enqueue('cut', 'euro', { text: '€'.repeat(100) });
    const whole = JSON.stringify({ text: '€'.repeat(100) });
    const bytes = Buffer.byteLength(whole);
    for (const maxBytes of [20, 21, 22, 23]) {
      const { payload, payloadText, payloadBytes } = await taskOf('cut', 'euro', `?maxBytes=${maxBytes}`);
      expect([payload, payloadBytes, whole.startsWith(payloadText)]).toEqual([undefined, bytes, true]);
      expect(maxBytes - Buffer.byteLength(payloadText)).toBeLessThan(3);
      expect(payloadText).not.toContain('\uFFFD');
    }
    for (const query of ['', `?maxBytes=${bytes}`]) {
      const task = await taskOf('cut', 'euro', query);
      expect(task.payload).toEqual({ text: '€'.repeat(100) });
      expect(Object.keys(task).filter((name) => /Text|Bytes/.test(name))).toEqual([]);
    }
    const less = await taskOf('cut', 'euro', `?maxBytes=${bytes - 1}`);
    expect(less.payloadBytes).toBe(bytes);
  });

  test('of 3 MB is cut, and so is a long result', async () => {
    const long = 'x'.repeat(3_000_000);
    const queue = new Queue<{ t: string }>(redis, 'long', { prefix, maxPayloadBytes: 4_000_000 });
    await queue.enqueue('t', long, { id: 'long' });
    const { payloadText, payloadBytes } = await taskOf('long', 'long', '?maxBytes=4096', session);
    expect([payloadText, payloadBytes]).toEqual([`"${'x'.repeat(4_095)}`, 3_000_002]);
    const worker = new Worker<{ t: string }>(
      redis,
      ['long'],
      { t: (text) => text.slice(0, 200_000) },
      { prefix },
    );
    await worker.start();
    const task = await until('its end', async () => {
      const found = await taskOf('long', 'long', '?maxBytes=10');
      return found.state === 'succeeded' && found;
    });
    await worker.stop();
    expect([task.result, task.resultText, task.resultBytes]).toEqual([undefined, '"xxxxxxxxx', 200_002]);
  });

  test.each(['0', '-1', 'x', '1048577', '1.5'])('is not cut at %s bytes', async (maxBytes) => {
    await enqueue('cut', 'one', 1);
    const answer = await ask(`GET queues/cut/tasks/one?maxBytes=${maxBytes}`);
    expect(slugOf(answer)).toEqual([400, 'invalid-query']);
  });
});

const SECRETS = {
  user: 'bill',
  password: 'canary-1',
  API_KEY: 'canary-2',
  'api-key': ['canary-3'],
  list: [{ Token: { deep: 'canary-4' } }, 'kept'],
  nested: { secret: null, apiKeys: 'kept too' },
};
const SHOWN = {
  user: 'bill',
  password: '[redacted]',
  API_KEY: '[redacted]',
  'api-key': '[redacted]',
  list: [{ Token: '[redacted]' }, 'kept'],
  nested: { secret: '[redacted]', apiKeys: 'kept too' },
};

describe('a session', () => {
  test('sees payloads and results without the hidden members, and an API key with them', async () => {
    await enqueue('hidden', 'one', SECRETS);
    expect((await taskOf('hidden', 'one')).payload).toEqual(SECRETS);
    expect((await taskOf('hidden', 'one', '', session)).payload).toEqual(SHOWN);
    const text = (await taskOf('hidden', 'one', '?maxBytes=90', session)).payloadText;
    expect(JSON.stringify(SHOWN).startsWith(text)).toBe(true);
    const { json } = await ask('POST queues/hidden/claims', {});
    // A claim is for a worker.
    expect(json.items[0].payload).toEqual(SECRETS);
    await ask('POST queues/hidden/tasks/one/complete', { lease: json.items[0].lease, result: SECRETS });
    for (const [headers, expected] of [
      [bearer, SECRETS],
      [session, SHOWN],
    ] as const) {
      expect((await taskOf('hidden', 'one', '', headers)).result).toEqual(expected);
      const answer = await ask('GET queues/hidden/tasks/one/result?waitMs=0', undefined, headers);
      expect(answer.json.result).toEqual(expected);
    }
  });

  test('sees the ends of children so, too', async () => {
    const tasks = [
      { name: 'a', payload: 1, id: 'parent' },
      { name: 'b', payload: 1, id: 'child', parent: 0 },
    ];
    await ask('POST queues/families/flows', { tasks });
    const { json } = await ask('POST queues/families/claims', { waitMs: 5_000 });
    await ask('POST queues/families/tasks/child/complete', { lease: json.items[0].lease, result: SECRETS });
    const resultFor = async (headers: Headers): Promise<unknown> =>
      until('the end of the child', async () => {
        const { items } = (await ask('GET queues/families/tasks/parent/children', undefined, headers)).json;
        return items[0].result as unknown;
      });
    expect([await resultFor(bearer), await resultFor(session)]).toEqual([SECRETS, SHOWN]);
  });

  test.each(['password', 'nested.secret', 'list.0.Token.deep', 'API_KEY'])(
    'finds no tasks by the hidden member %s, neither in a list nor by an operation',
    async (field) => {
      await enqueue('searched', 'one', SECRETS);
      const list = `GET queues/searched/tasks?state=ready&field=${field}&equals=x`;
      const operation = { action: 'cancel', state: 'ready', field, equals: 'x' };
      const refused = [
        await ask(list, undefined, session),
        await ask('POST queues/searched/bulk-operations', operation, session),
      ];
      expect(refused.map(slugOf)).toEqual([
        [400, 'invalid-query'],
        [400, 'invalid-body'],
      ]);
      for (const { json } of refused) expect(json.errors[0].pointer).toBe('/field');
      expect((await ask(list)).status).toBe(200);
      const started = await ask('POST queues/searched/bulk-operations', operation);
      expect(await ended(started.json.id)).toMatchObject({ status: 'completed', changed: 0 });
      const other = await ask(
        'GET queues/searched/tasks?state=ready&field=user&equals=bill',
        undefined,
        session,
      );
      expect(other.json.items.map(({ id }: { id: string }) => id)).toEqual(['one']);
    },
  );

  test('finds no tasks by an object that has a hidden member', async () => {
    await enqueue('searched', 'two', { user: { password: 'x' } });
    const equals = '{"password":"x"}';
    const list = `GET queues/searched/tasks?state=ready&field=user&equals=${encodeURIComponent(equals)}`;
    const operation = { action: 'cancel', state: 'ready', field: 'user', equals };
    const refused = [
      await ask(list, undefined, session),
      await ask('POST queues/searched/bulk-operations', operation, session),
    ];
    expect(refused.map(slugOf)).toEqual([
      [400, 'invalid-query'],
      [400, 'invalid-body'],
    ]);
    expect((await ask(list)).json.items.map(({ id }: { id: string }) => id)).toEqual(['two']);
  });

  test('has the members of the setting hidden, and no others', async () => {
    const other = await startApi({
      AUTH: 'keys',
      ADMIN_KEY: ADMIN,
      MORTISE_PREFIX: prefix,
      REDACT: 'user, ab_c',
    });
    await enqueue('set', 'one', { user: 1, password: 2, aBC: 3, 'A-b-c': 4, abcd: 5 });
    const its = await ask('GET queues/set/tasks/one', undefined, await openSession(other), other);
    expect(its.json.payload).toEqual({
      user: '[redacted]',
      password: 2,
      aBC: '[redacted]',
      'A-b-c': '[redacted]',
      abcd: 5,
    });
  });

  test('sees nothing below a depth that nobody reads', async () => {
    const deep = (levels: number): unknown => (levels === 0 ? 'canary' : { a: deep(levels - 1) });
    await new Queue(redis, 'deep', { prefix }).enqueue('t', deep(100), { id: 'one' });
    const { payload } = await taskOf('deep', 'one', '', session);
    expect(JSON.stringify(payload)).not.toContain('canary');
    await enqueue('deep', 'two', deep(60));
    expect((await taskOf('deep', 'two', '', session)).payload).toEqual(deep(60));
  });
});

describe('the events and times of tasks', () => {
  test('are those since the first reader came', async () => {
    await enqueue('timed', 'before', 1, { delayMs: HOUR_MS });
    expect((await ask('GET queues/timed/tasks/before/events')).json).toEqual({ hasEvents: true, items: [] });
    expect((await ask('GET queues/timed/times')).json).toEqual({
      hasEvents: true,
      count: 0,
      wait: null,
      run: null,
    });
    await enqueue('timed', 'one', 1, { attempts: 2 });
    await enqueue('timed', 'other', 1, { delayMs: HOUR_MS });
    for (const error of ['broken', 'again']) {
      const { json } = await ask('POST queues/timed/claims', { waitMs: 5_000 });
      const { lease } = json.items[0];
      await ask('POST queues/timed/tasks/one/progress', { lease, progress: { done: 1 } });
      await ask('POST queues/timed/tasks/one/fail', { lease, error, delayMs: 0 });
    }
    const { items } = (await ask('GET queues/timed/tasks/one/events')).json;
    const shown = items.map((event: Record<string, unknown>) =>
      [event['type'], event['attempt'], (event['error'] as { message: string } | undefined)?.message].filter(
        (part) => part !== undefined,
      ),
    );
    expect(shown).toEqual([
      ['enqueued'],
      ['started', 1],
      ['progress'],
      ['retrying', 1, 'broken'],
      ['started', 2],
      ['progress'],
      ['dead', 2, 'again'],
    ]);
    const instants = items.map(({ at }: { at: number }) => at);
    expect(instants).toEqual(instants.toSorted((a: number, b: number) => a - b));
    const { json } = await ask('GET queues/timed/times');
    expect(json.count).toBe(2);
    const percentile = expect.any(Number);
    expect(json.run).toEqual({ p50: percentile, p95: percentile, p99: percentile });
    expect(json.wait.p50).toBeGreaterThanOrEqual(0);
  });

  test('are unknown of an unknown queue, and none of an unknown task', async () => {
    expect(slugOf(await ask('GET queues/nowhere/times'))).toEqual([404, 'unknown-queue']);
    expect(slugOf(await ask('GET queues/nowhere/tasks/a/events'))).toEqual([404, 'unknown-queue']);
    expect((await ask('GET queues/timed/tasks/nobody/events')).json).toEqual({ hasEvents: true, items: [] });
  });
});

describe('a task that waits', () => {
  const reschedule = (id: string, body: object, queue = 'moved'): Promise<Answer> =>
    ask(`POST queues/${queue}/tasks/${id}/reschedule`, body);
  const prioritize = (id: string, body: object, queue = 'moved'): Promise<Answer> =>
    ask(`POST queues/${queue}/tasks/${id}/priority`, body);

  test('gets another time, by a delay or an instant', async () => {
    await enqueue('moved', 'one', 1);
    const before = Date.now();
    expect((await reschedule('one', { delayMs: HOUR_MS })).status).toBe(204);
    const { state, runAt } = await taskOf('moved', 'one');
    expect([state, Math.abs(runAt - before - HOUR_MS) < 10_000]).toEqual(['scheduled', true]);
    const at = Date.now() + 2 * HOUR_MS;
    for (let n = 0; n < 2; n += 1) expect((await reschedule('one', { runAt: at })).status).toBe(204);
    expect((await taskOf('moved', 'one')).runAt).toBe(at);
    expect((await reschedule('one', { delayMs: 0 })).status).toBe(204);
    expect((await taskOf('moved', 'one')).state).toBe('ready');
  });

  test('gets another priority', async () => {
    await enqueue('moved', 'two', 1, { priority: 'low' });
    for (let n = 0; n < 2; n += 1) expect((await prioritize('two', { priority: 'high' })).status).toBe(204);
    expect((await taskOf('moved', 'two')).priority).toBe('high');
  });

  test('gets another payload, also when it is dead or cancelled', async () => {
    await enqueue('moved', 'three', 1);
    const put = (id: string): Promise<Answer> =>
      ask(`PUT queues/moved/tasks/${id}/payload`, { payload: { a: 1 } });
    for (let n = 0; n < 2; n += 1) expect((await put('three')).status).toBe(204);
    await ask('POST queues/moved/tasks/three/cancel', {});
    expect((await put('three')).status).toBe(204);
    expect(await taskOf('moved', 'three')).toMatchObject({ state: 'cancelled', payload: { a: 1 } });
    expect(slugOf(await put('nobody'))).toEqual([404, 'unknown-task']);
  });

  test('is changed by an enqueue with its key', async () => {
    const post = (body: object, headers: Headers = {}): Promise<Answer> =>
      ask('POST queues/keyed/tasks', { name: 't', dedupKey: 'k', ...body }, { ...bearer, ...headers });
    const first = await post({ payload: [1], onDuplicate: 'append', delayMs: HOUR_MS });
    expect(first.status).toBe(201);
    const second = await post({ payload: [2], onDuplicate: 'append', maxElements: 2 });
    expect([second.status, second.json]).toEqual([200, { ...first.json, isDuplicate: true }]);
    expect(await taskOf('keyed', first.json.id)).toMatchObject({ state: 'ready', payload: [1, 2] });
    for (const body of [
      { payload: 1, onDuplicate: 'append' },
      { payload: 1, id: 'a' },
      { payload: 1, maxElements: 2 },
      { payload: 1, dedupKey: undefined, onDuplicate: 'keep' },
    ])
      expect([body, slugOf(await post(body))]).toEqual([body, [400, 'invalid-body']]);
    expect(slugOf(await post({ payload: 1 }, { 'idempotency-key': 'a' }))).toEqual([400, 'invalid-body']);
  });

  test('no longer: it is another state, or unknown', async () => {
    await enqueue('moved', 'gone', 1);
    await ask('POST queues/moved/tasks/gone/cancel', {});
    for (const answer of [
      await reschedule('gone', { delayMs: 1 }),
      await prioritize('gone', { priority: 'high' }),
    ]) {
      expect(slugOf(answer)).toEqual([409, 'wrong-state']);
      expect(answer.json).toMatchObject({ queue: 'moved', taskId: 'gone', state: 'cancelled' });
    }
    for (const [id, queue, slug] of [
      ['nobody', 'moved', 'unknown-task'],
      ['nobody', 'nowhere', 'unknown-queue'],
    ] as const) {
      expect(slugOf(await reschedule(id, { delayMs: 1 }, queue))).toEqual([404, slug]);
      expect(slugOf(await prioritize(id, { priority: 'high' }, queue))).toEqual([404, slug]);
    }
  });

  test.each<[string, object, string]>([
    ['reschedule', {}, 'invalid-body'],
    ['reschedule', { delayMs: 1, runAt: 1 }, 'invalid-body'],
    ['reschedule', { delayMs: -1 }, 'invalid-body'],
    ['reschedule', { delayMs: '1' }, 'invalid-body'],
    ['reschedule', { delayMs: 1, more: 1 }, 'invalid-body'],
    ['reschedule', { runAt: 1_000 }, 'run-at-past'],
    ['priority', {}, 'invalid-body'],
    ['priority', { priority: 'a b' }, 'invalid-body'],
    ['priority', { priority: 'urgent' }, 'invalid-body'],
    ['priority', { priority: null }, 'invalid-body'],
  ])('%s with %j is refused', async (action, body, slug) => {
    await enqueue('moved', 'kept', 1);
    expect(slugOf(await ask(`POST queues/moved/tasks/kept/${action}`, body))).toEqual([400, slug]);
  });
});

describe('an operation that moves', () => {
  const start = (queue: string, body: object): Promise<Answer> =>
    ask(`POST queues/${queue}/bulk-operations`, body);
  const enqueueMany = async (queue: string, count: number, more: object): Promise<void> => {
    const tasks = Array.from({ length: count }, (_, n) => ({ name: 't', payload: n, id: `t${n}`, ...more }));
    await ask(`POST queues/${queue}/task-batches`, { tasks });
    await new Queue(redis, queue, { prefix }).eventsCursor();
  };
  /** How many events of a type each task has. */
  const movesOf = async (queue: string, type: string): Promise<number[]> => {
    const moves = new Map<string, number>();
    const events = await new Queue(redis, queue, { prefix }).lastEvents();
    for (const event of events)
      if (event.type === type) moves.set(event.id!, (moves.get(event.id!) ?? 0) + 1);
    return [...moves.values()];
  };

  test.each<[string, string, object, object]>([
    ['moves-1', 'scheduled', { delayMs: HOUR_MS }, { delayMs: 2 * HOUR_MS }],
    ['moves-2', 'scheduled', { delayMs: 2 * HOUR_MS }, { delayMs: HOUR_MS }],
    ['moves-3', 'scheduled', { delayMs: HOUR_MS }, { runAt: Date.now() + 3 * HOUR_MS }],
    ['moves-4', 'ready', {}, { delayMs: HOUR_MS }],
  ])(
    'of the queue %s, of %s tasks of %j, by %j ends, and moves each once to one instant',
    async (queue, state, given, by) => {
      await enqueueMany(queue, 450, given);
      const { status, json } = await start(queue, { action: 'reschedule', state, ...by });
      expect([status, json]).toMatchObject([202, { action: 'reschedule', ...by }]);
      expect(await ended(json.id)).toMatchObject({ status: 'completed', changed: 450, skipped: 0 });
      const moves = await movesOf(queue, 'rescheduled');
      expect([moves.length, new Set(moves)]).toEqual([450, new Set([1])]);
      const { tasks } = await new Queue(redis, queue, { prefix }).list('scheduled', { limit: 500 });
      expect([tasks.length, new Set(tasks.map(({ runAt }) => runAt)).size]).toEqual([450, 1]);
    },
  );

  test('scheduled tasks to now makes each due once, and ready tasks stay where they are', async () => {
    await enqueueMany('due', 300, { delayMs: HOUR_MS });
    const now = await start('due', { action: 'reschedule', state: 'scheduled', delayMs: 0 });
    expect(await ended(now.json.id)).toMatchObject({ status: 'completed', changed: 300, skipped: 0 });
    expect(new Set(await movesOf('due', 'ready'))).toEqual(new Set([1]));
    const again = await start('due', { action: 'reschedule', state: 'ready', delayMs: 0 });
    expect(await ended(again.json.id)).toMatchObject({ status: 'completed', changed: 0, skipped: 300 });
  });

  test.each(['ready', 'scheduled'])(
    '%s tasks to another priority ends, and moves each once',
    async (state) => {
      const queue = `ranks-${state}`;
      await enqueueMany(queue, 450, { priority: 'high', ...(state === 'scheduled' && { delayMs: HOUR_MS }) });
      const { json } = await start(queue, { action: 'set-priority', state, priority: 'low' });
      expect(await ended(json.id)).toMatchObject({ status: 'completed', changed: 450, skipped: 0 });
      const moves = await movesOf(queue, 'reprioritized');
      expect([moves.length, new Set(moves)]).toEqual([450, new Set([1])]);
      const { tasks } = await new Queue(redis, queue, { prefix }).list(state as 'ready', { limit: 500 });
      expect([tasks.length, new Set(tasks.map(({ priority }) => priority))]).toEqual([450, new Set(['low'])]);
    },
  );

  test.each<[object, string]>([
    [{ action: 'reschedule', state: 'scheduled' }, 'invalid-body'],
    [{ action: 'reschedule', state: 'dead', delayMs: 1 }, 'invalid-body'],
    [{ action: 'reschedule', state: 'active', delayMs: 1 }, 'invalid-body'],
    [{ action: 'reschedule', state: 'ready', delayMs: 1, runAt: 1 }, 'invalid-body'],
    [{ action: 'reschedule', state: 'ready', delayMs: 1, priority: 'low' }, 'invalid-body'],
    [{ action: 'reschedule', state: 'ready', runAt: 1_000 }, 'run-at-past'],
    [{ action: 'set-priority', state: 'ready' }, 'invalid-body'],
    [{ action: 'set-priority', state: 'ready', priority: 'urgent' }, 'invalid-body'],
    [{ action: 'set-priority', state: 'active', priority: 'low' }, 'invalid-body'],
    [{ action: 'cancel', state: 'ready', priority: 'low' }, 'invalid-body'],
    [{ action: 'cancel', state: 'ready', delayMs: 1 }, 'invalid-body'],
  ])('with %j is refused', async (body, slug) => {
    await enqueue('refused', 'one', 1);
    expect(slugOf(await start('refused', body))).toEqual([400, slug]);
  });
});

/** Programs that talk HTTP as workers. */
import { connect as connectTo } from 'node:net';

import { describe, expect, test } from '@jest/globals';
import { Queue, Worker } from '@mortise/queues';
import { compression } from '@mortise/queues/codecs';
import { until } from '@mortise/test-kit';

import { claimsSchema } from '../../src/queues/claim-schemas.js';
import type { Answer, Api } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import { api, ask, post, prefix, queueOf, redis, slugOf } from './api.js';

/** A second process, as it were. */
const other = await startApi({ MORTISE_PREFIX: prefix });
const postTo = (at: Api, path: string, body: object): Promise<Answer> => ask('POST', path, body, {}, at);
const idle = (name: string): Promise<number> => redis.zcard(`${prefix}:queues:{${name}}:idle`);

test('a task is claimed, prolonged, reported on and completed, at any process', async () => {
  const queue = queueOf('work');
  const { id } = await queue.enqueue(
    't',
    { n: [1] },
    { headers: { h: 'v' }, id: 'order/42', timeoutMs: 500 },
  );
  const { status, json } = await post('/work/claims', { limit: 10, leaseMs: 60_000 });
  expect(status).toBe(200);
  const [task] = claimsSchema.strict().parse(json).items;
  expect(task).toMatchObject({
    id,
    name: 't',
    payload: { n: [1] },
    headers: { h: 'v' },
    attempt: 1,
    attempts: 5,
  });
  const { lease } = task!;
  const path = '/work/tasks/order%2F42';
  const sent: [string, object][] = [
    ['heartbeat', { lease, leaseMs: 90_000 }],
    ['progress', { lease, progress: { done: 1 } }],
    ['log', { lease, text: 'half\nof it' }],
  ];
  for (const [verb, body] of sent) expect((await postTo(other, `${path}/${verb}`, body)).status).toBe(204);
  const seen = await queue.get(id);
  expect(seen).toMatchObject({ state: 'active', progress: { done: 1 } });
  expect(seen!.logs!.map(({ text }) => text)).toEqual(['half', 'of it']);
  expect(seen!.leaseUntil).toBeGreaterThan(task!.leaseUntil + 20_000);
  expect((await postTo(other, `${path}/complete`, { lease, result: { sent: 1 } })).status).toBe(204);
  expect(await queue.get(id)).toMatchObject({ state: 'succeeded', result: { sent: 1 } });
  for (const [verb, body] of [
    ...sent,
    ['complete', { lease }],
    ['fail', { lease, error: 'x' }],
    ['give-back', { lease }],
  ] as const) {
    const refused = await post(`${path}/${verb}`, body);
    expect([verb, ...slugOf(refused), refused.json.taskId]).toEqual([verb, 409, 'lease-lost', id]);
  }
});

test('a payload that its producer has encoded comes as it is stored, with the names of its codecs', async () => {
  const codecs = [compression({ aboveBytes: 0 })];
  const encoding = new Queue(redis, 'encoded', { prefix, codecs });
  await encoding.enqueue('t', { text: 'long '.repeat(100) }, { id: 'first' });
  const { json, headers } = await post('/encoded/claims', {});
  expect(json.items).toMatchObject([{ payload: { $codec: 'br', data: expect.any(String) } }]);
  expect(headers['payload-codecs']).toBe('br');
  const { lease } = json.items[0];
  await post('/encoded/tasks/first/complete', { lease, result: 'plain' });
  const plain = await ask('GET', '/encoded/tasks/first/result');
  expect([plain.json, plain.headers['payload-codecs']]).toEqual([{ result: 'plain' }, undefined]);

  const worker = new Worker(redis, ['encoded'], { t: () => 'done '.repeat(100) }, { prefix, codecs });
  await encoding.enqueue('t', { text: 'short' }, { id: 'second' });
  await worker.start();
  await encoding.result('second', { waitMs: 20_000 });
  await worker.stop();
  for (const path of ['/encoded/tasks/second/result', '/encoded/tasks/second']) {
    const answer = await ask('GET', path);
    expect(answer.json).toMatchObject({ result: { $codec: 'br' } });
    expect(answer.headers['payload-codecs']).toBe('br');
  }
  await queueOf('plain').enqueue('t', 1);
  expect((await post('/plain/claims', {})).headers['payload-codecs']).toBeUndefined();
});

test('an attempt fails: again later, again at once, never again', async () => {
  const queue = queueOf('failing');
  const claim = async (): Promise<string> =>
    (await post('/failing/claims', { waitMs: 20_000 })).json.items[0].lease;
  const fail = async (body: object): Promise<number> => (await post('/failing/tasks/a/fail', body)).status;
  await queue.enqueue('t', 1, { id: 'a', backoff: { type: 'fixed', delayMs: 3_600_000 } });
  expect(await fail({ lease: await claim(), error: '451' })).toBe(204);
  expect(await queue.get('a')).toMatchObject({ state: 'retrying', attempt: 1, error: { message: '451' } });
  await queue.promote('a');
  expect(await fail({ lease: await claim(), error: '452', delayMs: 0 })).toBe(204);
  expect((await post('/failing/tasks/a/give-back', { lease: await claim() })).status).toBe(204);
  expect(await fail({ lease: await claim(), error: '550', isRetried: false })).toBe(204);
  expect(await queue.get('a')).toMatchObject({ state: 'dead', attempt: 3, error: { message: '550' } });
});

test('a cancelled task is reported as cancelled', async () => {
  const queue = queueOf('cancelled');
  await queue.enqueue('t', 1, { id: 'a' });
  const { lease } = (await post('/cancelled/claims', {})).json.items[0];
  await queue.cancel('a');
  const body = { lease };
  expect(slugOf(await post('/cancelled/tasks/a/heartbeat', body))).toEqual([409, 'task-cancelled']);
  expect(slugOf(await post('/cancelled/tasks/a/complete', body))).toEqual([409, 'task-cancelled']);
});

test('a task whose worker died runs again after its lease', async () => {
  await queueOf('left').enqueue('t', 1, { id: 'a' });
  await post('/left/claims', { leaseMs: 1_000 });
  const { json } = await postTo(other, '/left/claims', { waitMs: 20_000 });
  expect(json.items).toMatchObject([{ id: 'a', attempt: 2 }]);
});

describe('a wait', () => {
  test('ends with nothing, or with what comes', async () => {
    expect((await post('/wait/claims', { waitMs: 30 })).json).toEqual({ items: [] });
    const waits = [
      post('/wait/claims', { waitMs: 30_000 }),
      postTo(other, '/wait/claims', { waitMs: 30_000 }),
    ];
    await until('both to wait', async () => (await idle('wait')) === 2);
    await queueOf('wait').enqueueMany(['a', 'b'].map((payload) => ({ name: 't', payload })));
    const found = (await Promise.all(waits)).flatMap(({ json }) => json.items);
    expect(new Set(found.map(({ payload }) => payload))).toEqual(new Set(['a', 'b']));
  });

  test('of a client that is gone ends, and loses no task', async () => {
    const queue = queueOf('gone');
    const { hostname, port } = new URL(api.url);
    const body = JSON.stringify({ waitMs: 30_000, leaseMs: 3_600_000 });
    const head = `POST /v1/queues/gone/claims HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`;
    const sockets = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const socket = connectTo(Number(port), hostname);
        socket.on('error', () => undefined);
        socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
        return socket;
      }),
    );
    await until('them to wait', async () => (await idle('gone')) === 1);
    const stored = queue.enqueueMany([1, 2].map((payload) => ({ name: 't', payload })));
    for (const socket of sockets) socket.destroy();
    await stored;
    // Tasks that were fetched for them were either delivered before they left, or are given back.
    await until('nobody to wait', async () => (await idle('gone')) === 0);
    await queue.enqueue('t', 3);
    const { json } = await post('/gone/claims', { limit: 10, waitMs: 20_000 });
    expect(json.items.map(({ payload }: { payload: number }) => payload)).toContain(3);
    const { active, ready, retrying } = await queue.counts();
    expect(active + ready + retrying).toBe(3);
  });

  test('ends when the server does, and stands nowhere then', async () => {
    const ending = await startApi({ MORTISE_PREFIX: prefix });
    const waiting = postTo(ending, '/ending/claims', { waitMs: 30_000 });
    await until('it to wait', async () => (await idle('ending')) === 1);
    const closed = ending.close();
    expect(slugOf(await waiting)).toEqual([503, 'shutting-down']);
    await closed;
    expect(await idle('ending')).toBe(0);
  });
});

test('a claim of some names leaves the other tasks to others', async () => {
  const queue = queueOf('names');
  for (const name of ['a', 'b']) await queue.enqueue(name, 1, { id: name });
  const ids = ({ json }: Answer): unknown => json.items.map(({ id }: { id: string }) => id);
  expect(ids(await post('/names/claims', { limit: 2, names: ['b', 'c'] }))).toEqual(['b']);
  expect(ids(await post('/names/claims', { limit: 2, waitMs: 10_000, names: ['a'] }))).toEqual(['a']);
  expect(slugOf(await post('/names/claims', { names: [] }))).toEqual([400, 'invalid-body']);
});

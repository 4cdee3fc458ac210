/** Limits of requests, by credential and by tenant, and quotas of tenants. */
import { describe, expect, test } from '@jest/globals';
import { connect, until } from '@mortise/test-kit';

import { parseRate } from '../../src/rate.js';
import type { Answer, Api, Sent } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import { keysOf } from '../fixture/redis.js';
import { EventReader, SocketClient } from '../fixture/streams.js';

const redis = connect();
const ADMIN = 'mk_admin_0123456789012345678901';
const api = await startApi({ AUTH: 'keys', ADMIN_KEY: ADMIN });

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const slugOf = ({ json }: Answer): string => String(json?.type).split('/').at(-1)!;
const ask = (
  key: string,
  target: string,
  body?: Sent['body'],
  by: Pick<Api, 'send'> = api,
): Promise<Answer> => {
  const [method, path] = target.split(' ') as [string, string];
  return by.send({ method, path, headers: bearer(key), ...(body && { body }) });
};

const SCOPES = [
  'queues:read',
  'queues:write',
  'queues:admin',
  'queues:consume',
  'messaging:read',
  'messaging:write',
];

async function createKey(id: string, terms: object = {}, by: Api = api): Promise<string> {
  const { status, json } = await ask(ADMIN, `PUT /v1/admin/keys/${id}`, { scopes: SCOPES, ...terms }, by);
  expect(status).toBe(201);
  return json.key as string;
}

async function putTenant(id: string, terms: object): Promise<void> {
  const { status, json } = await ask(ADMIN, `PUT /v1/admin/tenants/${id}`, terms);
  expect([status < 300, json]).toEqual([true, expect.objectContaining(terms)]);
}

/** Long enough that nothing comes back during a test. */
const DAY = 86_400;

test.each(['0/1', '1/0', '1', '/1', '1/', '1.5/1', ' 1/1', '1/86401', '1000001/1', '-1/1'])(
  'the limit "%s" is none',
  (text) => {
    expect(parseRate(text)).toBeUndefined();
  },
);

describe('a limit of requests', () => {
  test('of a key refuses further requests, and each answer has the number that remains', async () => {
    const key = await createKey('few', { limit: { requests: 3, seconds: DAY } });
    const answers: Answer[] = [];
    for (let i = 0; i < 4; i += 1) answers.push(await ask(key, 'GET /v1/queues'));
    expect(
      answers.map(({ status, headers }) => [status, headers['ratelimit'], headers['ratelimit-policy']]),
    ).toEqual(
      [2, 1, 0, 0].map((left, index) => [
        index < 3 ? 200 : 429,
        expect.stringMatching(new RegExp(`^"key";r=${left};t=\\d+$`)),
        `"key";q=3;w=${DAY}`,
      ]),
    );
    const { json, headers } = answers[3]!;
    expect([slugOf(answers[3]!), json.policy, json.limit, json.periodMs]).toEqual([
      'rate-limited',
      'key',
      3,
      DAY * 1_000,
    ]);
    expect(Number(headers['retry-after'])).toBe(Math.ceil(json.retryAfterMs / 1_000));
    expect(json.retryAfterMs).toBeGreaterThan(DAY * 300);
  });

  test('of a tenant counts the requests of all its keys', async () => {
    await putTenant('busy', { name: 'Busy', limit: { requests: 4, seconds: DAY }, quotas: {} });
    const [first, second] = [
      await createKey('busy-1', { tenant: 'busy' }),
      await createKey('busy-2', { tenant: 'busy' }),
    ];
    const statuses: number[] = [];
    for (const key of [first, second, first, second, first, second])
      statuses.push((await ask(key, 'GET /v1/queues')).status);
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
    expect((await ask(first, 'GET /v1/queues')).json.policy).toBe('tenant');
    // Others are not held back.
    expect((await ask(ADMIN, 'GET /v1/queues')).status).toBe(200);
  });

  test('that is raised lets requests pass within a second', async () => {
    const terms = { limit: { requests: 1, seconds: DAY } };
    const key = await createKey('raised', terms);
    await ask(key, 'GET /v1/queues');
    expect((await ask(key, 'GET /v1/queues')).status).toBe(429);
    await ask(ADMIN, 'PUT /v1/admin/keys/raised', { scopes: SCOPES, limit: { requests: 5, seconds: DAY } });
    await until('the new limit', async () => (await ask(key, 'GET /v1/queues')).status === 200);
    await ask(ADMIN, 'PUT /v1/admin/keys/raised', { scopes: SCOPES });
    const { headers } = await ask(key, 'GET /v1/queues');
    expect(headers['ratelimit']).toBeUndefined();
  });

  test('is that of KEY_LIMIT and TENANT_LIMIT for those without one, in all processes together', async () => {
    const env = { AUTH: 'keys', ADMIN_KEY: ADMIN, KEY_LIMIT: `3/${DAY}`, TENANT_LIMIT: `100/${DAY}` };
    const one = await startApi(env);
    const other = await startApi({ ...env, MORTISE_PREFIX: one.prefix });
    const key = await createKey('shared', {}, one);
    const answers = [
      await ask(key, 'GET /v1/queues', undefined, one),
      await ask(key, 'GET /v1/queues', undefined, other),
      await ask(key, 'GET /v1/queues', undefined, one),
      await ask(key, 'GET /v1/queues', undefined, other),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers[0]!.headers['ratelimit-policy']).toBe(`"key";q=3;w=${DAY}, "tenant";q=100;w=${DAY}`);
    const names = await keysOf(redis, `${one.prefix}.limits`);
    expect(names.map((name) => name.split(':').slice(-4, -1).join(':')).toSorted()).toEqual(
      expect.arrayContaining([expect.stringContaining('key'), expect.stringContaining('tenant')]),
    );
    // A refused credential and a public route count for no key.
    for (let i = 0; i < 5; i += 1) {
      expect((await ask(`${key}x`, 'GET /v1/queues', undefined, one)).status).toBe(401);
      expect((await one.send({ path: '/health/live' })).status).toBe(200);
    }
    await Promise.all([one.close(), other.close()]);
  });

  test('counts the frames of a WebSocket', async () => {
    const key = await createKey('chatty', { limit: { requests: 3, seconds: DAY } });
    const socket = await SocketClient.open(api.url, bearer(key));
    const typing = (): Promise<{ error?: { type: string } }> => socket.ask({ typing: 'nowhere' });
    await socket.ask({ subscribe: 'bill' });
    const answers = [await typing(), await typing(), await typing()];
    expect(answers.map(({ error }) => error?.type.split('/').at(-1))).toEqual([
      'unknown-chat',
      'unknown-chat',
      'rate-limited',
    ]);
    socket.socket.close();
  });
});

describe('a quota of a tenant', () => {
  const refusal = ({ status, json }: Answer): unknown[] => [
    status,
    String(json?.type).split('/').at(-1),
    json?.quota,
  ];

  test('of queues stops new ones, by a task and by settings', async () => {
    await putTenant('queues', { name: '', quotas: { queues: 2 } });
    const key = await createKey('queues', { tenant: 'queues' });
    expect((await ask(key, 'POST /v1/queues/a/tasks', { name: 'n', payload: 1 })).status).toBe(201);
    expect((await ask(key, 'PUT /v1/queues/b', {})).status).toBe(200);
    const refused = [429, 'quota-exceeded', 'queues'];
    expect(refusal(await ask(key, 'POST /v1/queues/c/tasks', { name: 'n', payload: 1 }))).toEqual(refused);
    expect(refusal(await ask(key, 'PUT /v1/queues/c', {}))).toEqual(refused);
    // Those that are there take more.
    expect((await ask(key, 'POST /v1/queues/b/tasks', { name: 'n', payload: 1 })).status).toBe(201);
    expect((await ask(key, 'PUT /v1/queues/a', { concurrency: 2 })).status).toBe(200);
    expect((await ask(ADMIN, 'POST /v1/queues/c/tasks', { name: 'n', payload: 1 })).status).toBe(201);
  });

  test('of tasks counts all its queues, and tasks that are gone make room', async () => {
    await putTenant('tasks', { name: '', quotas: { tasks: 4 } });
    const key = await createKey('tasks', { tenant: 'tasks' });
    const many = (queue: string, count: number): Promise<Answer> =>
      ask(key, `POST /v1/queues/${queue}/task-batches`, {
        tasks: Array.from({ length: count }, () => ({ name: 'n', payload: 1 })),
      });
    expect((await many('a', 2)).status).toBe(200);
    expect((await ask(key, 'POST /v1/queues/b/tasks', { name: 'n', payload: 1 })).status).toBe(201);
    expect(refusal(await many('c', 2))).toEqual([429, 'quota-exceeded', 'tasks']);
    expect((await ask(key, 'POST /v1/queues/b/tasks', { name: 'n', payload: 1 })).status).toBe(201);
    const full = await ask(key, 'POST /v1/queues/b/tasks', { name: 'n', payload: 1 });
    expect([refusal(full), full.json.limit, full.json.used]).toEqual([
      [429, 'quota-exceeded', 'tasks'],
      4,
      4,
    ]);
    expect((await ask(key, 'POST /v1/queues/a/drain', {})).json.tasks).toBe(2);
    await until('the room', async () => (await many('a', 2)).status === 200);
  });

  test('of streams and waits counts those that are open', async () => {
    await putTenant('open', { name: '', quotas: { streams: 2, waits: 1 } });
    const key = await createKey('open', { tenant: 'open' });
    const events = await EventReader.open(api.url, '/v1/members/bill/events', bearer(key));
    const socket = await SocketClient.open(api.url, bearer(key));
    await expect(SocketClient.open(api.url, bearer(key))).rejects.toThrow('429 quota-exceeded');
    expect(refusal(await ask(key, 'GET /v1/members/bill/events'))).toEqual([
      429,
      'quota-exceeded',
      'streams',
    ]);
    for (const each of [events, socket.socket]) each.close();
    await until('room for a stream', async () => {
      const next = await EventReader.open(api.url, '/v1/members/bill/events', bearer(key));
      next.close();
      return next.response.statusCode === 200;
    });

    const waiting = ask(key, 'POST /v1/queues/q/claims', { waitMs: 30_000 });
    await until('the first wait', async () => {
      const [status] = refusal(await ask(key, 'POST /v1/queues/q/claims', { waitMs: 1 }));
      return status === 429;
    });
    expect(refusal(await ask(key, 'GET /v1/members/bill/pending?waitMs=1000'))).toEqual([
      429,
      'quota-exceeded',
      'waits',
    ]);
    // A request that doesn't wait is none.
    expect((await ask(key, 'GET /v1/members/bill/pending')).status).toBe(200);
    await ask(key, 'POST /v1/queues/q/tasks', { name: 'n', payload: 1 });
    expect((await waiting).json.items).toHaveLength(1);
  });

  test.each([{ tasks: -1 }, { tasks: 1.5 }, { unheard: 1 }, { tasks: null }])(
    '%j is none',
    async (quotas) => {
      const answer = await ask(ADMIN, 'PUT /v1/admin/tenants/wrong', { quotas });
      expect([answer.status, slugOf(answer)]).toEqual([400, 'invalid-body']);
    },
  );
});

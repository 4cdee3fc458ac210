/** The rights of callers: a matrix of every route, the life of a key, and secrets that are never shown. */
import { connect as connectTo } from 'node:net';
import { text } from 'node:stream/consumers';

import { describe, expect, test } from '@jest/globals';
import { connect, until } from '@mortise/test-kit';
import { fastify } from 'fastify';

import { RouteMethods } from '../../src/http/route-methods.js';
import { Authentication } from '../../src/callers/authentication.js';
import { accessOf } from '../../src/callers/route-scopes.js';
import type { Scope } from '../../src/callers/scopes.js';
import { SCOPES } from '../../src/callers/scopes.js';
import { OpenWaits } from '../../src/limits/open-waits.js';
import type { Answer, Api, Sent } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import { ACCESS } from '../fixture/access.js';
import { boot } from '../fixture/program.js';
import { dump } from '../fixture/redis.js';
import { EventReader, SocketClient } from '../fixture/streams.js';

const redis = connect();
const ADMIN = 'mk_admin_canary-0123456789-admin';
const api = await startApi({ AUTH: 'keys', ADMIN_KEY: ADMIN, CACHE_TABLES: 'stock', CONSOLE: 'on' });
const other = await startApi({ AUTH: 'keys', MORTISE_PREFIX: api.prefix });

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const slugOf = ({ json }: Answer): string => String(json?.type).split('/').at(-1)!;
const ask = (
  key: string | undefined,
  target: string,
  body?: Sent['body'],
  by: Sender = api,
): Promise<Answer> => {
  const [method, path] = target.split(' ') as [string, string];
  return by.send({ method, path, headers: key === undefined ? {} : bearer(key), ...(body && { body }) });
};

type Sender = Pick<Api, 'send'>;

async function createKey(id: string, scopes: readonly Scope[]): Promise<string> {
  const { status, json } = await ask(ADMIN, `PUT /v1/admin/keys/${id}`, { name: id, scopes });
  expect(status).toBe(201);
  return json.key as string;
}

/** Every route of the server, those of HEAD included. */
const routes = api.app.get(RouteMethods).all;
const patternOf = (route: string): string => route.replace(/^HEAD /, 'GET ');
const secured = routes.filter((route) => ACCESS[patternOf(route)] !== 'public');
/** The route with something in place of each parameter; only the router looks at it. */
const targetOf = (route: string): string => route.replaceAll(/:\w+/g, 'x').replaceAll('*', 'x');

describe('the matrix', () => {
  test('has a row for each route, and no other', () => {
    expect([...new Set(routes.map(patternOf))].toSorted()).toEqual(Object.keys(ACCESS).toSorted());
    expect(secured.length).toBeGreaterThan(100);
  });

  test('a route that has no scope ends the boot', () => {
    expect(() => accessOf('GET', '/v1/unheard-of')).toThrow('GET /v1/unheard-of has no scope');
    expect(() => accessOf('GET', '/v2/locks')).toThrow('has no scope');
    expect(() => accessOf('GET', '/v1/constructor')).toThrow('has no scope');
    const server = fastify();
    api.app.get(Authentication).guard(server);
    expect(() => server.get('/v1/unheard-of', () => null)).toThrow('has no scope');
  });

  test('without a credential, each gets 401', async () => {
    const others = await odd(secured, undefined, () => [401, 'unauthenticated', 'Bearer']);
    expect(others).toEqual([]);
  });

  test.each([
    ['an unknown id', 'mk_nobody_0123456789012345678901'],
    ['the secret of another key', ADMIN.replace('admin', 'other')],
    ['a wrong secret', `${ADMIN}x`],
    ['a text of another form', 'hunter2'],
    ['an empty text', ''],
  ])('with %s, each gets 401', async (_, key) => {
    expect(await odd(secured, key, () => [401, 'unauthenticated', 'Bearer'])).toEqual([]);
  });

  test('with every scope but its own, each gets 403', async () => {
    const wrong = new Map<string, string>();
    for (const scope of SCOPES) {
      const others = SCOPES.filter((each) => each !== scope);
      wrong.set(scope, await createKey(`not-${scope.replace(':', '-')}`, others));
    }
    for (const [scope, key] of wrong) {
      const its = secured.filter((route) => ACCESS[patternOf(route)] === scope);
      expect(its.length).toBeGreaterThan(0);
      const challenge = `Bearer error="insufficient_scope", scope="${scope}"`;
      expect(await odd(its, key, () => [403, 'scope-missing', challenge])).toEqual([]);
    }
  });

  test('with its scope alone, none is refused for it', async () => {
    for (const scope of SCOPES) {
      const key = await createKey(`only-${scope.replace(':', '-')}`, [scope]);
      // A stream never ends, and its own test opens it.
      const its = secured.filter(
        (route) => ACCESS[patternOf(route)] === scope && !/events$|DELETE .*keys/.test(route),
      );
      for (const route of its) {
        const { status } = await ask(key, targetOf(route));
        expect([route, status === 401 || status === 403]).toEqual([route, false]);
      }
    }
  });

  test('public routes need no credential, and an unknown address is a 404', async () => {
    for (const path of ['/', '/v1', '/docs', '/openapi.json', '/health/live', '/health/ready']) {
      const { status } = await ask(undefined, `GET ${path}`);
      expect([path, status < 400]).toEqual([path, true]);
    }
    expect(slugOf(await ask(undefined, 'GET /v1/nothing'))).toBe('unknown-route');
    expect(slugOf(await ask(undefined, 'PATCH /v1/locks'))).toBe('method-not-allowed');
  });

  /** The routes whose answer is not this one. */
  async function odd(
    these: readonly string[],
    key: string | undefined,
    expected: () => unknown[],
  ): Promise<unknown[]> {
    const before = await state();
    const found: unknown[] = [];
    for (const route of these) {
      const answer = await ask(key, targetOf(route));
      const slug = route.startsWith('HEAD ') ? expected()[1] : slugOf(answer);
      const given = [answer.status, slug, answer.headers['www-authenticate']];
      if (JSON.stringify(given) !== JSON.stringify(expected())) found.push([route, given]);
    }
    if ((await state()) !== before) found.push('a change');
    return found;
  }

  /** Without the notes of when a key was used. */
  async function state(): Promise<string> {
    const entries = Object.entries(await dump(redis, api.prefix));
    return JSON.stringify(entries.filter(([key]) => !key.includes(':callers:{keys}:record:')));
  }
});

describe('a credential', () => {
  test('is checked before the body arrives', async () => {
    const { hostname, port } = new URL(api.url);
    const socket = connectTo(Number(port), hostname);
    socket.write(
      'POST /v1/queues/q/tasks HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{',
    );
    const [head] = (await text(socket)).split('\r\n');
    expect(head).toBe('HTTP/1.1 401 Unauthorized');
  });

  test.each(['Bearer', 'Basic', 'bearer a b', ''])('in the header "%s" is none', async (header) => {
    const answer = await api.send({ path: '/v1/cache', headers: { authorization: header } });
    expect([answer.status, slugOf(answer)]).toEqual([401, 'unauthenticated']);
  });

  test('may have any case of its scheme', async () => {
    const { status } = await api.send({ path: '/v1/cache', headers: { authorization: `bEARER ${ADMIN}` } });
    expect(status).toBe(200);
  });

  test('in a query is none', async () => {
    const { status } = await api.send({ path: `/v1/cache?access_token=${ADMIN}&authorization=${ADMIN}` });
    expect(status).toBe(401);
  });

  test('is asked of a WebSocket and of a stream of events', async () => {
    const [reader, writer] = [
      await createKey('reader', ['messaging:read']),
      await createKey('writer', ['messaging:write']),
    ];
    await expect(SocketClient.open(api.url)).rejects.toThrow('401 unauthenticated');
    await expect(SocketClient.open(api.url, bearer('mk_x_0123456789012345678901'))).rejects.toThrow(
      '401 unauthenticated',
    );
    const mute = await SocketClient.open(api.url, bearer(reader));
    const { error } = await mute.ask({ subscribe: 'bill' });
    expect([error.status, error.scope]).toEqual([403, 'messaging:write']);
    mute.socket.close();
    const socket = await SocketClient.open(api.url, bearer(writer));
    expect(await socket.ask({ subscribe: 'bill' })).toEqual({ subscribed: 'bill' });
    socket.socket.close();

    const events = '/v1/members/bill/events';
    const refused = await EventReader.open(api.url, events, bearer(writer));
    expect(refused.response.statusCode).toBe(403);
    const stream = await EventReader.open(api.url, events, bearer(reader));
    expect(stream.response.statusCode).toBe(200);
    for (const each of [refused, stream]) each.close();
  });

  test('that only reads messages acks no file by reading it', async () => {
    const reader = await createKey('downloader', ['messaging:read']);
    const content = 'GET /v1/files/logs:1/content?receiver=ann';
    const acking = await ask(reader, `${content}&autoAck=true`);
    expect([acking.status, acking.json.scope]).toEqual([403, 'messaging:write']);
    expect((await ask(reader, content)).status).toBe(404);
  });
});

describe('a key', () => {
  const list = 'GET /v1/queues';

  test('is created once, shown once, and stored as a hash', async () => {
    const body = { name: 'billing', scopes: ['queues:read'] };
    const created = await ask(ADMIN, 'PUT /v1/admin/keys/once', body);
    const { key } = created.json as { key: string };
    expect([created.status, created.headers['cache-control']]).toEqual([201, 'no-store']);
    expect(key).toMatch(/^mk_once_[\w-]{43}$/);
    const again = await ask(ADMIN, 'PUT /v1/admin/keys/once', { ...body, scopes: ['cache:read'] });
    expect([again.status, again.json.key, again.json.scopes]).toEqual([200, undefined, ['cache:read']]);
    expect((await ask(key, 'GET /v1/cache')).status).toBe(200);
    expect((await ask(key, list)).status).toBe(403);
    const record = await redis.hgetall(`${api.prefix}:callers:{keys}:record:once`);
    expect(JSON.stringify(record)).not.toContain(key.slice('mk_once_'.length));
    const shown = (await ask(ADMIN, 'GET /v1/admin/keys/once')).text;
    expect(shown).not.toContain(key.slice('mk_once_'.length));
    expect(shown).not.toMatch(/[\da-f]{64}/);
  });

  test('of ADMIN_KEY is not in Redis, and cannot be taken over, rotated or revoked', async () => {
    for (const [target, body] of [
      ['PUT /v1/admin/keys/admin', { scopes: ['ops:read'] }],
      ['POST /v1/admin/keys/admin/rotate', { overlapMs: 0 }],
      ['DELETE /v1/admin/keys/admin'],
    ] as [string, object?][]) {
      const { status, json } = await ask(ADMIN, target, body);
      expect([target, status, json?.parameter]).toEqual([target, 400, 'id']);
    }
    expect((await ask(ADMIN, list)).status).toBe(200);
  });

  test('has a new secret by rotation, and keeps its others for the overlap', async () => {
    const first = await createKey('rotated', ['queues:read']);
    const rotate = async (overlapMs: number): Promise<string> => {
      const { status, json } = await ask(ADMIN, 'POST /v1/admin/keys/rotated/rotate', { overlapMs });
      expect(status).toBe(200);
      return json.key as string;
    };
    // The other process has read the record a moment ago.
    expect((await ask(first, list, undefined, other)).status).toBe(200);
    const second = await rotate(3_600_000);
    expect(await statuses([first, second])).toEqual([200, 200]);
    await rotate(3_600_000);
    await rotate(3_600_000);
    const refused = await ask(ADMIN, 'POST /v1/admin/keys/rotated/rotate', { overlapMs: 1 });
    expect([refused.status, slugOf(refused)]).toEqual([409, 'too-many-secrets']);
    const last = await rotate(0);
    await until('the other secrets to end', async () =>
      (await statuses([first, second])).every((s) => s === 401),
    );
    expect(await statuses([last])).toEqual([200]);
    expect((await ask(ADMIN, 'GET /v1/admin/keys/rotated')).json.secrets).toBe(1);
  });

  test('ends with its overlap', async () => {
    const first = await createKey('brief', ['queues:read']);
    const { json } = await ask(ADMIN, 'POST /v1/admin/keys/brief/rotate', { overlapMs: 300 });
    await until(
      'the first secret to end',
      async () => (await ask(first, list, undefined, other)).status === 401,
    );
    expect((await ask(json.key, list, undefined, other)).status).toBe(200);
  });

  test('is refused by another process once it is revoked, though that has just seen it', async () => {
    const key = await createKey('revoked', ['queues:read']);
    expect((await ask(key, list, undefined, other)).status).toBe(200);
    expect((await ask(ADMIN, 'DELETE /v1/admin/keys/revoked')).status).toBe(204);
    // Its own process has forgotten it.
    expect((await ask(key, list)).status).toBe(401);
    await until(
      'the other one to refuse it',
      async () => (await ask(key, list, undefined, other)).status === 401,
    );
    expect((await ask(ADMIN, 'DELETE /v1/admin/keys/revoked')).status).toBe(204);
    expect(slugOf(await ask(ADMIN, 'GET /v1/admin/keys/revoked'))).toBe('unknown-key');
    expect(slugOf(await ask(ADMIN, 'POST /v1/admin/keys/revoked/rotate', { overlapMs: 0 }))).toBe(
      'unknown-key',
    );
  });

  test('gets no answer of a request that waits once it is revoked or has lost the scope', async () => {
    const scopes: Scope[] = ['queues:consume', 'messaging:read', 'locks:write'];
    const waits = async (id: string): Promise<Answer[]> => {
      const key = await createKey(id, scopes);
      await ask(ADMIN, 'POST /v1/locks/held/acquire', { leaseMs: 60_000 });
      const its = [
        ask(key, 'POST /v1/queues/waited/claims', { waitMs: 30_000 }),
        ask(key, 'GET /v1/mailboxes/waited/messages?waitMs=30000'),
        ask(key, 'POST /v1/locks/held/acquire', { waitMs: 30_000 }),
      ];
      const open = api.app.get(OpenWaits);
      await until('the waits', () => open.size === its.length);
      await (id === 'less'
        ? ask(ADMIN, `PUT /v1/admin/keys/${id}`, { scopes: ['ops:read'] })
        : ask(ADMIN, `DELETE /v1/admin/keys/${id}`));
      return Promise.all(its);
    };
    const startedAt = performance.now();
    for (const id of ['gone', 'less'])
      expect((await waits(id)).map((answer) => [answer.status, slugOf(answer)])).toEqual(
        Array.from({ length: 3 }, () => [401, 'unauthenticated']),
      );
    // Long before the waits would end.
    expect(performance.now() - startedAt).toBeLessThan(25_000);
    // Nobody has the task that comes next.
    await ask(ADMIN, 'POST /v1/queues/waited/tasks', { name: 'a', payload: 1 });
    expect((await ask(ADMIN, 'POST /v1/queues/waited/claims', { limit: 1 })).json.items).toHaveLength(1);
  });

  test('tells when it was last used', async () => {
    const key = await createKey('used', ['queues:read']);
    expect((await ask(ADMIN, 'GET /v1/admin/keys/used')).json.lastUsedAt).toBeNull();
    await ask(key, list);
    await until(
      'the note',
      async () => (await ask(ADMIN, 'GET /v1/admin/keys/used')).json.lastUsedAt !== null,
    );
  });

  test('is listed by its id, a page at a time', async () => {
    for (const id of ['page-1', 'page-2', 'page-3']) await createKey(id, ['ops:read']);
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const query = cursor === '' ? '' : `&cursor=${cursor}`;
      const { json } = await ask(ADMIN, `GET /v1/admin/keys?limit=2${query}`);
      expect(json.items.length).toBeLessThanOrEqual(2);
      ids.push(...json.items.map(({ id }: { id: string }) => id));
      cursor = json.nextCursor as string | null;
    }
    expect(ids).toEqual([...new Set(ids)].toSorted());
    expect(ids.filter((id) => id.startsWith('page-'))).toEqual(['page-1', 'page-2', 'page-3']);
    expect(slugOf(await ask(ADMIN, 'GET /v1/admin/keys?cursor=x'))).toBe('invalid-cursor');
  });

  test.each([
    [{ scopes: [] }],
    [{ scopes: ['queues:everything'] }],
    [{ scopes: 'queues:read' }],
    [{ scopes: ['queues:read'], name: 'x'.repeat(129) }],
  ])('is not created of %j', async (body) => {
    const { status } = await ask(ADMIN, 'PUT /v1/admin/keys/wrong', body);
    expect([status, (await ask(ADMIN, 'GET /v1/admin/keys/wrong')).status]).toEqual([400, 404]);
  });

  async function statuses(keys: readonly string[]): Promise<number[]> {
    const found: number[] = [];
    for (const key of keys) found.push((await ask(key, list, undefined, other)).status);
    return found;
  }
});

test('the document names the scope of each operation', async () => {
  const { json } = await ask(undefined, 'GET /openapi.json');
  for (const [path, item] of Object.entries<Record<string, { security: unknown }>>(json.paths)) {
    for (const [method, { security }] of Object.entries(item)) {
      const access = ACCESS[`${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`];
      const scopes = access === 'credential' ? [] : [access];
      expect([path, security]).toEqual([path, access === 'public' ? [] : [{ apiKey: scopes }]]);
    }
  }
});

test('while Redis is away, a key gets 503, and ADMIN_KEY needs no Redis', async () => {
  const away = await boot({ AUTH: 'keys', ADMIN_KEY: ADMIN, REDIS_URL: 'redis://127.0.0.1:1' });
  const answer = await ask('mk_nobody_0123456789012345678901', 'GET /v1/queues', undefined, away);
  expect([answer.status, slugOf(answer)]).toEqual([503, 'redis-unavailable']);
  expect((await ask(ADMIN, 'GET /v1/nothing', undefined, away)).status).toBe(404);
  expect((await ask(ADMIN, 'GET /v1/ws', undefined, away)).status).toBe(426);
});

test('no line of the log and no answer has a secret', async () => {
  const program = await boot({ AUTH: 'keys', ADMIN_KEY: ADMIN, LOG_LEVEL: 'trace' });
  const created = await ask(ADMIN, 'PUT /v1/admin/keys/canary', { scopes: ['queues:read'] }, program);
  const { key } = created.json as { key: string };
  const wrong = `mk_canary_canary-${'0'.repeat(22)}`;
  const answers = [
    await ask(key, 'GET /v1/queues', undefined, program),
    await ask(key, 'POST /v1/queues/q/tasks', '{', program),
    await ask(wrong, 'GET /v1/queues', undefined, program),
    await ask(key, 'GET /v1/cache', undefined, program),
    await ask(ADMIN, 'GET /v1/admin/keys', undefined, program),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 403, 401, 403, 200]);
  const requests = (): { msg: string; keyId?: string }[] =>
    program.lines.filter(({ msg }) => msg === 'request');
  await until('their lines', () => requests().length >= 6);
  expect(requests().map(({ keyId }) => keyId)).toEqual([
    'admin',
    'canary',
    'canary',
    undefined,
    'canary',
    'admin',
  ]);
  const shown = JSON.stringify([program.lines, answers.map(({ text: body, headers }) => [body, headers])]);
  for (const secret of [key, wrong, ADMIN]) expect(shown).not.toContain(secret.split('_').slice(2).join('_'));
});

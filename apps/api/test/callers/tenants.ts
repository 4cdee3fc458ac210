/** Tenants and subjects: what a credential of one reaches of another, on every route and over a WebSocket. */
import { describe, expect, test } from '@jest/globals';
import { connect } from '@mortise/test-kit';

import { actorOf } from '../../src/callers/actors.js';
import { isOfDeployment } from '../../src/callers/route-scopes.js';
import { SCOPES } from '../../src/callers/scopes.js';
import { RouteMethods } from '../../src/http/route-methods.js';
import { currentTenant } from '../../src/tenants/tenancy.js';
import { ACCESS } from '../fixture/access.js';
import type { Answer, Sent } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import { dump, keysOf } from '../fixture/redis.js';
import type { Sender } from '../fixture/run.js';
import { Run } from '../fixture/run.js';
import { EventReader, SocketClient } from '../fixture/streams.js';
import { WRITES } from '../fixture/writes.js';

const redis = connect();
const ADMIN = 'mk_admin_0123456789012345678901';
const api = await startApi({ AUTH: 'keys', ADMIN_KEY: ADMIN, CACHE_TABLES: 'stock' });

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const slugOf = ({ json }: Answer): string => String(json?.type).split('/').at(-1)!;

class Caller implements Sender {
  constructor(readonly key: string) {}

  send(sent: Sent): Promise<Answer> {
    return api.send({ ...sent, headers: { ...sent.headers, ...bearer(this.key) } });
  }

  ask(target: string, body?: Sent['body']): Promise<Answer> {
    const [method, path] = target.split(' ') as [string, string];
    return this.send({ method, path, ...(body && { body }) });
  }
}

const owner = new Caller(ADMIN);

async function callerOf(id: string, terms: object): Promise<Caller> {
  const { status, json } = await owner.ask(`PUT /v1/admin/keys/${id}`, { scopes: SCOPES, ...terms });
  expect(status).toBe(201);
  return new Caller(json.key as string);
}

for (const tenant of ['acme', 'empty']) await owner.ask(`PUT /v1/admin/tenants/${tenant}`, {});
const acme = await callerOf('acme', { tenant: 'acme' });
/** Of a tenant without data: what it sees is what a stranger should see. */
const stranger = await callerOf('empty', { tenant: 'empty' });

/**
 * The keys of the tenant `default` that `act` creates, and those of an entity that it changes or deletes, without those that end in a
 * moment.
 */
async function changesOfDefault(id: string, act: () => Promise<unknown>): Promise<string[]> {
  const before = await dump(redis, api.prefix);
  const lasting = new Set<string>();
  for (const key of Object.keys(before)) {
    if (!key.includes(id)) continue;
    const ttlMs = await redis.pttl(Buffer.from(key, 'latin1'));
    if (ttlMs === -1 || ttlMs > LASTING_MS) lasting.add(key);
  }
  await act();
  const after = await dump(redis, api.prefix);
  const isChanged = (key: string): boolean =>
    before[key] === undefined || (lasting.has(key) && before[key] !== after[key]);
  return Object.keys({ ...before, ...after }).filter((key) => !key.includes(':callers:') && isChanged(key));
}

/** Longer than a request and two dumps take. */
const LASTING_MS = 20_000;

const routes = api.app.get(RouteMethods).all;
const secured = Object.keys(ACCESS).filter((route) => ACCESS[route] !== 'public');
const patternOf = (route: string): string => route.split(' ')[1]!;
const targetOf = (route: string): string => route.replaceAll(/:\w+/g, 'x');

describe('a route of the deployment', () => {
  const its = secured.filter((route) => isOfDeployment(patternOf(route)));

  test('is not there for another tenant', async () => {
    expect(its.length).toBeGreaterThan(25);
    for (const route of its) {
      const answer = await acme.ask(targetOf(route));
      expect([route, answer.status, slugOf(answer)]).toEqual([route, 404, 'unknown-route']);
    }
  });
});

/** A route of reading with its path; `ID` stands for the id of an entity that the tenant `default` has. */
const READS: Readonly<Record<string, string>> = {
  'GET /v1/overview': '/overview',
  'GET /v1/names/:kind': '/names/chats?limit=200',
  'GET /v1/queues': '/queues',
  'GET /v1/queues/:queue': '/queues/ID',
  'GET /v1/queues/:queue/depths': '/queues/ID/depths',
  'GET /v1/queues/:queue/task-names': '/queues/ID/task-names',
  'GET /v1/queues/:queue/times': '/queues/ID/times',
  'GET /v1/queues/:queue/tasks': '/queues/ID/tasks?state=ready',
  'GET /v1/queues/:queue/tasks/:id': '/queues/ID/tasks/one',
  'GET /v1/queues/:queue/tasks/:id/events': '/queues/ID/tasks/one/events',
  'GET /v1/queues/:queue/tasks/:id/children': '/queues/ID/tasks/one/children',
  'GET /v1/queues/:queue/tasks/:id/steps': '/queues/ID/tasks/one/steps?lease=0-1',
  'GET /v1/queues/:queue/tasks/:id/result': '/queues/ID/tasks/one/result',
  'GET /v1/queues/:queue/schedules': '/queues/ID/schedules',
  'GET /v1/operations/:id': '/operations/shown',
  'GET /v1/caches/:cache/entries': '/caches/shown/entries?limit=200',
  'GET /v1/caches/:cache/entries/:key': '/caches/shown/entries/one',
  // The read above counts.
  'GET /v1/caches/:cache': '/caches/shown',
  'GET /v1/locks': '/locks?limit=200',
  'GET /v1/locks/:name': '/locks/ID',
  'GET /v1/semaphores': '/semaphores?limit=200',
  'GET /v1/semaphores/:name': '/semaphores/ID',
  'GET /v1/rate-limiters': '/rate-limiters?limit=200',
  'GET /v1/rate-limiters/:name': '/rate-limiters/ID',
  'GET /v1/read-write-locks/:name': '/read-write-locks/ID',
  'GET /v1/mailboxes/:recipient/messages': '/mailboxes/ID/messages',
  'GET /v1/mailboxes/:recipient': '/mailboxes/ID',
  'GET /v1/mailboxes/:recipient/devices': '/mailboxes/ID/devices',
  'GET /v1/mailboxes/:recipient/blocked-senders': '/mailboxes/ID/blocked-senders',
  'GET /v1/chats/:id/members': '/chats/ID/members',
  'GET /v1/chats/:id/messages': '/chats/ID/messages',
  'GET /v1/members/:member/pending': '/members/bob-ID/pending',
  'GET /v1/members/:member/chats': '/members/bob-ID/chats',
  'GET /v1/file-channels/:channel': '/file-channels/ID',
  'GET /v1/file-channels/:channel/files': '/file-channels/ID/files?receiver=r1',
  'GET /v1/file-channels/:channel/receivers': '/file-channels/ID/receivers',
  'GET /v1/files/:id': '/files/FILE',
  'GET /v1/files/:id/content': '/files/FILE/content?receiver=r1',
  'GET /v1/contacts/:user': '/contacts/ID',
  'GET /v1/address-books/:guild': '/address-books/ID?by=anna',
  'GET /v1/address-books/:guild/names/:name': '/address-books/ID/names/anna?by=anna',
  'GET /v1/address-books/:guild/completions': '/address-books/ID/completions?by=anna&prefix=a',
  'GET /v1/address-books/:guild/mentions': '/address-books/ID/mentions?by=anna&prefix=a',
};
/** Tested apart: they are streams, or show the caller itself. */
const APART = new Set(['GET /v1/events', 'GET /v1/ws', 'GET /v1/members/:member/events', 'GET /v1/session']);

describe('another tenant', () => {
  test('reads on every route what a tenant without data reads, with the ids of this one', async () => {
    const its = secured.filter((route) => route.startsWith('GET ') && !isOfDeployment(patternOf(route)));
    expect(Object.keys(READS).toSorted()).toEqual(its.filter((route) => !APART.has(route)).toSorted());
    const created: Answer[] = [];
    for (const [target, body, headers = {}] of [
      ['POST /queues/shown/tasks', { name: 'a', payload: 1, id: 'one' }],
      [
        'POST /queues/shown/bulk-operations',
        { action: 'remove', state: 'dead' },
        { 'idempotency-key': 'shown' },
      ],
      ['PUT /queues/shown/schedules/daily', { cron: '0 9 * * *', name: 'a', payload: 1 }],
      ['PUT /caches/shown/entries/one', { value: 1 }],
      ['POST /locks/shown/acquire', { leaseMs: 60_000 }],
      ['POST /semaphores/shown/acquire', { permits: 3, leaseMs: 60_000 }],
      ['POST /rate-limiters/shown/take', { limit: 3, periodMs: 3_600_000 }],
      ['POST /read-write-locks/shown/acquire', { mode: 'read', leaseMs: 60_000 }],
      ['POST /mailboxes/shown/messages', { from: 'jill', body: 1 }],
      ['PUT /mailboxes/shown/devices/phone', {}],
      ['PUT /mailboxes/shown/blocked-senders/joe', undefined],
      ['POST /chats', { sender: 'anna-shown', members: ['bob-shown'], chatId: 'shown', body: 'one' }],
      ['PUT /file-channels/shown/receivers/r1', undefined],
      [
        'POST /file-channels/shown/files?name=a',
        Buffer.from('bytes'),
        { 'content-type': 'application/octet-stream' },
      ],
      ['PUT /contacts/shown/jill', undefined],
      ['PUT /address-books/shown/names/anna?by=anna', { display: 'Anna' }],
    ] as const) {
      const [method, path] = target.split(' ') as [string, string];
      const sent = { method, path: `/v1${path}`, headers: { ...headers }, ...(body && { body }) };
      const answer = await owner.send(sent);
      expect([target, answer.status < 300, answer.text]).toEqual([target, true, answer.text]);
      created.push(answer);
    }
    const file = created.find(({ json }) => String(json?.id).startsWith('shown:'))!.json.id as string;
    for (const [route, pattern] of Object.entries(READS)) {
      const path = `/v1${pattern.replaceAll('ID', 'shown').replaceAll('FILE', file)}`;
      const seen = async (by: Caller): Promise<unknown[]> => {
        const { status, text, json } = await by.ask(`GET ${path}`);
        if (json?.nextCursor === undefined)
          return [route, status, text.replaceAll(/"instance":"[^"]*"|"at":\d+/g, '')];
        // Pages of keys may be empty before the last one.
        const items = [...json.items];
        for (let cursor = json.nextCursor as string | null; cursor !== null;) {
          const next = await by.ask(`GET ${path}${path.includes('?') ? '&' : '?'}cursor=${cursor}`);
          items.push(...next.json.items);
          cursor = next.json.nextCursor as string | null;
        }
        return [route, status, items];
      };
      const [its_, others, strangers] = [await seen(owner), await seen(acme), await seen(stranger)];
      expect(others).toEqual(strangers);
      expect(its_).not.toEqual(others);
    }
  });

  const writes = Object.keys(WRITES).filter(
    (route) => !isOfDeployment(`/v1${patternOf(route)}`) && !route.endsWith('/session'),
  );

  test.each(writes)('%s changes nothing of this one', async (route) => {
    const run = new Run(route, owner);
    await run.prepare();
    let answer: Answer | undefined;
    expect(
      await changesOfDefault(run.id, async () => {
        answer = await run.act(acme);
      }),
    ).toEqual([]);
    // As for a tenant without data: nothing tells that the entity is there.
    const expected = await run.act(stranger);
    const shown = ({ status, json }: Answer): unknown[] => [status, run.comparable(json)];
    const text = (one: Answer): string => JSON.stringify(shown(one)).replaceAll(/"instance":"[^"]*"/g, '');
    expect(text(answer!)).toBe(text(expected));
  });

  test('has its own prefix for all that it stores', async () => {
    const its = await keysOf(redis, `${api.prefix}.t.acme`);
    const packages = new Set(its.map((key) => key.split(':')[2]));
    expect(packages).toEqual(new Set(['api', 'autocomplete', 'cache', 'locks', 'messaging', 'queues']));
  });

  test('follows its own members, by SSE and by WebSocket, also with a token of this one', async () => {
    const chat = { sender: 'anna-live', members: ['bob-live'], chatId: 'live', body: 'of default' };
    await owner.ask('POST /v1/chats', chat);
    const path = '/v1/members/bob-live/events';
    const mine = await EventReader.open(api.url, path, bearer(owner.key));
    await mine.count(1);
    const token = mine.lastId!;
    const readers = [
      await EventReader.open(api.url, path, bearer(acme.key)),
      await EventReader.open(api.url, `${path}?after=${encodeURIComponent(token)}`, bearer(acme.key)),
    ];
    const sockets = [await SocketClient.open(api.url, bearer(acme.key))];
    await sockets[0]!.ask({ subscribe: 'bob-live' });
    await owner.ask('POST /v1/chats/live/messages', { sender: 'anna-live', body: 'again of default' });
    await acme.ask('POST /v1/chats', { ...chat, chatId: 'other', body: 'of acme' });
    const bodies = (events: readonly { chatId: string; message?: { body: unknown } }[]): unknown[] =>
      events.flatMap(({ message }) => (message ? [message.body] : []));
    for (const reader of readers) {
      await reader.count(1);
      const seen = (): unknown[] => bodies(reader.events.map(({ data }) => data));
      while (seen().length === 0) await reader.count(reader.events.length + 1);
      expect(seen()).toEqual(['of acme']);
    }
    while (bodies(sockets[0]!.events).length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(bodies(sockets[0]!.events)).toEqual(['of acme']);
    expect((await sockets[0]!.ask({ post: { chatId: 'live', body: 1 } })).error.type).toContain(
      'unknown-chat',
    );
    for (const each of [mine, ...readers]) each.close();
    sockets[0]!.socket.close();
  });
});

test('nothing runs for a tenant by default', () => {
  expect(() => currentTenant()).toThrow('no tenant');
});

describe('a tenant', () => {
  test('is created, renamed, listed and removed', async () => {
    const created = await owner.ask('PUT /v1/admin/tenants/brief', { name: 'Brief' });
    expect([created.status, created.json]).toEqual([
      201,
      {
        id: 'brief',
        name: 'Brief',
        limit: null,
        quotas: {},
        createdAt: expect.any(Number),
        keys: 0,
        usage: null,
      },
    ]);
    expect((await owner.ask('PUT /v1/admin/tenants/brief', { name: 'Short' })).status).toBe(200);
    await callerOf('brief', { tenant: 'brief' });
    const { json } = await owner.ask('GET /v1/admin/tenants?limit=1');
    expect(json.items.map(({ id }: { id: string }) => id)).toEqual(['acme']);
    const next = await owner.ask(`GET /v1/admin/tenants?limit=1&cursor=${json.nextCursor}`);
    expect(next.json.items).toEqual([{ ...created.json, name: 'Short', keys: 1 }]);
    const refused = await owner.ask('DELETE /v1/admin/tenants/brief');
    expect([refused.status, slugOf(refused)]).toEqual([409, 'tenant-in-use']);
    await owner.ask('DELETE /v1/admin/keys/brief');
    expect((await owner.ask('DELETE /v1/admin/tenants/brief')).status).toBe(204);
    expect(slugOf(await owner.ask('GET /v1/admin/tenants/brief'))).toBe('unknown-tenant');
  });

  test.each(['PUT', 'DELETE'])('that is the deployment stays: %s', async (method) => {
    const answer = await owner.ask(`${method} /v1/admin/tenants/default`, {});
    expect([answer.status, slugOf(answer)]).toEqual([400, 'invalid-id']);
  });

  test('has to be there for a key, which keeps its tenant', async () => {
    const unknown = await owner.ask('PUT /v1/admin/keys/lost', { tenant: 'lost', scopes: ['locks:read'] });
    expect([unknown.status, slugOf(unknown)]).toEqual([404, 'unknown-tenant']);
    const moved = await owner.ask('PUT /v1/admin/keys/acme', { scopes: ['locks:read'] });
    expect([moved.status, slugOf(moved)]).toEqual([409, 'other-tenant']);
    expect((await owner.ask('GET /v1/admin/keys/acme')).json).toMatchObject({
      tenant: 'acme',
      scopes: [...SCOPES],
    });
  });
});

describe('a credential with a subject', () => {
  const its = [...new Set(routes.filter((route) => !route.startsWith('HEAD ')))].filter(
    (route) => ACCESS[route] !== undefined && ACCESS[route] !== 'public',
  );
  const rows = its.map((route) => [route, actorOf(route.split(' ')[0]!, patternOf(route))] as const);
  let bill: Caller;

  test('is created by `subject`', async () => {
    bill = await callerOf('bill', { subject: 'bill' });
    expect((await owner.ask('GET /v1/admin/keys/bill')).json.subject).toBe('bill');
    expect((await bill.ask('GET /v1/session')).json).toMatchObject({ keyId: 'bill', subject: 'bill' });
  });

  test('is free on few routes of people', () => {
    const free = rows.filter(
      ([route, actor]) => actor === 'anybody' && /autoc|mess|market/.test(ACCESS[route]!),
    );
    expect(
      free
        .map(([route]) => route)
        .filter((route) => !/file/.test(route))
        .toSorted(),
    ).toEqual([
      'GET /v1/mailboxes/:recipient',
      'GET /v1/market/listings',
      'GET /v1/market/listings/:id',
      'GET /v1/market/players/:id/items',
    ]);
  });

  test.each(rows.filter(([, actor]) => actor !== 'anybody' && actor !== 'others').map(([route]) => route))(
    '%s is for the subject alone',
    async (route) => {
      const [place, name] = actorOf(route.split(' ')[0]!, patternOf(route)) as [string, string];
      const given = (value: string | undefined): Promise<Answer> => {
        const target = route.replace(`:${name}`, value ?? 'x').replaceAll(/:\w+/g, '1');
        const query = place === 'query' && value !== undefined ? `?${name}=${value}` : '';
        const body = place === 'body' && value !== undefined ? { [name]: value } : undefined;
        return bill.ask(target + query, body);
      };
      for (const value of ['bull', undefined]) {
        const refused = await given(value);
        expect([value, refused.status, slugOf(refused)]).toEqual([value, 403, 'subject-mismatch']);
      }
      if (route.endsWith('/events')) return;
      expect(slugOf(await given('bill'))).not.toBe('subject-mismatch');
    },
  );

  test.each(rows.filter(([, actor]) => actor === 'others').map(([route]) => route))(
    '%s is not for it',
    async (route) => {
      const refused = await bill.ask(targetOf(route));
      expect([refused.status, slugOf(refused)]).toEqual([403, 'subject-mismatch']);
    },
  );

  test('subscribes to itself over a WebSocket', async () => {
    const socket = await SocketClient.open(api.url, bearer(bill.key));
    expect((await socket.ask({ subscribe: 'ann' })).error.type).toContain('subject-mismatch');
    expect(await socket.ask({ subscribe: 'bill' })).toEqual({ subscribed: 'bill' });
    socket.socket.close();
  });
});

/** The page of the console, what sessions may do, and the audit of what they did. */
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, test } from '@jest/globals';

import type { Answer, Api } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import { EventReader, SocketClient } from '../fixture/streams.js';

const ADMIN = 'mk_admin_0123456789012345678901';
const api = await startApi({ AUTH: 'keys', ADMIN_KEY: ADMIN, CONSOLE: 'on' });
const readOnly = await startApi({
  AUTH: 'keys',
  ADMIN_KEY: ADMIN,
  CONSOLE: 'read-only',
  MORTISE_PREFIX: api.prefix,
});
const off = await startApi();

type Headers = Record<string, string>;
const bearer: Headers = { authorization: `Bearer ${ADMIN}` };
const slugOf = ({ json }: Answer): string => String(json?.type).split('/').at(-1)!;
const ask = (target: string, body?: object, headers = bearer, by: Api = api): Promise<Answer> => {
  const [method, path] = target.split(' ') as [string, string];
  return by.send({ method, path, headers, ...(body && { body }) });
};
/** The headers of a page of this server, under a new session of the key. */
async function openSession(by: Api = api): Promise<Headers> {
  const { headers } = await ask('POST /v1/session', undefined, bearer, by);
  const [cookie = ''] = headers['set-cookie'] ?? [];
  return { cookie: cookie.split(';')[0]!, 'sec-fetch-site': 'same-origin' };
}

describe('the page', () => {
  const built = fileURLToPath(new URL('../../console/dist/', import.meta.url));
  const page = (path: string, by = api, method = 'GET'): Promise<Answer> => by.send({ method, path });
  const CSP =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'";

  test('is built: npm run build', () => {
    expect(existsSync(`${built}index.html`)).toBe(true);
  });

  test('is at /console/, for all its places, without a credential', async () => {
    const moved = await page('/console');
    expect([moved.status, moved.headers.location]).toEqual([308, '/console/']);
    const index = await page('/console/');
    expect(index.text).toContain('<!doctype html>');
    for (const place of [
      '',
      'queues/mail',
      'queues/a%2Fb/tasks/%E2%82%AC',
      'index.html',
      'assets',
      '..%2F',
    ]) {
      const { status, headers, text } = await page(`/console/${place}`);
      expect([place, status, headers['content-type'], headers['cache-control']]).toEqual([
        place,
        200,
        'text/html; charset=utf-8',
        'no-cache',
      ]);
      expect([headers['content-security-policy'], text === index.text]).toEqual([CSP, true]);
    }
  });

  test('runs no script and no style but its own files', async () => {
    const { text } = await page('/console/');
    expect(text).not.toMatch(/<script(?![^>]* src="\/console\/)|<style|style="|\son\w+=|https?:/);
  });

  test('has assets that never change, and says so', async () => {
    const names = readdirSync(`${built}assets`).filter((name) => !/\.(?:gz|br)$/.test(name));
    expect(names.length).toBeGreaterThan(5);
    for (const name of names) {
      const { status, headers } = await page(`/console/assets/${name}`);
      expect([name, status, headers['cache-control']]).toEqual([
        name,
        200,
        'public, max-age=31536000, immutable',
      ]);
    }
    const icon = await page('/console/icon.svg');
    expect([icon.status, icon.headers['cache-control']]).toEqual([200, 'no-cache']);
  });

  test('is compressed where the client takes that', async () => {
    const { headers } = await api.send({ path: '/console/', headers: { 'accept-encoding': 'gzip' } });
    expect([headers['content-encoding'], headers.vary]).toEqual(['gzip', expect.stringMatching(/encoding/i)]);
    expect((await page('/console/')).headers['content-encoding']).toBeUndefined();
  });

  test.each(['nothing.js', '..', '.', '...', '..%2Findex.html', '%2e%2e%2f%2e%2e%2fpackage.json'])(
    'has no asset %s, and nothing outside of its directory',
    async (name) => {
      const { status, text, headers } = await page(`/console/assets/${name}`);
      // A place of the page, or nothing.
      const isPlace = name.includes('%');
      expect([status, headers['content-type'] === 'text/html; charset=utf-8']).toEqual([
        isPlace ? 200 : 404,
        isPlace,
      ]);
      expect(text).not.toContain('"dependencies"');
    },
  );

  test('answers HEAD as GET, and nothing else', async () => {
    const head = await page('/console/', api, 'HEAD');
    expect([head.status, head.text, Number(head.headers['content-length']) > 0]).toEqual([200, '', true]);
    expect((await page('/console', api, 'HEAD')).status).toBe(308);
    expect((await page('/console/', api, 'POST')).status).toBe(405);
  });

  test('is not there when it is off, as by default', async () => {
    for (const path of ['/console', '/console/', '/console/icon.svg'])
      expect(await page(path, off)).toMatchObject({ status: 404 });
    expect((await ask('GET /v1/session', undefined, bearer)).json.console).toBe('on');
    expect((await ask('GET /v1/session', undefined, bearer, readOnly)).json.console).toBe('read-only');
  });
});

describe('a console that is read-only', () => {
  test('lets no session change anything', async () => {
    const session = await openSession(readOnly);
    for (const target of [
      'POST /v1/queues/mail/tasks',
      'PUT /v1/queues/mail',
      'DELETE /v1/queues/mail',
      'PATCH /v1/chats/a/messages/1',
      'POST /v1/locks/a/acquire',
    ]) {
      const answer = await ask(target, { name: 'a', payload: 1 }, session, readOnly);
      expect([target, answer.status, slugOf(answer)]).toEqual([target, 403, 'console-read-only']);
    }
    expect((await ask('GET /v1/queues', undefined, session, readOnly)).status).toBe(200);
    const events = await EventReader.open(readOnly.url, '/v1/events?topics=overview', session);
    await events.count(2);
    events.close();
  });

  test('lets no session open a WebSocket, which could post', async () => {
    const { cookie } = await openSession(readOnly);
    const { origin } = new URL(readOnly.url);
    const headers = { cookie: cookie!, origin };
    await expect(SocketClient.open(readOnly.url, headers)).rejects.toThrow('403 console-read-only');
    const socket = await SocketClient.open(api.url, { ...headers, origin: new URL(api.url).origin });
    socket.socket.close();
  });

  test('lets a session begin and end', async () => {
    const session = await openSession(readOnly);
    expect((await ask('POST /v1/session', undefined, session, readOnly)).status).toBe(200);
    expect((await ask('DELETE /v1/session', undefined, session, readOnly)).status).toBe(204);
  });

  test('lets an API key change things', async () => {
    const body = { name: 'a', payload: 1 };
    expect((await ask('POST /v1/queues/keyed/tasks', body, bearer, readOnly)).status).toBe(201);
    const socket = await SocketClient.open(readOnly.url, bearer);
    expect(await socket.ask({ subscribe: 'bill' })).toEqual({ subscribed: 'bill' });
    socket.socket.close();
  });
});

test('the audit log has each change by a session, and those that were refused', async () => {
  const [session, shut] = [await openSession(), await openSession(readOnly)];
  await ask('POST /v1/queues/audited/tasks', { name: 'a', payload: 1, id: 'one' }, session);
  await ask('POST /v1/queues/audited/tasks/one/reschedule', { delayMs: 60_000 }, session);
  await ask('PUT /v1/contacts/anna/bill', undefined, session);
  await ask('POST /v1/queues/audited/tasks/one/cancel', {}, shut, readOnly);
  // Neither reading nor a change by a key without `:admin`.
  await ask('GET /v1/queues/audited', undefined, session);
  await ask('POST /v1/queues/audited/tasks', { name: 'a', payload: 1 });
  const { json } = await ask('GET /v1/admin/audit?limit=4');
  expect(
    json.items.map(({ method, path, status, keyId }: Record<string, unknown>) => [
      method,
      path,
      status,
      keyId,
    ]),
  ).toEqual([
    ['POST', '/v1/queues/audited/tasks/one/cancel', 403, 'admin'],
    ['PUT', '/v1/contacts/anna/bill', 204, 'admin'],
    ['POST', '/v1/queues/audited/tasks/one/reschedule', 204, 'admin'],
    ['POST', '/v1/queues/audited/tasks', 201, 'admin'],
  ]);
});

describe('events of a queue, under a console that is read-only', () => {
  const keepEvents = async (queue: string): Promise<number> =>
    (await ask(`GET /v1/queues/${queue}`)).json.keepEvents as number;

  test('are not switched on by a session, which learns that they are off', async () => {
    await ask('POST /v1/queues/silent/tasks', { id: 'one', name: 'a', payload: 1 });
    const session = await openSession(readOnly);
    const times = await ask('GET /v1/queues/silent/times', undefined, session, readOnly);
    expect(times.json).toEqual({ hasEvents: false, count: 0, wait: null, run: null });
    const events = await ask('GET /v1/queues/silent/tasks/one/events', undefined, session, readOnly);
    expect([events.status, events.json]).toEqual([200, { hasEvents: false, items: [] }]);
    const stream = await EventReader.open(readOnly.url, '/v1/events?topics=queue:silent,cache:shop', session);
    await stream.count(2);
    expect(stream.events[1]).toMatchObject({ event: 'off', data: { topic: 'queue:silent' } });
    // The other topics go on.
    await ask('PUT /v1/caches/shop/entries/lamp', { value: 1 });
    await stream.count(3);
    expect(stream.events[2]).toMatchObject({ event: 'stored', data: { topic: 'cache:shop', key: 'lamp' } });
    expect([await keepEvents('silent'), stream.isEnded]).toEqual([0, false]);
    stream.close();
  });

  test('come by the open stream once somebody has switched them on', async () => {
    await ask('POST /v1/queues/woken/tasks', { id: 'one', name: 'a', payload: 1 });
    const session = await openSession(readOnly);
    const stream = await EventReader.open(readOnly.url, '/v1/events?topics=queue:woken', session);
    await stream.count(2);
    await ask('PUT /v1/queues/woken', { keepEvents: 100 });
    await stream.count(3);
    await ask('POST /v1/queues/woken/tasks', { id: 'two', name: 'a', payload: 1 });
    await stream.count(4);
    expect(stream.events.slice(1).map(({ event, data }) => [event, data.id])).toEqual([
      ['off', undefined],
      ['reset', undefined],
      ['enqueued', 'two'],
    ]);
    expect(await keepEvents('woken')).toBe(100);
    stream.close();
  });

  test('are shown where somebody has switched them on', async () => {
    await ask('POST /v1/queues/loud/tasks', { id: 'one', name: 'a', payload: 1 });
    expect((await ask('GET /v1/queues/loud/times', undefined, bearer, readOnly)).json.hasEvents).toBe(true);
    expect(await keepEvents('loud')).toBe(10_000);
    await ask('POST /v1/queues/loud/tasks', { id: 'two', name: 'a', payload: 1 });
    const session = await openSession(readOnly);
    const { json } = await ask('GET /v1/queues/loud/tasks/two/events', undefined, session, readOnly);
    expect([json.hasEvents, json.items.length]).toEqual([true, 1]);
  });

  test('are switched on by a session of a console that is on', async () => {
    await ask('POST /v1/queues/watched/tasks', { name: 'a', payload: 1 });
    const session = await openSession();
    expect((await ask('GET /v1/queues/watched/times', undefined, session)).json.hasEvents).toBe(true);
    expect(await keepEvents('watched')).toBe(10_000);
  });
});

/** Members whose names are in REDACT are hidden from sessions in every value of callers, and from no API key. */
import { afterAll, describe, expect, test } from '@jest/globals';
import { Refresher, RowCache } from '@mortise/cache/rows';
import { connect, until } from '@mortise/test-kit';

import type { Answer } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import { EventReader, SocketClient } from '../fixture/streams.js';

const ADMIN = 'mk_admin_0123456789012345678901';
const CANARY = 'canary';
const SECRET = { apiKey: CANARY, user: 'frank' };

const api = await startApi({ AUTH: 'keys', ADMIN_KEY: ADMIN, CONSOLE: 'on', CACHE_TABLES: 'users' });
const rows = new RowCache(connect(), 'users', {
  prefix: api.prefix,
  load: async (ids) => new Map(ids.map((id) => [id, SECRET])),
});
const refresher = new Refresher(connect(), [rows]);
await refresher.start();
afterAll(() => refresher.stop());

type Headers = Record<string, string>;
const bearer: Headers = { authorization: `Bearer ${ADMIN}` };
const ask = (target: string, body?: object, headers = bearer): Promise<Answer> => {
  const [method, path] = target.split(' ') as [string, string];
  return api.send({ method, path: `/v1/${path}`, headers, ...(body && { body }) });
};
const cookie = (await ask('POST session')).headers['set-cookie']![0]!.split(';')[0]!;
const session: Headers = { cookie, 'sec-fetch-site': 'same-origin' };
const socketHeaders: Headers = { cookie, origin: new URL(api.url).origin };

await ask('POST queues/mail/tasks', {
  id: 'one',
  name: 't',
  payload: SECRET,
  headers: { 'Api-Key': CANARY },
});
// Events of the queue are kept from now on.
await ask('GET queues/mail/tasks/one/events');
const { json } = await ask('POST queues/mail/claims', { leaseMs: 600_000 });
const { lease } = json.items[0];
await ask('POST queues/mail/tasks/one/log', { lease, text: `${JSON.stringify(SECRET)} ` });
await ask('POST queues/mail/tasks/one/log', { lease, text: '{ "plain" :  1 }' });
await ask('POST queues/mail/tasks/one/log', { lease, text: '{no JSON' });
await ask('POST queues/mail/tasks/one/progress', { lease, progress: SECRET });
await ask('POST chats', { chatId: 'lunch', sender: 'ann', members: ['bob'], body: [SECRET] });
await ask('POST mailboxes/bob/messages', { from: 'ann', body: SECRET });
await ask('PUT caches/users/entries/frank', { value: { deep: SECRET }, ttlMs: 3_600_000 });
await ask('PUT cache/users/rows/1', { refreshMs: 3_600_000 });
await until('the row', async () => (await ask('GET cache/users/rows/1')).status === 200);

describe.each([
  'GET queues/mail/tasks/one',
  'GET queues/mail/tasks?state=active',
  'GET queues/mail/tasks?state=active&field=user&equals=frank',
  'GET queues/mail/tasks/one/events',
  'GET chats/lunch/messages',
  'GET members/bob/pending',
  'GET mailboxes/bob/messages',
  'GET caches/users/entries/frank',
  'GET cache/users/rows/1',
])('%s', (target) => {
  test('has the value for an API key', async () => {
    const { status, text } = await ask(target);
    expect([status, text.includes(CANARY), text.includes('[redacted]')]).toEqual([200, true, false]);
  });

  test('hides it from a session', async () => {
    const { status, text } = await ask(target, undefined, session);
    expect([status, text.includes(CANARY), text.includes('[redacted]')]).toEqual([200, false, true]);
  });
});

test('a line of a log is the same, unless it is JSON with a hidden member', async () => {
  const { logs } = (await ask('GET queues/mail/tasks/one', undefined, session)).json;
  expect(logs.map(({ text }: { text: string }) => text)).toEqual([
    '{"apiKey":"[redacted]","user":"frank"}',
    '{ "plain" :  1 }',
    '{no JSON',
  ]);
});

test('a row that a session reads is stored by no cache', async () => {
  const cacheControl = async (headers: Headers): Promise<unknown> =>
    (await ask('GET cache/users/rows/1', undefined, headers)).headers['cache-control'];
  expect([await cacheControl(bearer), await cacheControl(session)]).toEqual(['no-cache', 'no-store']);
});

test('a claim of a session has no hidden member, and one of a worker has all', async () => {
  for (const [id, headers, value] of [
    ['two', session, '[redacted]'],
    ['three', bearer, CANARY],
  ] as const) {
    await ask('POST queues/claimed/tasks', { id, name: 't', payload: SECRET });
    const { items } = (await ask('POST queues/claimed/claims', { limit: 1 }, headers)).json;
    expect([items[0].id, items[0].payload]).toEqual([id, { apiKey: value, user: 'frank' }]);
  }
});

test.each([
  ['a session', session, '[redacted]'],
  ['an API key', bearer, CANARY],
])('a stream of %s has the values that it may see', async (_, headers, value) => {
  const stream = await EventReader.open(api.url, '/v1/events?topics=queue:mail,member:bob', headers);
  const member = await EventReader.open(api.url, '/v1/members/bob/events', headers);
  // The event open, and the unread messages.
  await stream.count(2);
  await ask('POST queues/mail/tasks/one/progress', { lease, progress: SECRET });
  await ask('POST chats/lunch/messages', { sender: 'ann', body: SECRET });
  const texts = await until('both events', async () => {
    const found = [stream, member].map(({ events }) => JSON.stringify(events.map(({ data }) => data)));
    return found[0]!.includes('"progress":{') && found.every((text) => text.includes('"body":{')) && found;
  });
  for (const text of texts)
    expect([text.includes(CANARY), text.includes('[redacted]')]).toEqual([
      value === CANARY,
      value !== CANARY,
    ]);
  stream.close();
  member.close();
});

test.each([
  ['a session', socketHeaders, '[redacted]'],
  ['an API key', bearer, CANARY],
])('a WebSocket of %s has the values that it may see', async (_, headers, value) => {
  const socket = await SocketClient.open(api.url, headers);
  await socket.ask({ follow: 'queue:mail' });
  await ask('POST queues/mail/tasks/one/progress', { lease, progress: SECRET });
  await socket.count(1);
  expect(socket.events[0]).toMatchObject({ type: 'progress', progress: { apiKey: value, user: 'frank' } });
  socket.socket.close();
});

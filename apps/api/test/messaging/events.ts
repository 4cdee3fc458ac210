/** Server-sent events of a member: catch-up, push, and resumption after any event. */
import { expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';

import { LiveStreams } from '../../src/messaging/live/live-streams.js';
import type { Answer, Api } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import type { Sse } from '../fixture/streams.js';
import { EventReader } from '../fixture/streams.js';

const api = await startApi();
const start = (env: Record<string, string> = {}): Promise<Api> =>
  startApi({ MORTISE_PREFIX: api.prefix, ...env });

const ask = (method: string, path: string, body?: object): Promise<Answer> =>
  api.send({ method, path: `/v1/${path}`, ...(body && { body }) });
const create = (chatId: string, ...members: string[]): Promise<Answer> =>
  ask('POST', 'chats', { sender: 'frank', members, chatId });
const post = (chatId: string, body: unknown, sender = 'frank'): Promise<Answer> =>
  ask('POST', `chats/${chatId}/messages`, { sender, body });

interface FollowOptions {
  readonly after?: string;
  readonly query?: string;
  readonly at?: Api;
  readonly origin?: string;
}

function follow(
  member: string,
  { after, query = '', at = api, ...headers }: FollowOptions = {},
): Promise<EventReader> {
  return EventReader.open(at.url, `/v1/members/${member}/events${query}`, {
    ...headers,
    ...(after !== undefined && { 'last-event-id': after }),
  });
}

const problemOf = async (reader: EventReader): Promise<unknown[]> => {
  const { statusCode } = reader.response;
  reader.close();
  return [statusCode, reader.response.headers['content-type']?.split(';')[0]];
};

test('begins with what is unread, and goes on with what happens', async () => {
  await create('garage', 'bill');
  await post('garage', { text: 'one' });
  const reader = await follow('bill');
  const { statusCode, headers } = reader.response;
  expect([statusCode, headers]).toMatchObject([
    200,
    {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String),
    },
  ]);
  await reader.count(1);
  expect(reader.retryMs).toBe(1_000);
  expect(reader.events[0]).toEqual({
    id: expect.stringMatching(/^[\w-]+$/),
    event: 'message',
    data: {
      type: 'message',
      chatId: 'garage',
      epoch: expect.any(Number),
      message: { id: 1, kind: 'message', from: 'frank', body: { text: 'one' }, sentAt: expect.any(Number) },
    },
  });
  await ask('PATCH', 'chats/garage/messages/1', { sender: 'frank', body: 'ONE\n\nid: x' });
  await ask('DELETE', 'chats/garage/messages/1?sender=frank');
  await ask('POST', 'chats/garage/typing', { member: 'frank' });
  await ask('PUT', 'members/frank/presence', { status: 'away\n\n' });
  await ask('PUT', 'chats/garage/members/mia', {});
  await ask('DELETE', 'chats/garage/members/mia');
  await create('second', 'bill');
  await post('second', 'two');
  await reader.count(9);
  const seen = ({ event, data }: Sse): unknown[] => [event, data.chatId, data.member ?? data.message.id];
  expect(reader.events.map(seen)).toEqual([
    ['message', 'garage', 1],
    ['edit', 'garage', 2],
    ['delete', 'garage', 3],
    ['typing', 'garage', 'frank'],
    ['presence', 'garage', 'frank'],
    ['joined', 'garage', 'mia'],
    ['left', 'garage', 'mia'],
    ['joined', 'second', 'bill'],
    ['message', 'second', 1],
  ]);
  expect(reader.events[1]!.data.message.body).toBe('ONE\n\nid: x');
  expect(reader.events[4]!.data.status).toBe('away\n\n');
  await ask('DELETE', 'chats/second/members/bill');
  await reader.count(10);
  expect(reader.events[9]!.event).toBe('left');
});

test('resumes after any event, by header or query, at any process', async () => {
  await create('resume', 'ann');
  for (let n = 1; n <= 10; n += 1) await post('resume', n);
  const first = await (await follow('ann')).count(10);
  first.close();
  const other = await start();
  for (const at of [api, other]) {
    for (const [index, { id }] of first.events.entries()) {
      const rest = await follow('ann', { after: id!, at });
      if (index < 9) await rest.count(9 - index);
      rest.close();
      expect(rest.messages).toEqual(first.messages.slice(index + 1));
    }
  }
  const byQuery = await follow('ann', { query: `?after=${first.events[7]!.id}` });
  await byQuery.count(2);
  expect(byQuery.messages).toEqual(['resume/9', 'resume/10']);
  // The header that the browser adds when it reconnects is newer than the query of the page.
  const both = await follow('ann', { query: `?after=${first.events[0]!.id}`, after: first.events[8]!.id! });
  await both.count(1);
  expect(both.messages).toEqual(['resume/10']);
  // A member who has acked begins after that.
  await ask('PUT', 'chats/resume/members/ann/cursor', { upToId: 9 });
  expect((await (await follow('ann')).count(1)).messages).toEqual(['resume/10']);
});

test('says so when ids have begun anew', async () => {
  await create('again', 'eva');
  await post('again', 1);
  const before = await (await follow('eva')).count(1);
  before.close();
  for (const member of ['eva', 'frank']) await ask('DELETE', `chats/again/members/${member}`);
  await create('again', 'eva');
  await post('again', 'new');
  const reader = await (await follow('eva', { after: before.lastId! })).count(2);
  expect(reader.events.map(({ event }) => event)).toEqual(['reset', 'message']);
  expect(reader.events[0]!.data).toMatchObject({ chatId: 'again', epoch: expect.any(Number) });
});

test.each([
  ['short', 'x'],
  ['empty', 'a'],
  ['damaged', 'aAAAAAAAA'],
  ['of other characters', '%00é'],
  ['long', 'a'.repeat(9_000)],
])('refuses a token that is %s', async (_, after) => {
  const { status, json } = await api.send({
    path: `/v1/members/bill/events?after=${encodeURIComponent(after)}`,
  });
  expect([status, json.type]).toEqual([400, 'https://mortise.dev/problems/invalid-token']);
});

test('refuses the token of another member', async () => {
  await create('own', 'mine', 'theirs');
  await post('own', 1);
  const { lastId } = await (await follow('mine')).count(1);
  expect(await problemOf(await follow('theirs', { after: lastId! }))).toEqual([
    400,
    'application/problem+json',
  ]);
});

test('leaves out muted chats, unless asked for them', async () => {
  await create('noise', 'deaf');
  await create('voice', 'deaf');
  await ask('PUT', 'members/deaf/mutes/noise', {});
  const [quiet, all] = [await follow('deaf'), await follow('deaf', { query: '?includeMuted=true' })];
  await post('noise', 1);
  await post('voice', 1);
  await all.count(2);
  await quiet.count(1);
  expect(all.messages.toSorted()).toEqual(['noise/1', 'voice/1']);
  expect(quiet.messages).toEqual(['voice/1']);
});

test('counts what is unread, if asked for it', async () => {
  await create('count', 'uma');
  const [plain, counted] = [await follow('uma'), await follow('uma', { query: '?includeUnread=true' })];
  for (const body of [1, 2]) await post('count', body);
  await Promise.all([plain.count(2), counted.count(2)]);
  expect(counted.events.at(-1)!.data.unread).toBe(2);
  expect(plain.events.at(-1)!.data).not.toHaveProperty('unread');
});

test('shows that the connection lives', async () => {
  const lively = await start({ STREAM_HEARTBEAT_MS: '20' });
  const reader = await follow('bill', { at: lively });
  await until('signs of life', async () => reader.beats >= 3);
  expect(reader.isEnded).toBe(false);
  reader.close();
});

test('lets pages of the same host, or of the list, open a stream, and no other', async () => {
  const { host } = new URL(api.url);
  const own = await follow('bill', { origin: `http://${host}` });
  expect(own.response.headers).toMatchObject({
    'access-control-allow-origin': `http://${host}`,
    vary: 'origin',
  });
  const type = ['application/problem+json'];
  for (const origin of ['http://evil.example', 'null', `ftp://${host}`, `http://${host}.evil.example`, 'x']) {
    expect(await problemOf(await follow('bill', { origin }))).toEqual([403, ...type]);
  }
  const listed = await start({ ALLOWED_ORIGINS: 'https://garage.example, http://localhost:5173' });
  expect((await follow('bill', { origin: 'https://garage.example', at: listed })).response.statusCode).toBe(
    200,
  );
  for (const origin of ['https://garage.example:8443', 'http://garage.example', listed.url]) {
    expect(await problemOf(await follow('bill', { origin, at: listed }))).toEqual([403, ...type]);
  }
});

test('opens no more streams than there may be, and counts those that have gone', async () => {
  // Without signs of life, only the end of its side tells that a client has gone.
  const small = await start({ MAX_STREAMS: '2', STREAM_HEARTBEAT_MS: '60000' });
  const [first] = [await follow('bill', { at: small }), await follow('ann', { at: small })];
  const { status, json } = await small.send({ path: '/v1/members/bill/events' });
  expect([status, json]).toMatchObject([
    503,
    { type: 'https://mortise.dev/problems/too-many-streams', limit: 2 },
  ]);
  first.close();
  await until('room', async () => {
    const reader = await follow('bill', { at: small });
    return reader.response.statusCode === 200;
  });
});

test('HEAD opens none', async () => {
  const { status, headers } = await api.send({ method: 'HEAD', path: '/v1/members/bill/events' });
  expect([status, headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8']);
});

test('a client that takes nothing is dropped with a reason, and resumes', async () => {
  const strict = await start({ STREAM_TIMEOUT_MS: '200', STREAM_HEARTBEAT_MS: '50' });
  await create('slow', 'sam');
  const reader = await follow('sam', { at: strict });
  reader.response.pause();
  const large = 'x'.repeat(60_000);
  const total = 250;
  for (let sent = 0; sent < total; sent += 50) {
    await Promise.all(Array.from({ length: 50 }, () => post('slow', large)));
  }
  const streams = strict.app.get(LiveStreams);
  await until('the server to give it up', async () => streams.ending === 1);
  reader.response.resume();
  await reader.end();
  expect(reader.events.at(-1)).toEqual({ id: undefined, event: 'dropped', data: { reason: 'too-slow' } });
  await until('its place to be free', async () => streams.size === 0);
  const seen = reader.messages;
  expect(seen.length).toBeLessThan(total);
  const rest = await follow('sam', { at: strict, after: reader.lastId! });
  await rest.count(total - seen.length);
  expect([...seen, ...rest.messages]).toEqual(Array.from({ length: total }, (_, n) => `slow/${n + 1}`));
});

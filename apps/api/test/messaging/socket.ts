/** The WebSocket: one member, who is followed, posts and acks. */
import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';

import { describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';

import { LiveStreams } from '../../src/messaging/live/live-streams.js';
import type { Answer, Api } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import { SocketClient } from '../fixture/streams.js';

const PROBLEMS = 'https://mortise.dev/problems/';

const api = await startApi();
const start = (env: Record<string, string> = {}): Promise<Api> =>
  startApi({ MORTISE_PREFIX: api.prefix, ...env });

const ask = (method: string, path: string, body?: object): Promise<Answer> =>
  api.send({ method, path: `/v1/${path}`, ...(body && { body }) });
const create = (chatId: string, ...members: string[]): Promise<Answer> =>
  ask('POST', 'chats', { sender: 'frank', members, chatId });

test('posts, acks and types for one member, who gets what happens', async () => {
  await create('garage', 'bill');
  await ask('POST', 'chats/garage/messages', { sender: 'frank', body: 'one' });
  const bill = await SocketClient.open(api.url);
  expect(await bill.ask({ subscribe: 'bill' })).toEqual({ subscribed: 'bill' });
  await bill.count(1);
  expect(bill.events[0]).toEqual({
    type: 'message',
    chatId: 'garage',
    epoch: expect.any(Number),
    message: { id: 1, kind: 'message', from: 'frank', body: 'one', sentAt: expect.any(Number) },
    token: expect.stringMatching(/^[\w-]+$/),
  });
  const frank = await SocketClient.subscribe(api.url, 'frank');
  const post = { chatId: 'garage', body: { n: 2 }, id: 'm-2' };
  expect(await bill.ask({ post })).toEqual({ posted: { chatId: 'garage', id: 2, isDuplicate: false } });
  expect(await bill.ask({ post })).toEqual({ posted: { chatId: 'garage', id: 2, isDuplicate: true } });
  expect(await bill.ask({ ack: { chatId: 'garage', upToId: 2 } })).toEqual({
    acked: { chatId: 'garage', ackedId: 2 },
  });
  expect(await bill.ask({ ack: { chatId: 'garage', upToId: 1 } })).toEqual({
    acked: { chatId: 'garage', ackedId: 2 },
  });
  expect(await bill.ask({ typing: 'garage' })).toEqual({ typed: { chatId: 'garage' } });
  await frank.count(2);
  expect(frank.events).toMatchObject([
    { type: 'message', chatId: 'garage', message: { id: 2, from: 'bill', body: { n: 2 } } },
    { type: 'typing', chatId: 'garage', member: 'bill' },
  ]);
  expect(bill.messages).toEqual(['garage/1', 'garage/2']);
  for (const client of [bill, frank]) client.socket.close();
  await until('their places to be free', async () => api.app.get(LiveStreams).size === 0);
});

test('counts what is unread, if asked for it', async () => {
  await create('count', 'uma');
  const uma = await SocketClient.open(api.url);
  await uma.ask({ subscribe: 'uma', includeUnread: true });
  await ask('POST', 'chats/count/messages', { sender: 'frank', body: 'one' });
  await uma.count(1);
  expect(uma.events[0]).toMatchObject({ type: 'message', chatId: 'count', unread: 1 });
  uma.socket.close();
});

test('resumes after any event', async () => {
  await create('resume', 'ann');
  const frank = await SocketClient.subscribe(api.url, 'frank');
  for (let n = 1; n <= 10; n += 1) await frank.ask({ post: { chatId: 'resume', body: n } });
  const first = await (await SocketClient.subscribe(api.url, 'ann')).count(10);
  first.socket.terminate();
  for (const [index, { token }] of first.events.entries()) {
    const rest = await SocketClient.subscribe(api.url, 'ann', token);
    if (index < 9) await rest.count(9 - index);
    rest.socket.terminate();
    expect(rest.messages).toEqual(first.messages.slice(index + 1));
  }
  frank.socket.terminate();
});

test('frames of one tick are done in their order', async () => {
  await create('order', 'joe');
  const joe = await SocketClient.open(api.url);
  joe.say({ subscribe: 'joe' });
  for (let n = 1; n <= 300; n += 1) joe.say({ post: { chatId: 'order', body: n }, ref: n });
  await until('all answers', async () => joe.frames.filter(({ posted }) => posted).length === 300);
  const ids = joe.frames.filter(({ posted }) => posted).map(({ ref, posted }) => [ref, posted.id]);
  expect(ids).toEqual(Array.from({ length: 300 }, (_, n) => [n + 1, n + 1]));
  joe.socket.terminate();
});

describe('a frame', () => {
  const refusedAs = (slug: string, status: number): object => ({
    error: expect.objectContaining({ type: PROBLEMS + slug, status, instance: expect.any(String) }),
  });

  test.each<[string, object, string, number]>([
    ['of a chat that is not there', { post: { chatId: 'none', body: 1 } }, 'unknown-chat', 404],
    ['of a chat of others', { post: { chatId: 'private', body: 1 } }, 'not-a-member', 403],
    ['that acks what is not there', { ack: { chatId: 'mine', upToId: 9 } }, 'unknown-message', 404],
    ['that acks in another epoch', { ack: { chatId: 'mine', upToId: 0, epoch: 1 } }, 'unknown-message', 404],
    ['that types elsewhere', { typing: 'private' }, 'not-a-member', 403],
    ['with a large body', { post: { chatId: 'mine', body: 'x'.repeat(65_535) } }, 'body-too-large', 413],
    ['with nothing', {}, 'invalid-frame', 400],
    ['with two verbs', { typing: 'mine', ack: { chatId: 'mine', upToId: 0 } }, 'invalid-frame', 400],
    ['with a verb that is unknown', { shout: 'mine' }, 'invalid-frame', 400],
    ['with an option of subscribe', { typing: 'mine', includeUnread: true }, 'invalid-frame', 400],
    ['without a body', { post: { chatId: 'mine' } }, 'invalid-frame', 400],
    ['with a long name', { post: { chatId: 'x'.repeat(1_025), body: 1 } }, 'invalid-frame', 400],
    ['with a negative id', { ack: { chatId: 'mine', upToId: -1 } }, 'invalid-frame', 400],
    ['with half an id', { ack: { chatId: 'mine', upToId: 0.5 } }, 'invalid-frame', 400],
    ['that subscribes again', { subscribe: 'eve' }, 'invalid-frame', 400],
    ['with a token for nothing', { typing: 'mine', after: 'x' }, 'invalid-frame', 400],
  ])('%s is refused, and the socket goes on', async (_, frame, slug, status) => {
    await create('mine', 'kim');
    await create('private');
    const client = await SocketClient.subscribe(api.url, 'kim');
    client.say({ ...frame, ref: 'r' });
    await until('an answer', async () => client.frames.length === 2);
    const { ref, ...answer } = client.frames[1];
    expect(answer).toEqual(refusedAs(slug, status));
    expect(ref).toBe('r');
    expect(await client.ask({ typing: 'mine' })).toEqual({ typed: { chatId: 'mine' } });
    client.socket.terminate();
  });

  test.each<[string, string]>([
    ['no JSON', '{'],
    ['no object', '[]'],
    ['a key __proto__', '{"subscribe":"kim","__proto__":{}}'],
    ['half of a pair', '{"subscribe":"kim","ref":"\\ud800"}'],
    ['65 levels', `{"post":${'['.repeat(65)}${']'.repeat(65)}}`],
    ['what needs a member', '{"typing":"mine"}'],
  ])('of %s is refused; the third in a row closes the socket', async (_, text) => {
    const client = await SocketClient.open(api.url);
    for (let n = 0; n < 3; n += 1) client.say(text);
    const { code, reason } = await client.close();
    expect([code, reason]).toEqual([1_008, 'three frames in a row were not understood']);
    expect(client.frames).toEqual(Array.from({ length: 3 }, () => refusedAs('invalid-frame', 400)));
  });

  test('in between that says something lets the socket live', async () => {
    await create('mine', 'kim');
    const client = await SocketClient.subscribe(api.url, 'kim');
    for (let round = 0; round < 3; round += 1) {
      for (let n = 0; n < 2; n += 1) client.say('?');
      expect(await client.ask({ typing: 'mine' })).toEqual({ typed: { chatId: 'mine' } });
    }
    client.socket.send(Buffer.from('{}'), { binary: true });
    await until('a refusal', async () => client.frames.at(-1).error?.detail === 'it is binary, not text');
    client.socket.terminate();
  });

  test('that is too large closes the socket with 1009, before it is read', async () => {
    const client = await SocketClient.subscribe(api.url, 'kim');
    client.say(JSON.stringify({ post: { chatId: 'mine', body: 'x'.repeat(69_632) } }));
    expect((await client.close()).code).toBe(1_009);
  });

  test('of a token that is none leaves the socket to another attempt', async () => {
    const client = await SocketClient.open(api.url);
    expect(await client.ask({ subscribe: 'kim', after: 'x' })).toEqual(refusedAs('invalid-token', 400));
    expect(await client.ask({ subscribe: 'kim' })).toEqual({ subscribed: 'kim' });
    client.socket.terminate();
  });
});

test('a socket that does not subscribe or does not answer a ping is closed', async () => {
  const strict = await start({ STREAM_TIMEOUT_MS: '100', STREAM_HEARTBEAT_MS: '100' });
  const idle = await SocketClient.open(strict.url);
  expect(await idle.close()).toEqual({ code: 1_008, reason: 'nobody was subscribed to' });
  const lively = await SocketClient.subscribe(strict.url, 'bill');
  let pings = 0;
  lively.socket.on('ping', () => (pings += 1));
  await until('pings', async () => pings >= 3);
  expect(lively.closed).toBeUndefined();
  // Its answers to pings no longer leave.
  Object.assign(lively.socket, { pong: () => undefined, _autoPong: false });
  expect(await lively.close()).toEqual({ code: 1_013, reason: 'too slow: resume with your last token' });
});

test('a client that reads slowly and steadily gets everything, however many beats that takes', async () => {
  const beating = await start({ STREAM_HEARTBEAT_MS: '100' });
  await create('steady', 'sue');
  const total = 300;
  for (let sent = 0; sent < total; sent += 50) {
    await Promise.all(
      Array.from({ length: 50 }, () =>
        ask('POST', 'chats/steady/messages', { sender: 'frank', body: 'x'.repeat(60_000) }),
      ),
    );
  }
  const clock = await SocketClient.subscribe(beating.url, 'nobody');
  let beats = 0;
  clock.socket.on('ping', () => (beats += 1));
  const sue = await SocketClient.open(beating.url);
  sue.socket.on('message', () => {
    if (sue.messages.length % 30 === 0) sue.socket.pause();
  });
  await sue.ask({ subscribe: 'sue' });
  while (sue.messages.length < total) {
    await until('more of it', async () => sue.closed !== undefined || sue.socket.isPaused);
    if (sue.closed) break;
    // Two beats in which it takes nothing.
    const next = beats + 2;
    await until('two beats', async () => beats >= next);
    sue.socket.resume();
  }
  expect([sue.messages.length, sue.closed]).toEqual([total, undefined]);
  expect(beats).toBeGreaterThan(10);
  for (const client of [sue, clock]) client.socket.terminate();
});

test('a client that takes nothing is dropped with a reason, and resumes', async () => {
  const strict = await start({ STREAM_TIMEOUT_MS: '1000' });
  await create('slow', 'sam');
  const sam = await SocketClient.subscribe(strict.url, 'sam');
  sam.socket.pause();
  // At once, also while posts are under way: the server waits 10 s for the end of the connection.
  const resumed = until('the server to give it up', () => strict.app.get(LiveStreams).ending === 1).then(() =>
    sam.socket.resume(),
  );
  const total = 250;
  for (let sent = 0; sent < total; sent += 50) {
    await Promise.all(
      Array.from({ length: 50 }, () =>
        ask('POST', 'chats/slow/messages', { sender: 'frank', body: 'x'.repeat(60_000) }),
      ),
    );
  }
  await resumed;
  expect(await sam.close()).toEqual({ code: 1_013, reason: 'too slow: resume with your last token' });
  const seen = sam.messages;
  expect(seen.length).toBeLessThan(total);
  const rest = await SocketClient.subscribe(strict.url, 'sam', sam.token);
  await rest.count(total - seen.length);
  expect([...seen, ...rest.messages]).toEqual(Array.from({ length: total }, (_, n) => `slow/${n + 1}`));
  rest.socket.terminate();
});

describe('the handshake', () => {
  const opens = (headers: Record<string, string>, at = api): Promise<string> =>
    SocketClient.open(at.url, headers).then(
      (client) => {
        client.socket.terminate();
        return 'open';
      },
      (error: Error) => error.message,
    );

  test('is for pages of the same host, or of the list, and for what is no page', async () => {
    const { host } = new URL(api.url);
    expect(await opens({})).toBe('open');
    expect(await opens({ origin: `http://${host}` })).toBe('open');
    for (const origin of [
      'http://evil.example',
      'null',
      `http://${host}.evil.example`,
      'http://127.0.0.1:1',
    ]) {
      expect([origin, await opens({ origin })]).toEqual([origin, '403 foreign-origin']);
    }
    const listed = await start({ ALLOWED_ORIGINS: 'https://garage.example' });
    expect(await opens({ origin: 'https://garage.example' }, listed)).toBe('open');
    expect(await opens({ origin: listed.url }, listed)).toBe('403 foreign-origin');
    expect(await opens({}, listed)).toBe('open');
  });

  test('is refused when as many streams are open as may be', async () => {
    const small = await start({ MAX_STREAMS: '1' });
    const first = await SocketClient.open(small.url);
    expect(await opens({}, small)).toBe('503 too-many-streams');
    first.socket.close();
    await until('room', async () => (await opens({}, small)) === 'open');
  });

  test('that is none is a problem', async () => {
    const { status, headers, json } = await api.send({ path: '/v1/ws' });
    expect([status, headers['upgrade'], json.type]).toEqual([
      426,
      'websocket',
      `${PROBLEMS}upgrade-required`,
    ]);
    const wrong = await api.send({
      path: '/v1/ws',
      headers: { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '7' },
    });
    expect([wrong.status, wrong.json.type]).toEqual([400, `${PROBLEMS}malformed-request`]);
  });

  test.each([
    ['GET', '/v1/market/listings', 'websocket'],
    ['GET', '/v1/ws', 'h2c'],
    ['POST', '/v1/chats', 'h2c'],
    ['POST', '/v1/ws', 'websocket'],
  ])('offered with %s %s and %s is left alone', async (method, path, upgrade) => {
    const headers = { connection: 'upgrade, http2-settings', upgrade, 'http2-settings': 'AAMAAABkAAQAAP__' };
    const body = JSON.stringify({ sender: 'frank', members: ['bill'] });
    const [given, plain] = [
      await api.send({ method, path, headers, ...(method === 'POST' && { body }) }),
      await api.send({ method, path, ...(method === 'POST' && { body }) }),
    ];
    expect(given.status).toBe(plain.status);
    expect([200, 201, 405, 426]).toContain(given.status);
  });

  test('of CONNECT is a problem as before', async () => {
    const { hostname, port } = new URL(api.url);
    const outgoing = request({ hostname, port, method: 'CONNECT', path: '/v1/ws', agent: false });
    outgoing.end();
    const [response] = (await once(outgoing, 'connect')) as [IncomingMessage];
    expect(response.statusCode).toBe(405);
    outgoing.destroy();
  });
});

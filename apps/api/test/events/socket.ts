/** The topics of `GET /v1/events` over a WebSocket. */
import { EventEmitter } from 'node:events';

import { expect, test } from '@jest/globals';
import { gate, until } from '@mortise/test-kit';
import type { WebSocket } from 'ws';

import { ANYONE } from '../../src/callers/principal.js';
import type { SessionContext } from '../../src/events/socket-session.js';
import { SocketSession } from '../../src/events/socket-session.js';
import { LiveStreams } from '../../src/messaging/live/live-streams.js';
import type { Answer } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import type { Json } from '../fixture/streams.js';
import { EventReader, SocketClient } from '../fixture/streams.js';

const ADMIN = 'mk_admin_0123456789012345678901';
const bearer = (key: string): { authorization: string } => ({ authorization: `Bearer ${key}` });
const api = await startApi({ AUTH: 'keys', ADMIN_KEY: ADMIN });

const ask = (method: string, path: string, body?: object): Promise<Answer> =>
  api.send({ method, path: `/v1/${path}`, headers: bearer(ADMIN), ...(body && { body }) });
const open = (key = ADMIN): Promise<SocketClient> => SocketClient.open(api.url, bearer(key));
const enqueue = (queue: string, id: string): Promise<Answer> =>
  ask('POST', `queues/${queue}/tasks`, { name: 't', payload: 1, id });
const keyOf = async (id: string, terms: object): Promise<string> =>
  (await ask('PUT', `admin/keys/${id}`, terms)).json.key as string;
const of = (client: SocketClient, topic: string): string[] =>
  client.events.filter((event) => event.topic === topic).map(({ type, id }) => `${type} ${id}`);
const refusal = ({ error }: Json): unknown[] => [error.status, error.type.split('/').at(-1), error.detail];

for (const queue of ['mail', 'other', 'a,b']) await enqueue(encodeURIComponent(queue), 'before');
await ask('POST', 'chats', { sender: 'anna', members: ['bob'], chatId: 'guild' });

test('follows topics beside a member, each with its own token', async () => {
  const client = await open();
  await client.ask({ subscribe: 'bob' });
  const followed = await client.ask({ follow: 'queue:mail' });
  expect(followed).toEqual({ followed: 'queue:mail', token: expect.stringMatching(/^[\w-]+$/) });
  expect(await client.ask({ follow: 'queue:a%2Cb' })).toMatchObject({ followed: 'queue:a%2Cb' });
  await enqueue('mail', 'one');
  await enqueue('a%2Cb', 'two');
  await client.ask({ post: { chatId: 'guild', body: 'hello' } });
  await ask('POST', 'chats/guild/messages', { sender: 'anna', body: 'hi' });
  await client.count(4);
  expect(of(client, 'queue:mail')).toEqual(['enqueued one']);
  expect(of(client, 'queue:a%2Cb')).toEqual(['enqueued two']);
  const messages = client.events.filter(({ type }) => type === 'message');
  expect(messages.map(({ topic, message }) => [topic, message.body])).toEqual([
    [undefined, 'hello'],
    [undefined, 'hi'],
  ]);
  client.socket.close();
  // The token of the answer, those of events, and those of server-sent events.
  const sse = await EventReader.open(api.url, '/v1/events?topics=queue:mail,queue:other', bearer(ADMIN));
  await sse.count(1);
  await enqueue('mail', 'three');
  const { token } = client.events.find(({ topic }) => topic === 'queue:mail');
  for (const [after, expected] of [
    [followed.token, ['enqueued one', 'enqueued three']],
    [token, ['enqueued three']],
    [sse.events[0]!.id, ['enqueued three']],
  ]) {
    const next = await open();
    await next.ask({ follow: 'queue:mail', after });
    await next.count(expected.length);
    expect(of(next, 'queue:mail')).toEqual(expected);
    next.socket.close();
  }
  sse.close();
});

test('sends no event after `unfollowed`, and follows again from the last token without a loss', async () => {
  const client = await open();
  await client.ask({ follow: 'queue:other' });
  let after: string | undefined;
  for (let round = 0; round < 5; round += 1) {
    const sent = Promise.all(Array.from({ length: 20 }, (_, n) => enqueue('other', `${round}-${n}`)));
    await until('an event', async () => client.token !== after);
    await client.ask({ unfollow: 'queue:other' });
    const seen = client.events.length;
    await sent;
    expect(client.events.length).toBe(seen);
    after = client.token;
    expect(await client.ask({ follow: 'queue:other', after })).toMatchObject({ followed: 'queue:other' });
    await client.count(20 * (round + 1));
  }
  expect(new Set(of(client, 'queue:other')).size).toBe(100);
  expect(of(client, 'queue:other')).toHaveLength(100);
  client.socket.close();
});

test('an event that was read before the answer `unfollowed` is not sent after it', async () => {
  const sent: Json[] = [];
  const socket = Object.assign(new EventEmitter(), {
    bufferedAmount: 0,
    isPaused: false,
    send: (text: string) => void sent.push(JSON.parse(text)),
    close: () => undefined,
    terminate: () => undefined,
    resume: () => undefined,
  });
  const late = gate();
  async function* events(): AsyncGenerator<object, void> {
    yield { type: 'one', token: '1' };
    await late.passed;
    yield { type: 'two', token: '2' };
  }
  const session = new SocketSession(
    socket as unknown as WebSocket,
    {
      principal: ANYONE,
      shown: (event: unknown) => event,
      timeoutMs: 60_000,
      limits: { take: () => Promise.resolve({}) },
      topics: { open: () => Promise.resolve({ token: '0', events: events() }) },
      trace: () => undefined,
    } as unknown as SessionContext,
  );
  const say = (frame: object): void => void socket.emit('message', Buffer.from(JSON.stringify(frame)), false);
  say({ follow: 'queue:mail' });
  await until('the first event', async () => sent.length === 2);
  say({ unfollow: 'queue:mail' });
  await until('the answer', async () => sent.length === 3);
  late.open();
  say({ typing: 'guild' });
  await until('the last answer', async () => sent.some(({ error }) => error));
  expect(sent.map((frame) => Object.keys(frame)[0])).toEqual(['followed', 'event', 'unfollowed', 'error']);
  session.end('shutting-down');
  socket.emit('close');
});

test('says what was trimmed, and goes on from now where the queue is another one', async () => {
  await ask('PUT', 'queues/trimmed', { keepEvents: 1 });
  const client = await open();
  const { token: after } = await client.ask({ follow: 'queue:trimmed' });
  await client.ask({ unfollow: 'queue:trimmed' });
  for (let n = 0; n < 3; n += 1) {
    const ids = Array.from({ length: 1_000 }, (_, index) => `${n}-${index}`);
    await ask('POST', 'queues/trimmed/task-batches', {
      tasks: ids.map((id) => ({ name: 't', payload: 1, id })),
    });
  }
  await client.ask({ follow: 'queue:trimmed', after });
  await until('a gap', async () => client.events.some(({ type }) => type === 'gap'));
  await client.ask({ unfollow: 'queue:trimmed' });
  await ask('DELETE', 'queues/trimmed?isForced=true');
  await ask('PUT', 'queues/trimmed', { shards: 2 });
  await client.ask({ follow: 'queue:trimmed', after });
  await until('a reset', async () => client.events.some(({ type }) => type === 'reset'));
  await enqueue('trimmed', 'anew');
  await until('the next event', async () => of(client, 'queue:trimmed').includes('enqueued anew'));
  const types = client.events.map(({ type }) => type);
  expect(types.slice(types.indexOf('reset'))).toEqual(['reset', 'enqueued']);
  client.socket.close();
});

test.each(['mail', 'queue:', 'constructor:x', 'queue:%ff', 'queue:a%', 'market:x', 'mailbox'])(
  '%s is no topic',
  async (follow) => {
    const client = await open();
    const form = expect.stringContaining('must be one of queue:<name>, member:<name>,');
    expect(refusal(await client.ask({ follow }))).toEqual([400, 'invalid-frame', form]);
    client.socket.close();
  },
);

test('refuses topics that are followed, too many or not there', async () => {
  const client = await open();
  for (let n = 0; n < 11; n += 1) await enqueue(`q${n}`, 'first');
  for (let n = 0; n < 10; n += 1) await client.ask({ follow: `queue:q${n}` });
  const asked = async (frame: object): Promise<unknown[]> => refusal(await client.ask(frame));
  expect(await asked({ follow: 'queue:%711' })).toEqual([400, 'invalid-frame', 'it is followed already']);
  expect(await asked({ follow: 'queue:q10' })).toEqual([
    400,
    'invalid-frame',
    'a WebSocket follows up to 10 topics',
  ]);
  expect(await client.ask({ unfollow: 'queue:q9' })).toEqual({ unfollowed: 'queue:q9' });
  expect(await asked({ unfollow: 'queue:q9' })).toEqual([400, 'invalid-frame', 'it is not followed']);
  expect(await asked({ follow: 'queue:nowhere' })).toEqual([404, 'unknown-queue', expect.any(String)]);
  expect(await asked({ follow: 'queue:q9', after: 'x' })).toEqual([400, 'invalid-token', expect.any(String)]);
  // None of them took a place.
  expect(await client.ask({ follow: 'queue:q10' })).toMatchObject({ followed: 'queue:q10' });
  client.socket.close();
});

test('a socket that has ended its last topic is closed, and one that follows is not', async () => {
  const strict = await startApi({ MORTISE_PREFIX: api.prefix, STREAM_TIMEOUT_MS: '300' });
  const client = await SocketClient.open(strict.url);
  await client.ask({ follow: 'queue:mail' });
  const idle = await SocketClient.open(strict.url);
  await idle.ask({ follow: 'queue:mail' });
  await idle.ask({ unfollow: 'queue:mail' });
  expect(await idle.close()).toEqual({ code: 1_008, reason: 'nobody was subscribed to' });
  expect(client.closed).toBeUndefined();
  expect(strict.app.get(LiveStreams).size).toBe(1);
  client.socket.close();
});

test('ends with its credential', async () => {
  const key = await keyOf('queues', { scopes: ['queues:read'] });
  const client = await open(key);
  await client.ask({ follow: 'queue:mail' });
  await ask('DELETE', 'admin/keys/queues');
  expect(await client.close()).toEqual({ code: 1_008, reason: 'the credential is no longer valid' });
});

test('gives a slow client all events of all topics', async () => {
  const client = await open();
  await client.ask({ subscribe: 'bob' });
  for (const topic of ['queue:mail', 'member:bob']) await client.ask({ follow: topic });
  client.socket.pause();
  const tasks = Array.from({ length: 1_000 }, (_, n) => ({ name: 'n'.repeat(200), payload: 1, id: `s${n}` }));
  for (let n = 0; n < 3; n += 1)
    await ask('POST', 'queues/mail/task-batches', {
      tasks: tasks.map(({ id, ...task }) => ({ ...task, id: `${n}-${id}` })),
    });
  const body = 'x'.repeat(60_000);
  for (let n = 0; n < 10; n += 1) await ask('POST', 'chats/guild/messages', { sender: 'anna', body });
  client.socket.resume();
  await until('the tasks', async () => of(client, 'queue:mail').length === 3_000);
  const texts = (topic: string | undefined): number =>
    client.events.filter((event) => event.topic === topic && event.message?.body === body).length;
  await until('the messages', async () => texts(undefined) === 10 && texts('member:bob') === 10);
  expect(client.closed).toBeUndefined();
  client.socket.close();
});

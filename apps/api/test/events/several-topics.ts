/** One stream of several topics. */
import { expect, test } from '@jest/globals';
import { Worker } from '@mortise/queues';
import { connect, until } from '@mortise/test-kit';

import type { Answer } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import { EventReader } from '../fixture/streams.js';
import type { Json, Sse } from '../fixture/streams.js';

const ADMIN = 'mk_admin_0123456789012345678901';
const bearer = (key: string): { authorization: string } => ({ authorization: `Bearer ${key}` });
const redis = connect();
const api = await startApi({ AUTH: 'keys', ADMIN_KEY: ADMIN });

const ask = (method: string, path: string, body?: object, key = ADMIN): Promise<Answer> =>
  api.send({ method, path: `/v1/${path}`, headers: bearer(key), ...(body && { body }) });
const follow = (topics: string, after?: string, key = ADMIN): Promise<EventReader> =>
  EventReader.open(api.url, `/v1/events?topics=${topics}`, {
    ...bearer(key),
    ...(after !== undefined && { 'last-event-id': after }),
  });
const of = (events: readonly Sse[], topic: string): string[] =>
  events.filter(({ data }) => data.topic === topic).map(({ event, data }) => `${event} ${textOf(data)}`);
const textOf = (data: Json): string => String(data.id ?? data.message?.body ?? data.chatId ?? '');
const enqueue = (queue: string, id: string): Promise<Answer> =>
  ask('POST', `queues/${queue}/tasks`, { name: 't', payload: 1, id });
const keyOf = async (id: string, terms: object): Promise<string> =>
  (await ask('PUT', `admin/keys/${id}`, terms)).json.key as string;

for (const queue of ['mail', 'a%2Cb', 'quiet']) await enqueue(queue, 'before');
await ask('POST', 'chats', { sender: 'anna', members: ['bob'], chatId: 'guild', body: 'one' });

test('has the events of queues and of members, each with its topic', async () => {
  const topics = 'queue:mail,queue:a%252Cb,member:bob';
  const reader = await follow(topics);
  await reader.count(1);
  expect(reader.events[0]).toMatchObject({
    event: 'open',
    id: expect.any(String),
    data: { topics: ['queue:mail', 'queue:a%2Cb', 'member:bob'] },
  });
  await enqueue('mail', 'one');
  await enqueue('a%2Cb', 'two');
  await ask('POST', 'chats/guild/messages', { sender: 'anna', body: 'hello' });
  const worker = new Worker(redis, ['mail'], { t: () => 1 }, { prefix: api.prefix });
  await worker.start();
  await until('the end of the task', async () => of(reader.events, 'queue:mail').includes('succeeded one'));
  await worker.stop();
  await until('the message', async () => of(reader.events, 'member:bob').includes('message hello'));
  const mails = of(reader.events, 'queue:mail').filter((text) => text.endsWith(' one'));
  expect(mails).toEqual(['enqueued one', 'started one', 'succeeded one']);
  expect(of(reader.events, 'queue:a%2Cb')).toEqual(['enqueued two']);
  reader.close();
});

test('continues after any event, without a loss and twice nothing, also of a topic that was quiet', async () => {
  const topics = 'queue:mail,queue:quiet,member:bob';
  const first = await follow(topics);
  await first.count(1);
  const { id } = first.events[0]!;
  first.close();
  // Nothing has come yet of any queue.
  await enqueue('quiet', 'missed');
  for (const name of ['m1', 'm2', 'm3']) await enqueue('mail', name);
  const second = await follow(topics, id);
  await until('three tasks', async () => of(second.events, 'queue:mail').includes('enqueued m3'));
  await until('the quiet one', async () => of(second.events, 'queue:quiet').length === 1);
  expect(of(second.events, 'queue:mail')).toEqual(['enqueued m1', 'enqueued m2', 'enqueued m3']);
  expect(of(second.events, 'queue:quiet')).toEqual(['enqueued missed']);
  second.close();
  for (const [index, { id: after, event }] of second.events.entries()) {
    if (event === 'open') continue;
    const again = await follow(topics, after);
    await enqueue('mail', `end${index}`);
    await until('the last one', async () => of(again.events, 'queue:mail').includes(`enqueued end${index}`));
    const seen = ['queue:mail', 'queue:quiet'].flatMap((topic) => of(again.events, topic));
    const before = new Set(
      ['queue:mail', 'queue:quiet'].flatMap((topic) => of(second.events.slice(0, index + 1), topic)),
    );
    expect(seen.filter((text) => before.has(text))).toEqual([]);
    again.close();
  }
});

test('says what was trimmed before it was read, and goes on from now where the queue is another one', async () => {
  await enqueue('trimmed', 'before');
  const first = await follow('queue:trimmed');
  await first.count(1);
  const { id } = first.events[0]!;
  first.close();
  await ask('PUT', 'queues/trimmed', { keepEvents: 1 });
  for (let n = 0; n < 3; n += 1) {
    const tasks = Array.from({ length: 1_000 }, (_, index) => ({
      name: 't',
      payload: 1,
      id: `${n}-${index}`,
    }));
    await ask('POST', 'queues/trimmed/task-batches', { tasks });
  }
  const second = await follow('queue:trimmed', id);
  await until('a gap', async () => second.events.some(({ event }) => event === 'gap'));
  expect(second.events.find(({ event }) => event === 'gap')!.data.missed).toBeGreaterThan(0);
  second.close();
  await ask('DELETE', 'queues/trimmed?isForced=true');
  await ask('PUT', 'queues/trimmed', { shards: 2 });
  const third = await follow('queue:trimmed', id);
  await until('a reset', async () => third.events.some(({ event }) => event === 'reset'));
  await enqueue('trimmed', 'anew');
  await until('the next event', async () => of(third.events, 'queue:trimmed').includes('enqueued anew'));
  third.close();
});

test('needs the scope of each topic, the member itself, and a credential', async () => {
  const queues = await keyOf('queues', { scopes: ['queues:read'] });
  const bob = await keyOf('bob', { scopes: ['messaging:read'], subject: 'bob' });
  const refusal = async (topics: string, key: string): Promise<unknown[]> => {
    const { status, json } = await ask('GET', `events?topics=${topics}`, undefined, key);
    return [status, json.type.split('/').at(-1)];
  };
  expect(await refusal('queue:mail,member:bob', queues)).toEqual([403, 'scope-missing']);
  expect(await refusal('queue:mail', bob)).toEqual([403, 'scope-missing']);
  expect(await refusal('member:anna', bob)).toEqual([403, 'subject-mismatch']);
  expect(await refusal('queue:mail', 'mk_none_x')).toEqual([401, 'unauthenticated']);
  expect(await refusal('queue:nowhere', queues)).toEqual([404, 'unknown-queue']);
  for (const key of [queues, bob]) {
    const topic = key === queues ? 'queue:mail' : 'member:bob';
    const reader = await follow(topic, undefined, key);
    await reader.count(1);
    await ask('DELETE', `admin/keys/${key === queues ? 'queues' : 'bob'}`);
    await reader.end();
    expect(reader.events.at(-1)).toMatchObject({ event: 'dropped', data: { reason: 'revoked' } });
  }
});

test('is of the tenant of its credential alone', async () => {
  await ask('PUT', 'admin/tenants/acme', {});
  const key = await keyOf('acme', {
    tenant: 'acme',
    scopes: ['queues:read', 'queues:write', 'messaging:read'],
  });
  expect((await ask('GET', 'events?topics=queue:mail', undefined, key)).status).toBe(404);
  await ask('POST', 'queues/mail/tasks', { name: 't', payload: 1, id: 'its' }, key);
  const mine = await follow('queue:mail');
  await mine.count(1);
  const its = await follow('queue:mail,member:bob', mine.events[0]!.id, key);
  await its.count(1);
  await enqueue('mail', 'mine');
  await ask('POST', 'queues/mail/tasks', { name: 't', payload: 1, id: 'second' }, key);
  await until('its task', async () => of(its.events, 'queue:mail').includes('enqueued second'));
  await until('my task', async () => of(mine.events, 'queue:mail').includes('enqueued mine'));
  expect(of(its.events, 'queue:mail')).not.toContain('enqueued mine');
  expect(of(its.events, 'member:bob')).toEqual([]);
  expect(of(mine.events, 'queue:mail')).toEqual(['enqueued mine']);
  for (const reader of [mine, its]) reader.close();
});

test.each([
  ['', 'invalid-query'],
  ['?topics=', 'invalid-query'],
  ['?topics=mail', 'invalid-query'],
  ['?topics=queue:', 'invalid-query'],
  ['?topics=queue:%25ff', 'invalid-query'],
  ['?topics=market:x', 'invalid-query'],
  ['?topics=mailbox', 'invalid-query'],
  ['?topics=queue:mail,queue:mail', 'invalid-query'],
  [`?topics=${Array.from({ length: 11 }, (_, n) => `queue:${n}`).join(',')}`, 'invalid-query'],
  ['?topics=queue:mail&after=x', 'invalid-token'],
  [`?topics=queue:mail&after=${Buffer.from('{"queue:mail":"x-"}').toString('base64url')}`, 'invalid-token'],
  [`?topics=market&after=${Buffer.from('{"market":"x"}').toString('base64url')}`, 'invalid-token'],
  [
    `?topics=mailbox:bob&after=${Buffer.from('{"mailbox:bob":"0-1"}').toString('base64url')}`,
    'invalid-token',
  ],
  [`?topics=member:bob&after=${Buffer.from('{"member:bob":"x"}').toString('base64url')}`, 'invalid-token'],
  // Of another stream.
  [`?topics=mailbox:bob&after=${Buffer.from('{"market":"0-0"}').toString('base64url')}`, 'invalid-token'],
])('events%s is refused: %s', async (query, slug) => {
  const { status, json } = await ask('GET', `events${query}`);
  expect([status, json.type.split('/').at(-1)]).toEqual([400, slug]);
});

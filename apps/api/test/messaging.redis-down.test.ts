/** Redis away and back again: refusals at once, and streams that go on where they were. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RedisServer } from '@mortise/redis-server';
import { startSingle } from '@mortise/redis-server';

import type { Answer, Api, Sent } from './fixture/api.js';
import { DEFAULT_TIMEOUTS, startApi } from './fixture/api.js';
import { until } from './fixture/redis.js';
import { EventReader, SocketClient } from './fixture/streams.js';

let server: RedisServer;
/** With the deadlines that are proved here. */
let api: Api;
/** For what must be done however busy the machine is. */
let patient: Api;

beforeAll(async () => {
  server = await startSingle({ isCluster: true, appendFsync: 'always' });
  patient = await startApi({ REDIS_URL: server.url });
  api = await startApi({ REDIS_URL: server.url, ...DEFAULT_TIMEOUTS });
});
afterAll(async () => {
  await Promise.all([api.app.close(), patient.app.close()]);
  await server.stop();
});

const ask = (method: string, path: string, body?: object): Sent => ({
  method,
  path: `/v1/${path}`,
  ...(body && { body }),
});
const REQUESTS: Sent[] = [
  ask('POST', 'mailboxes/ann/messages', { from: 'bill', body: 1 }),
  ask('GET', 'mailboxes/ann/messages'),
  ask('GET', 'mailboxes/ann/messages?waitMs=20000'),
  ask('DELETE', 'mailboxes/ann/messages'),
  ask('POST', 'mailboxes/ann/ack', { upToId: 0 }),
  ask('GET', 'mailboxes/ann'),
  ask('GET', 'mailboxes/ann/devices'),
  ask('PUT', 'mailboxes/ann/devices/phone', {}),
  ask('DELETE', 'mailboxes/ann/devices/phone'),
  ask('GET', 'mailboxes/ann/blocked-senders'),
  ask('PUT', 'mailboxes/ann/blocked-senders/bill'),
  ask('POST', 'chats', { sender: 'frank', members: ['bill'] }),
  ask('GET', 'chats/garage/members'),
  ask('PUT', 'chats/garage/members/ann', {}),
  ask('DELETE', 'chats/garage/members/ann'),
  ask('PUT', 'chats/garage/members/bill/role', { role: 'reader' }),
  ask('PUT', 'chats/garage/members/bill/cursor', { upToId: 0 }),
  ask('POST', 'chats/garage/messages', { sender: 'frank', body: 1 }),
  ask('GET', 'chats/garage/messages'),
  ask('PATCH', 'chats/garage/messages/1', { sender: 'frank', body: 1 }),
  ask('DELETE', 'chats/garage/messages/1?sender=frank'),
  ask('POST', 'chats/garage/typing', { member: 'frank' }),
  ask('GET', 'members/bill/pending'),
  ask('GET', 'members/bill/pending?waitMs=20000'),
  ask('GET', 'members/bill/chats'),
  ask('PUT', 'members/bill/mutes/garage', {}),
  ask('DELETE', 'members/bill/mutes/garage'),
  ask('PUT', 'members/bill/presence', { status: 'here' }),
  ask('GET', 'members/bill/events'),
];

/** The status and type of each answer, and the longest that came fast in one of three rounds. */
async function answers(): Promise<unknown[][]> {
  const times = REQUESTS.map(() => Infinity);
  let found: Answer[] = [];
  for (let round = 0; round < 3; round += 1) {
    found = [];
    for (const [index, sent] of REQUESTS.entries()) {
      const startedAt = performance.now();
      found.push(await api.send(sent));
      times[index] = Math.min(times[index]!, performance.now() - startedAt);
    }
  }
  return found.map(({ status, json, headers }, index) => [
    status,
    json?.type,
    headers['retry-after'],
    times[index]! < 1_000,
  ]);
}
const UNAVAILABLE = REQUESTS.map(() => [503, 'https://mortise.dev/problems/redis-unavailable', '1', true]);

test('while Redis is dead all is refused at once, and streams live; when it is back, they go on where they were', async () => {
  const create = { sender: 'frank', members: ['bill'], chatId: 'garage' };
  expect((await patient.send(ask('POST', 'chats', create))).status).toBe(201);
  const post = (body: unknown): Promise<Answer> =>
    patient.send({
      ...ask('POST', 'chats/garage/messages', { sender: 'frank', body }),
      headers: { 'idempotency-key': `m-${String(body)}` },
    });
  await post(1);
  const reader = await EventReader.open(api.url, '/v1/members/bill/events');
  const socket = await SocketClient.subscribe(api.url, 'bill');
  await reader.count(1);
  await socket.count(1);

  await server.kill();
  expect(await answers()).toEqual(UNAVAILABLE);
  const refused = await socket.ask({ post: { chatId: 'garage', body: 'x', id: 'x' } });
  expect(refused.error).toMatchObject({
    status: 503,
    type: 'https://mortise.dev/problems/redis-unavailable',
  });
  const other = await SocketClient.open(api.url);
  expect((await other.ask({ subscribe: 'bill' })).error.status).toBe(503);
  await server.restart();
  await until('the second message', async () => (await post(2)).status < 300);
  expect((await other.ask({ subscribe: 'bill' })).error ?? 'subscribed').toBe('subscribed');
  await reader.count(2);
  await socket.count(2);
  await other.count(2);
  expect([reader.messages, socket.messages, other.messages]).toEqual(
    Array.from({ length: 3 }, () => ['garage/1', 'garage/2']),
  );
  expect([reader.isEnded, socket.closed]).toEqual([false, undefined]);

  // The same while it is silent.
  server.pause();
  expect(await answers()).toEqual(UNAVAILABLE);
  server.resume();
  await until('the third message', async () => (await post(3)).status < 300);
  await until(
    'both to have it',
    async () => reader.messages.includes('garage/3') && socket.messages.includes('garage/3'),
  );
  for (const seen of [reader.messages, socket.messages]) expect(new Set(seen).size).toBe(seen.length);
  reader.close();
  for (const client of [socket, other]) client.socket.terminate();
}, 200_000);

/** Redis dead, silent and back again: fast refusals, and recovery without a restart of the API. */
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startProxy, startSingle } from '@mortise/redis-server';
import { runServer, until } from '@mortise/test-kit';

import type { Answer, Row, Sent } from './fixture/api.js';
import { DEFAULT_TIMEOUTS, openShop, sentOf, startApi } from './fixture/api.js';
import { digestOf, MIB, numbered, RemoteChannel } from './fixture/files.js';
import { EventReader, SocketClient } from './fixture/streams.js';

const { server } = await runServer({ isCluster: true, appendFsync: 'always' });
/** For what must be done however busy the machine is. */
const patient = await startApi({ REDIS_URL: server.url, STREAM_TIMEOUT_MS: '60000' });
const ENV = { REDIS_URL: server.url, MORTISE_PREFIX: patient.prefix };
/** With the deadlines that are proved here. */
const api = await startApi({ ...ENV, ...DEFAULT_TIMEOUTS });
await openShop(patient);
/** Proxies and servers of tests. */
const opened: { stop(): Promise<unknown> }[] = [];
afterAll(() => Promise.all(opened.map((one) => one.stop())));

const UNAVAILABLE = 'https://mortise.dev/problems/redis-unavailable';
const HOLDER = 'q0-3zLcXb9dTt2Vw.1k.1000';
const LEASE = { lease: '0-1' };
const order = { buyerId: 'poor', expectedPrice: 97 };
const OCTETS = { 'content-type': 'application/octet-stream' };
const REQUESTS: Sent[] = (
  [
    ['GET /v1/market/players/frank'],
    ['GET /v1/market/listings'],
    ['GET /v1/market/figures'],
    ['GET /v1/tasks/x'],
    ['GET /v1/queues/mail'],
    ['GET /health/ready'],
    ['PUT /v1/market/players/ann', { name: 'Ann', email: 'ann@example.com' }],
    ['POST /v1/market/listings', { sellerId: 'frank', itemId: 'shield', price: 1 }],
    ['POST /v1/market/listings/offer/purchases', order],
    ['POST /v1/market/listings/offer/purchases', { ...order, strategy: 'lock' }],
    ['GET /v1/locks'],
    ['GET /v1/locks/x'],
    ['POST /v1/locks/x/force-release'],
    ['POST /v1/locks/x/acquire', {}],
    ['POST /v1/locks/x/acquire', { waitMs: 20_000 }],
    ['POST /v1/locks/x/acquire', { waitMs: 1 }],
    ['POST /v1/locks/x/renew', { holder: HOLDER }],
    ['POST /v1/locks/x/release', { holder: HOLDER }],
    ['GET /v1/rate-limiters'],
    ['GET /v1/rate-limiters/x'],
    ['GET /v1/semaphores'],
    ['GET /v1/semaphores/x'],
    ['PUT /v1/semaphores/x', { permits: 2 }],
    ['POST /v1/semaphores/x/acquire', { permits: 2 }],
    ['POST /v1/semaphores/x/acquire', { permits: 2, waitMs: 20_000 }],
    ['POST /v1/semaphores/x/renew', { holder: HOLDER }],
    ['POST /v1/semaphores/x/release', { holder: HOLDER }],
    ['POST /v1/semaphores/x/force-release', { holder: HOLDER }],
    ['GET /v1/queues'],
    ['GET /v1/queues/x'],
    ['PUT /v1/queues/x', { isPaused: true }],
    ['DELETE /v1/queues/mail'],
    ['GET /v1/queues/mail/task-names'],
    ['GET /v1/queues/mail/depths'],
    ['POST /v1/queues/mail/pause'],
    ['POST /v1/queues/mail/drain', {}],
    ['GET /v1/queues/mail/tasks?state=ready'],
    ['GET /v1/queues/mail/tasks/x'],
    ['POST /v1/queues/x/tasks', { name: 't', payload: 1 }],
    ['POST /v1/queues/x/task-batches', { tasks: [{ name: 't', payload: 1 }] }],
    ['POST /v1/queues/mail/tasks/x/cancel', {}],
    ['POST /v1/queues/x/claims', {}],
    ['POST /v1/queues/mail/claims', { waitMs: 20_000 }],
    ['POST /v1/queues/mail/tasks/x/complete', LEASE],
    ['POST /v1/queues/mail/tasks/x/fail', { ...LEASE, error: 'x' }],
    ['POST /v1/queues/mail/tasks/x/log', { ...LEASE, text: 'x' }],
    ['POST /v1/mailboxes/ann/messages', { from: 'bill', body: 1 }],
    ['GET /v1/mailboxes/ann/messages'],
    ['GET /v1/mailboxes/ann/messages?waitMs=20000'],
    ['DELETE /v1/mailboxes/ann/messages'],
    ['POST /v1/mailboxes/ann/ack', { upToId: 0 }],
    ['GET /v1/mailboxes/ann'],
    ['GET /v1/mailboxes/ann/devices'],
    ['PUT /v1/mailboxes/ann/devices/phone', {}],
    ['DELETE /v1/mailboxes/ann/devices/phone'],
    ['GET /v1/mailboxes/ann/blocked-senders'],
    ['PUT /v1/mailboxes/ann/blocked-senders/bill'],
    ['POST /v1/chats', { sender: 'frank', members: ['bill'] }],
    ['GET /v1/chats/garage/members'],
    ['PUT /v1/chats/garage/members/ann', {}],
    ['DELETE /v1/chats/garage/members/ann'],
    ['PUT /v1/chats/garage/members/bill/role', { role: 'reader' }],
    ['PUT /v1/chats/garage/members/bill/cursor', { upToId: 0 }],
    ['POST /v1/chats/garage/messages', { sender: 'frank', body: 1 }],
    ['GET /v1/chats/garage/messages'],
    ['DELETE /v1/chats/garage/messages?upToId=1'],
    ['PATCH /v1/chats/garage/messages/1', { sender: 'frank', body: 1 }],
    ['DELETE /v1/chats/garage/messages/1?sender=frank'],
    ['POST /v1/chats/garage/typing', { member: 'frank' }],
    ['GET /v1/members/bill/pending'],
    ['GET /v1/members/bill/pending?waitMs=20000'],
    ['GET /v1/members/bill/chats'],
    ['PUT /v1/members/bill/mutes/garage', {}],
    ['DELETE /v1/members/bill/mutes/garage'],
    ['PUT /v1/members/bill/presence', { status: 'here' }],
    ['GET /v1/members/bill/events'],
    ['GET /v1/contacts/ann'],
    ['PUT /v1/contacts/ann/bill'],
    ['DELETE /v1/contacts/ann/bill'],
    ['GET /v1/address-books/elves?by=frank'],
    ['PUT /v1/address-books/elves/names/frank?by=frank', {}],
    ['GET /v1/address-books/elves/names/frank?by=frank'],
    ['POST /v1/address-books/elves/name-batches?by=frank', { names: [{ name: 'ann' }] }],
    ['POST /v1/address-books/elves/names/ann/boost?by=frank', {}],
    ['DELETE /v1/address-books/elves/names/ann?by=frank'],
    ['GET /v1/address-books/elves/completions?by=frank&prefix=j&fuzzy=true'],
    ['GET /v1/address-books/elves/mentions?by=frank'],
    ['GET /v1/file-channels/logs/files?receiver=ann'],
    ['GET /v1/file-channels/logs'],
    ['GET /v1/file-channels/logs/receivers'],
    ['PUT /v1/file-channels/logs/receivers/ben'],
    ['DELETE /v1/file-channels/logs/receivers/ben'],
    ['POST /v1/file-channels/logs/files?name=a.log', 'x', OCTETS],
    ['GET /v1/files/logs:1'],
    ['GET /v1/files/logs:1/content?receiver=ann'],
    ['POST /v1/files/logs:1/acks', { receiver: 'ann', isDone: true }],
    ['DELETE /v1/files/logs:1'],
    ['POST /v1/file-channels/logs/end'],
  ] satisfies Row[]
).map(sentOf);

async function timed(sent: Sent): Promise<{ answer: Answer; ms: number }> {
  const startedAt = performance.now();
  const answer = await api.send(sent);
  return { answer, ms: performance.now() - startedAt };
}

/** So many at once: more would measure how busy the machine is. */
const AT_ONCE = 8;

/** The answers of all requests, and then the liveness of the process. */
async function ask(): Promise<{ answer: Answer; ms: number }[]> {
  const all: { answer: Answer; ms: number }[] = [];
  for (let from = 0; from < REQUESTS.length; from += AT_ONCE) {
    const group = REQUESTS.slice(from, from + AT_ONCE);
    all.push(...(await Promise.all(group.map(timed))));
  }
  all.push(await timed({ path: '/health/live' }));
  return all;
}

/** The answers to each request, sent three times, and whether the fastest came within a second: others may use the machine. */
async function answers(): Promise<object[]> {
  const rounds = [await ask(), await ask(), await ask()];
  return rounds.flatMap((round) =>
    round.map(({ answer: { status, headers, json } }, index) => {
      const { method = '', path } = REQUESTS[index] ?? { path: 'live' };
      const isInTime = Math.min(...rounds.map((all) => all[index]!.ms)) < 1_000;
      return [`${method} ${path}`, status, json?.type, headers['retry-after'], isInTime];
    }),
  );
}

const ROUND = [
  ...REQUESTS.map(({ method, path }) => [`${method} ${path}`, 503, UNAVAILABLE, '1', true]),
  [' live', 200, undefined, undefined, true],
];

async function recovery(): Promise<void> {
  for (const each of [api, patient]) {
    const { json } = await until('recovery', async () => {
      const answer = await each.send({ path: '/v1/market/players/frank' });
      return answer.status === 200 && answer;
    });
    expect(json).toMatchObject({ name: 'Frank' });
  }
}

/** The connection that was silent for long is given up, which must not make things worse. */
async function keepAsking(): Promise<void> {
  const times: number[] = [];
  const endsAt = performance.now() + 2_500;
  while (performance.now() < endsAt) {
    const { answer, ms } = await timed({ path: '/v1/market/players/frank' });
    expect(answer.status).toBe(503);
    times.push(ms);
  }
  expect(Math.min(...times)).toBeLessThan(1_000);
  expect(Math.max(...times)).toBeLessThan(10_000);
}

beforeEach(recovery);

describe('while Redis', () => {
  test.each<[string, () => Promise<unknown>, () => Promise<unknown>]>([
    ['dead', () => server.kill(), () => server.restart()],
    ['silent', async () => server.pause(), () => keepAsking().then(() => server.resume())],
  ])(
    'is %s, all is 503 within a second and the process and its streams live; when it is back, so is the API',
    async (name, stop, start) => {
      const chatId = `during-${name}`;
      const member = `jack-${name}`;
      const send = (...row: Row): Promise<Answer> => patient.send(sentOf(row));
      const post = (body: number): Promise<Answer> =>
        send(
          `POST /v1/chats/${chatId}/messages`,
          { sender: 'frank', body },
          { 'idempotency-key': `m-${body}` },
        );
      const book = `/v1/address-books/${name}`;
      const mentions = async (): Promise<string[] | undefined> =>
        (await send(`GET ${book}/mentions?by=mary&prefix=jo`)).json.items?.map(
          (item: { name: string }) => item.name,
        );

      expect((await send('POST /v1/chats', { sender: 'frank', members: [member], chatId })).status).toBe(201);
      await post(1);
      await send('PUT /v1/contacts/mary/mia%7CJoana');
      const names = [{ name: 'mary' }, { name: 'john', display: 'John Smith' }];
      await send(`POST ${book}/name-batches?by=mary`, { names });
      expect(await mentions()).toEqual(['mia', 'john']);
      // Any request may get a 503 on a busy machine.
      const reader = await until('a stream', async () => {
        const stream = await EventReader.open(api.url, `/v1/members/${member}/events`);
        return stream.response.statusCode === 200 && stream;
      });
      const socket = await SocketClient.subscribe(api.url, member);
      await reader.count(1);
      await socket.count(1);

      await stop();
      expect(await answers()).toEqual([...ROUND, ...ROUND, ...ROUND]);
      const refused = await socket.ask({ post: { chatId: 'garage', body: 'x', id: 'x' } });
      expect(refused.error).toMatchObject({ status: 503, type: UNAVAILABLE });
      const other = await SocketClient.open(api.url);
      expect((await other.ask({ subscribe: member })).error.status).toBe(503);
      await start();

      await recovery();
      await until('the second message', async () => (await post(2)).status < 300);
      expect((await other.ask({ subscribe: member })).error ?? 'subscribed').toBe('subscribed');
      for (const stream of [reader, socket, other]) {
        await stream.count(2);
        expect(stream.messages).toEqual([`${chatId}/1`, `${chatId}/2`]);
      }
      expect([reader.isEnded, socket.closed]).toEqual([false, undefined]);
      await until('mentions', mentions);
      expect(await mentions()).toEqual(['mia', 'john']);
      reader.close();
      for (const client of [socket, other]) client.socket.terminate();
    },
    200_000,
  );

  test('has lost its scripts, requests go on', async () => {
    await server.command('SCRIPT', 'FLUSH');
    expect((await patient.send({ path: '/v1/market/players/frank' })).status).toBe(200);
  });

  test('is full, changes are 503 and reads go on', async () => {
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    expect((await patient.send({ path: '/v1/market/players/frank' })).status).toBe(200);
    const put = await patient.send({
      method: 'PUT',
      path: '/v1/market/players/ann',
      body: { name: 'A', email: 'a@example.com' },
    });
    expect([put.status, put.json.type]).toEqual([503, UNAVAILABLE]);
    await server.command('CONFIG', 'SET', 'maxmemory', '0');
  });
});

test('a stall of Redis leaves no lock and no permits with those who were refused', async () => {
  const wishes = [0, 1].flatMap((waitMs) => [
    { path: `/v1/locks/stalled-${waitMs}`, body: { leaseMs: 86_400_000, waitMs } },
    { path: `/v1/semaphores/stalled-${waitMs}`, body: { permits: 2, take: 2, leaseMs: 86_400_000, waitMs } },
  ]);
  const [first] = wishes;
  const act = (path: string, body: object, by = patient): Promise<Answer> =>
    by.send({ method: 'POST', path, body });
  const look = async (path: string): Promise<Answer['json']> => (await patient.send({ path })).json;
  // The scripts are known to the server from here on, so it executes the commands of the stall afterwards.
  for (const { path, body } of wishes) {
    const { json } = await act(`${path}/acquire`, { ...body, waitMs: body.waitMs * 5_000 });
    expect((await act(`${path}/release`, { holder: json.holder })).status).toBe(200);
  }
  const { fencingToken } = await look(first!.path);

  // It stands still until all are refused, and then runs its commands.
  server.pause();
  const refused = await Promise.all(wishes.map(({ path, body }) => act(`${path}/acquire`, body, api)));
  server.resume();
  expect(refused.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
  for (const { path } of wishes) {
    await until(`${path} to be free`, async () => {
      const { holder = null, used = 0, queueLength } = await look(path);
      return holder === null && used === 0 && queueLength === 0;
    });
  }
  // Not because Redis never got them.
  expect((await look(first!.path)).fencingToken).toBeGreaterThan(fencingToken);
});

test('a sale is made once though its reply was lost, and its mail comes from the outbox', async () => {
  const proxy = await startProxy(server);
  opened.push(proxy);
  const far = await startApi({ ...ENV, REDIS_URL: proxy.url, ...DEFAULT_TIMEOUTS });
  const sent = {
    method: 'POST',
    path: '/v1/market/listings/offer/purchases',
    headers: { 'idempotency-key': 'cart' },
    body: { buyerId: 'bill', expectedPrice: 97 },
  };
  // The script is known to the server from here on, so that the one message that arrives is the purchase.
  const other = { ...sent, path: '/v1/market/listings/none/purchases' };
  await until('a refusal', async () => (await far.send(other)).status === 404);
  proxy.dropReplies();
  expect((await far.send(sent)).status).toBe(503);
  expect((await patient.send({ path: '/v1/market/players/bill' })).json.funds).toBe(28);
  await proxy.restore();
  const repeated = await until('an answer', async () => {
    const answer = await far.send(sent);
    return answer.status !== 503 && answer;
  });
  expect(repeated.status).toBe(200);
  await until(
    'the mail',
    async () => (await far.send({ path: `/v1/tasks/${repeated.json.taskId}` })).status === 200,
  );
  expect((await patient.send({ path: '/v1/market/players/bill' })).json.funds).toBe(28);
  expect((await patient.send({ path: '/v1/queues/mail' })).json.counts.ready).toBe(1);
});

test('the API starts without Redis, says so, and serves when Redis comes', async () => {
  await server.kill();
  const early = await startApi(ENV, { isReady: false });
  expect((await early.send({ path: '/health/live' })).status).toBe(200);
  expect((await early.send({ path: '/health/ready' })).status).toBe(503);
  await server.restart();
  await until('readiness', async () => (await early.send({ path: '/health/ready' })).status === 200);
  expect((await early.send({ path: '/v1/market/players/frank' })).status).toBe(200);
});

test('a connection to a master that became a replica is left for the new master', async () => {
  const [demoted, master] = await Promise.all([startSingle(), startSingle()]);
  opened.push(demoted, master);
  const proxy = await startProxy(demoted);
  opened.push(proxy);
  const far = await startApi({ REDIS_URL: proxy.url });
  const put = {
    method: 'PUT',
    path: '/v1/market/players/ann',
    body: { name: 'A', email: 'a@example.com' },
  } as const;
  expect((await far.send(put)).status).toBe(201);
  await demoted.command('REPLICAOF', master.host, String(master.port));
  proxy.aim(master);
  expect((await far.send(put)).status).toBe(503);
  await until('the API to find the master', async () => (await far.send(put)).status === 201);
});

test('a transfer goes on when Redis is back; what begins meanwhile is refused', async () => {
  const logs = new RemoteChannel(patient, 'transfers');
  await until('a receiver', async () => (await logs.join('ann')).status === 201);
  const body = numbered(4 * MIB);
  const uploading = logs.begin('a.log', { 'content-digest': digestOf(body) });
  await uploading.write(body.subarray(0, 2 * MIB));
  await logs.bytes(1, MIB);
  const download = await logs.open(1, 'ann');
  await download.reached(MIB);

  await server.kill();
  const { status, json } = await new RemoteChannel(api, 'transfers').upload('x');
  expect([status, json.type]).toEqual([503, UNAVAILABLE]);
  await server.restart();
  await uploading.write(body.subarray(2 * MIB));
  expect((await uploading.end()).json).toMatchObject({ bytes: 4 * MIB });
  await download.ended();
  expect([download.end, download.content.equals(body)]).toEqual(['whole', true]);
});

test('an upload whose Redis stays away is refused, and given up when Redis is back', async () => {
  const hasty = await startApi({
    ...ENV,
    ...DEFAULT_TIMEOUTS,
    STREAM_TIMEOUT_MS: '60000',
    FILE_TIMEOUT_MS: '2000',
  });
  const logs = new RemoteChannel(patient, 'away');
  await logs.join('ann');
  const uploading = new RemoteChannel(hasty, 'away').begin();
  await uploading.write(numbered(2 * MIB));
  await logs.bytes(1, MIB);
  server.pause();
  await uploading.write(numbered(6 * MIB));
  expect(await uploading.answer).toMatchObject({ status: 503, json: { type: UNAVAILABLE } });
  server.resume();
  uploading.cut();
  expect((await logs.look(1)).json).toMatchObject({ state: 'open' });
});

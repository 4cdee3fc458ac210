/** Redis dead, silent and back again: fast refusals, and recovery without a restart of the API. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { RedisServer } from '@mortise/redis-server';
import { startProxy, startSingle } from '@mortise/redis-server';

import type { Answer, Api, Sent } from './fixture/api.js';
import { DEFAULT_TIMEOUTS, openShop, startApi } from './fixture/api.js';
import { until } from './fixture/redis.js';

let server: RedisServer;
/** With the deadlines that are proved here. */
let api: Api;
/** For what must be done however busy the machine is. */
let patient: Api;
const opened: { stop(): Promise<unknown> }[] = [];

beforeAll(async () => {
  server = await startSingle({ isCluster: true, appendFsync: 'always' });
  patient = await startApi({ REDIS_URL: server.url });
  api = await startApi({ REDIS_URL: server.url, ...DEFAULT_TIMEOUTS });
  await openShop(patient);
});
afterAll(async () => {
  for (const one of opened.toReversed()) await one.stop();
  await Promise.all([api.app.close(), patient.app.close()]);
  await server.stop();
});

const HOLDER = 'q0-3zLcXb9dTt2Vw.1k.1000';
const REQUESTS: Sent[] = [
  { path: '/v1/market/players/frank' },
  { path: '/v1/market/listings' },
  { path: '/v1/tasks/x' },
  { path: '/v1/queues/mail' },
  { path: '/health/ready' },
  { method: 'PUT', path: '/v1/market/players/ann', body: { name: 'Ann', email: 'ann@example.com' } },
  { method: 'POST', path: '/v1/market/listings', body: { sellerId: 'frank', itemId: 'shield', price: 1 } },
  {
    method: 'POST',
    path: '/v1/market/listings/offer/purchases',
    body: { buyerId: 'poor', expectedPrice: 97 },
  },
  {
    method: 'POST',
    path: '/v1/market/listings/offer/purchases',
    body: { buyerId: 'poor', expectedPrice: 97, strategy: 'lock' },
  },
  { path: '/v1/locks' },
  { path: '/v1/locks/x' },
  { method: 'POST', path: '/v1/locks/x/force-release' },
  { method: 'POST', path: '/v1/locks/x/acquire', body: {} },
  { method: 'POST', path: '/v1/locks/x/acquire', body: { waitMs: 20_000 } },
  { method: 'POST', path: '/v1/locks/x/acquire', body: { waitMs: 1 } },
  { method: 'POST', path: '/v1/locks/x/renew', body: { holder: HOLDER } },
  { method: 'POST', path: '/v1/locks/x/release', body: { holder: HOLDER } },
  { path: '/v1/semaphores' },
  { path: '/v1/semaphores/x' },
  { method: 'PUT', path: '/v1/semaphores/x', body: { permits: 2 } },
  { method: 'POST', path: '/v1/semaphores/x/acquire', body: { permits: 2 } },
  { method: 'POST', path: '/v1/semaphores/x/acquire', body: { permits: 2, waitMs: 20_000 } },
  { method: 'POST', path: '/v1/semaphores/x/renew', body: { holder: HOLDER } },
  { method: 'POST', path: '/v1/semaphores/x/release', body: { holder: HOLDER } },
  { path: '/v1/queues' },
  { path: '/v1/queues/x' },
  { method: 'PUT', path: '/v1/queues/x', body: { isPaused: true } },
  { method: 'POST', path: '/v1/queues/mail/pause' },
  { method: 'POST', path: '/v1/queues/mail/drain', body: {} },
  { path: '/v1/queues/mail/tasks?state=ready' },
  { path: '/v1/queues/mail/tasks/x' },
  { method: 'POST', path: '/v1/queues/x/tasks', body: { name: 't', payload: 1 } },
  { method: 'POST', path: '/v1/queues/x/task-batches', body: { tasks: [{ name: 't', payload: 1 }] } },
  { method: 'POST', path: '/v1/queues/mail/tasks/x/cancel', body: {} },
  { method: 'POST', path: '/v1/queues/x/claims', body: {} },
  { method: 'POST', path: '/v1/queues/mail/claims', body: { waitMs: 20_000 } },
  { method: 'POST', path: '/v1/queues/mail/tasks/x/complete', body: { lease: '0-1' } },
  { method: 'POST', path: '/v1/queues/mail/tasks/x/fail', body: { lease: '0-1', error: 'x' } },
  { method: 'POST', path: '/v1/queues/mail/tasks/x/log', body: { lease: '0-1', text: 'x' } },
];

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

/** The answers to each request, asked three times, and whether the fastest came within a second: others may use the machine. */
async function answers(): Promise<object[]> {
  const rounds = [await ask(), await ask(), await ask()];
  return rounds.flatMap((round) =>
    round.map(({ answer: { status, headers, json } }, index) => ({
      status,
      type: json.type,
      retryAfter: headers['retry-after'],
      isInTime: Math.min(...rounds.map((all) => all[index]!.ms)) < 1_000,
    })),
  );
}

const ROUND = [
  ...REQUESTS.map(() => ({
    status: 503,
    type: 'https://mortise.dev/problems/redis-unavailable',
    retryAfter: '1',
    isInTime: true,
  })),
  { status: 200, type: undefined, retryAfter: undefined, isInTime: true },
];
const UNAVAILABLE = [...ROUND, ...ROUND, ...ROUND];

async function recovery(): Promise<void> {
  for (const each of [api, patient]) {
    const { json } = await until('recovery', async () => {
      const answer = await each.send({ path: '/v1/market/players/frank' });
      return answer.status === 200 && answer;
    });
    expect(json).toMatchObject({ name: 'Frank' });
  }
}

beforeEach(recovery);

describe('while Redis', () => {
  test('is dead, everything is 503 within a second and the process lives; when it is back, so is the API', async () => {
    await server.kill();
    expect(await answers()).toEqual(UNAVAILABLE);
    await server.restart();
    await recovery();
  });

  test('is silent, the same', async () => {
    server.pause();
    expect(await answers()).toEqual(UNAVAILABLE);
    // The connection that was silent for long is given up, which must not make things worse.
    const times: number[] = [];
    const endsAt = performance.now() + 2_500;
    while (performance.now() < endsAt) {
      const { answer, ms } = await timed({ path: '/v1/market/players/frank' });
      expect(answer.status).toBe(503);
      times.push(ms);
    }
    expect(Math.min(...times)).toBeLessThan(1_000);
    expect(Math.max(...times)).toBeLessThan(10_000);
    server.resume();
    await recovery();
  });

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
    expect([put.status, put.json.type]).toEqual([503, 'https://mortise.dev/problems/redis-unavailable']);
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
  opened.push({ stop: () => proxy.stop() });
  const far = await startApi({ REDIS_URL: proxy.url, ...DEFAULT_TIMEOUTS });
  opened.push({ stop: () => far.app.close() });
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
  const early = await startApi({ REDIS_URL: server.url }, { isReady: false });
  opened.push({ stop: () => early.app.close() });
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
  opened.push({ stop: () => proxy.stop() });
  const far = await startApi({ REDIS_URL: proxy.url });
  opened.push({ stop: () => far.app.close() });
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

/** The tasks of listings and players that the API enqueues. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';

import { Market } from '../src/market/index.js';
import type { Answer, Api } from './fixture/api.js';
import { openShop, startApi } from './fixture/api.js';
import { until } from './fixture/redis.js';

const redis = connect();
const prefix = freshPrefix();
const queue = new Queue(redis, 'market', { prefix });
let api: Api;

beforeAll(async () => {
  api = await startApi({ MORTISE_PREFIX: prefix });
  await openShop(api);
  for (const item of ['shield', 'ring', 'bow'])
    await api.send({ method: 'PUT', path: `/v1/market/players/frank/items/${item}` });
});
afterAll(() => api.app.close());

const offer = (body: object, key?: string): Promise<Answer> =>
  api.send({
    method: 'POST',
    path: '/v1/market/listings',
    headers: key === undefined ? {} : { 'idempotency-key': key },
    body: { sellerId: 'frank', price: 5, ...body },
  });

test('a listing with instants has a task for each, once', async () => {
  const opensAt = Date.now() + 3_600_000;
  const body = { itemId: 'shield', opensAt, expiresInMs: 7_200_000 };
  const { status, json } = await offer(body, 'later');
  expect([status, json]).toMatchObject([201, { id: 'later', opensAt, expiresAt: opensAt + 7_200_000 }]);
  expect((await offer(body, 'later')).status).toBe(200);
  const { tasks } = await queue.list('scheduled');
  const payload = { listingId: 'later', listedAt: json.listedAt };
  expect(tasks.map(({ name, payload: given, runAt }) => [name, given, runAt])).toEqual([
    ['market.open', payload, opensAt],
    ['market.expire', payload, opensAt + 7_200_000],
  ]);
  expect(
    (await api.send({ path: '/v1/market/listings' })).json.items.map(({ id }: { id: string }) => id),
  ).toEqual(['offer']);
  const purchase = { method: 'POST', path: '/v1/market/listings/later/purchases' };
  const refused = await api.send({ ...purchase, body: { buyerId: 'bill', expectedPrice: 5 } });
  expect([refused.status, refused.json.type, refused.json.opensAt]).toEqual([
    409,
    'https://mortise.dev/problems/not-open',
    opensAt,
  ]);
});

test('another process enqueues the tasks of a process that died before it enqueued them', async () => {
  const market = new Market(redis, { prefix });
  await market.list({ id: 'orphan', sellerId: 'frank', itemId: 'ring', price: 5, expiresInMs: 3_600_000 });
  const next = await startApi({ MORTISE_PREFIX: prefix });
  const task = await until('the task', async () =>
    (await queue.list('scheduled')).tasks.find(
      ({ payload }) => (payload as { listingId: string }).listingId === 'orphan',
    ),
  );
  expect(task.name).toBe('market.expire');
  await until('the timer to be done', async () => (await market.timed.timers()).length === 0);
  await next.app.close();
});

test.each([
  { opensAt: 0 },
  { opensAt: -1 },
  { opensAt: 1.5 },
  { opensAt: '5' },
  { opensAt: 9e12 },
  { expiresInMs: 999 },
  { expiresInMs: null },
  { expiresInMs: 31_536_000_001 },
  { closesAt: 1 },
])('%j is refused', async (terms) => {
  const { status, json } = await offer({ itemId: 'bow', ...terms });
  expect([status, json.type]).toEqual([400, 'https://mortise.dev/problems/invalid-body']);
});

test('a password reset is a mail that goes before all others, three times an hour', async () => {
  const ask = (playerId: string, key?: string): Promise<Answer> =>
    api.send({
      method: 'POST',
      path: '/v1/market/password-resets',
      headers: key === undefined ? {} : { 'idempotency-key': key },
      body: { playerId },
    });
  const first = await ask('frank', 'r1');
  expect(first.status).toBe(202);
  expect((await ask('frank', 'r1')).json).toEqual(first.json);
  // The repeated request counts once.
  for (let count = 2; count <= 3; count += 1) expect((await ask('frank')).status).toBe(202);
  const refused = await ask('frank');
  expect([refused.status, refused.json.type]).toEqual([429, 'https://mortise.dev/problems/rate-limited']);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(600);
  expect((await ask('bill')).status).toBe(202);
  expect((await ask('nobody')).json.type).toBe('https://mortise.dev/problems/unknown-player');
  const task = await api.send({ path: `/v1/tasks/${encodeURIComponent(first.json.taskId)}` });
  expect(task.json).toMatchObject({
    name: 'mail.password-reset',
    priority: 'high',
    expiresAt: expect.any(Number),
  });
  const mails = new Queue(redis, 'mail', { prefix });
  // Three of frank, one of bill.
  expect((await mails.counts()).ready).toBe(4);
});

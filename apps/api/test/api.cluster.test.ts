/** The API on Redis Cluster and behind Sentinels: a sale, the loss of the master, another sale. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { RedisCluster, RedisSentinel } from '@mortise/redis-server';
import { startCluster, startSentinel } from '@mortise/redis-server';

import type { Answer, Api } from './fixture/api.js';
import { DEFAULT_TIMEOUTS, openShop, startApi } from './fixture/api.js';
import { until } from './fixture/redis.js';

let cluster: RedisCluster;
let sentinel: RedisSentinel;
const open: Api[] = [];

beforeAll(async () => {
  [cluster, sentinel] = await Promise.all([
    startCluster({ nodeTimeoutMs: 3_000 }),
    startSentinel({ replicas: 1, downAfterMs: 500 }),
  ]);
}, 60_000);
afterEach(async () => {
  await Promise.all(open.splice(0).map(({ app }) => app.close()));
});
afterAll(() => Promise.all([cluster.stop(), sentinel.stop()]));

async function start(env: Record<string, string>): Promise<Api> {
  const api = await startApi(env);
  open.push(api);
  return api;
}

async function sell(api: Api): Promise<Answer> {
  const order = { buyerId: 'bill', expectedPrice: 97 };
  return await api.send({ method: 'POST', path: '/v1/market/listings/offer/purchases', body: order });
}

async function expectMails(api: Api, ready: number): Promise<void> {
  await until(
    'the mails',
    async () => (await api.send({ path: '/v1/queues/mail' })).json.counts?.ready === ready,
  );
}

/** Bill offers what he has bought, and Frank buys it back under the lock of the listing. */
async function resell(api: Api): Promise<Answer> {
  const headers = { 'idempotency-key': 'resale' };
  const body = { sellerId: 'bill', itemId: 'sword', price: 7 };
  await api.send({ method: 'POST', path: '/v1/market/listings', headers, body });
  const order = { buyerId: 'frank', expectedPrice: 7, strategy: 'lock' };
  return await api.send({ method: 'POST', path: '/v1/market/listings/resale/purchases', body: order });
}

async function expectLocksOfAllMasters(api: Api): Promise<void> {
  const names = Array.from({ length: 12 }, (_, n) => `lock-${n}`);
  const body = { leaseMs: 60_000 };
  await Promise.all(
    names.map((name) => api.send({ method: 'POST', path: `/v1/locks/${name}/acquire`, body })),
  );
  const found: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { json } = await api.send({ path: `/v1/locks?limit=2${cursor && `&cursor=${cursor}`}` });
    found.push(...json.items.map(({ name }: { name: string }) => name));
    cursor = json.nextCursor;
  }
  expect(found.toSorted()).toEqual(names.toSorted());
  for (const name of names) {
    const { json } = await api.send({ path: `/v1/locks/${name}` });
    const release = { method: 'POST', path: `/v1/locks/${name}/release`, body: { holder: json.holder } };
    expect((await api.send(release)).status).toBe(200);
  }
}

/** A queue in slots of several masters, whose tasks are waited for, claimed and completed over HTTP. */
async function expectClaims(api: Api): Promise<void> {
  const post = (path: string, body: object): Promise<Answer> =>
    api.send({ method: 'POST', path: `/v1/queues/spread${path}`, body });
  await api.send({ method: 'PUT', path: '/v1/queues/spread', body: { shards: 6 } });
  const early = post('/claims', { waitMs: 30_000, leaseMs: 60_000 });
  const tasks = Array.from({ length: 30 }, (_, n) => ({ name: 't', payload: n, id: `t${n}` }));
  await post('/task-batches', { tasks });
  const claimed = [...(await early).json.items];
  const look = async (): Promise<{ counts: { ready: number; succeeded: number } }> =>
    (await api.send({ path: '/v1/queues/spread' })).json;
  await until('all to be claimed', async () => {
    claimed.push(...(await post('/claims', { limit: 100, leaseMs: 60_000 })).json.items);
    return claimed.length >= 30;
  });
  for (const { id, lease } of claimed)
    expect((await post(`/tasks/${id}/complete`, { lease })).status).toBe(204);
  expect((await look()).counts).toMatchObject({ ready: 0, succeeded: 30 });
}

/** The API answers 503 at worst, each time by its deadline, until it works again. */
async function expectRecovery(api: Api): Promise<void> {
  await until(
    'the API to recover',
    async () => {
      const startedAt = performance.now();
      const put = { name: 'Frank', email: 'frank@example.com' };
      const { status } = await api.send({ method: 'PUT', path: '/v1/market/players/frank', body: put });
      expect([200, 503]).toContain(status);
      // But for what a busy machine adds.
      expect(performance.now() - startedAt).toBeLessThan(20_000);
      return status === 200;
    },
    40_000,
  );
}

describe('the API', () => {
  test('on a Cluster sells, survives the death of a master, and sells again', async () => {
    const nodes = cluster.startupNodes.map(({ host, port }) => `${host}:${port}`).join(',');
    const env = { REDIS_URL: '', REDIS_CLUSTER_NODES: nodes };
    const api = await start(env);
    await openShop(api);
    expect((await sell(api)).status).toBe(201);
    await expectMails(api, 1);

    const byLock = await resell(api);
    expect([byLock.status, byLock.json.itemId]).toEqual([201, 'sword']);
    await expectMails(api, 2);
    await expectLocksOfAllMasters(api);
    await expectClaims(api);

    const impatient = await start({ ...env, ...DEFAULT_TIMEOUTS });
    const owner = await cluster.ownerOf('mortise:market:{main}:players');
    // Writes that the replica does not have yet are lost with the master, and the players with them.
    await cluster.replicated();
    await owner.kill();
    await Promise.all([impatient, api].map(expectRecovery));
    expect((await api.send({ path: '/v1/market/players/frank' })).json.funds).toBe(133);
    await api.send({ method: 'PUT', path: '/v1/market/players/bill/items/lamp' });
    const lamp = { sellerId: 'bill', itemId: 'lamp', price: 1 };
    const offered = await api.send({ method: 'POST', path: '/v1/market/listings', body: lamp });
    const path = `/v1/market/listings/${offered.json.id}/purchases`;
    const order = { buyerId: 'frank', expectedPrice: 1 };
    expect((await api.send({ method: 'POST', path, body: order })).status).toBe(201);
    await expectMails(api, 3);
  }, 120_000);

  test('behind Sentinels sells, survives the death of the master, and goes on', async () => {
    const sentinels = sentinel.sentinels.map(({ host, port }) => `${host}:${port}`).join(',');
    const env = { REDIS_URL: '', REDIS_SENTINELS: sentinels, REDIS_SENTINEL_NAME: sentinel.name };
    const api = await start(env);
    await openShop(api);
    expect((await sell(api)).status).toBe(201);
    await expectMails(api, 1);

    const impatient = await start({ ...env, ...DEFAULT_TIMEOUTS });
    await sentinel.replicated();
    await (await sentinel.master()).kill();
    await Promise.all([impatient, api].map(expectRecovery));
    expect((await api.send({ path: '/v1/market/players/bill' })).json.funds).toBe(28);
  }, 120_000);
});

/** The routes as a client sees them, over a listening server. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freshPrefix } from '@mortise/test-kit';

import type { Answer, Api } from './fixture/api.js';
import { openShop, startApi } from './fixture/api.js';
import { until } from './fixture/redis.js';

let api: Api;

beforeAll(async () => {
  api = await startApi({ MORTISE_PREFIX: freshPrefix() });
  await openShop(api);
});
afterAll(() => api.app.close());

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const json = { 'content-type': 'application/json', ...headers };
  return fetch(api.url + path, { method: 'POST', headers: json, body: JSON.stringify(body) });
}

async function read(path: string): Promise<unknown> {
  return (await fetch(api.url + path)).json();
}

function put(path: string, body?: object): Promise<Answer> {
  return api.send({ method: 'PUT', path, ...(body && { body }) });
}

describe('a sale', () => {
  let receipt: { id: string; taskId: string };

  test('is made by one request, which names the task of the mail', async () => {
    const response = await post(
      '/v1/market/listings/offer/purchases',
      { buyerId: 'bill', expectedPrice: 97 },
      {
        'idempotency-key': '"cart-1"',
      },
    );
    expect(response.status).toBe(201);
    receipt = (await response.json()) as typeof receipt;
    expect(receipt).toEqual({
      id: receipt.taskId,
      taskId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      listingId: 'offer',
      itemId: 'sword',
      sellerId: 'frank',
      buyerId: 'bill',
      price: 97,
      soldAt: expect.any(Number),
    });
    expect(response.headers.get('location')).toBe(`/v1/market/sales/${receipt.id}`);
  });

  test('is read again under its location', async () => {
    const response = await fetch(`${api.url}/v1/market/sales/${receipt.id}`);
    expect([response.status, await response.json()]).toEqual([200, receipt]);
  });

  test('repeated under the same Idempotency-Key, quoted or not, is the same sale', async () => {
    const order = { buyerId: 'bill', expectedPrice: 97 };
    const response = await post('/v1/market/listings/offer/purchases', order, {
      'idempotency-key': 'cart-1',
    });
    expect([response.status, await response.json()]).toEqual([200, receipt]);
    const other = await post(
      '/v1/market/listings/offer/purchases',
      { ...order, expectedPrice: 96 },
      { 'idempotency-key': 'cart-1' },
    );
    expect([other.status, await other.json()]).toMatchObject([
      422,
      { type: 'https://mortise.dev/problems/request-reused' },
    ]);
  });

  test('moved coins and item', async () => {
    expect(await read('/v1/market/players/frank')).toMatchObject({ funds: 140 });
    expect(await read('/v1/market/players/bill')).toEqual({
      id: 'bill',
      name: 'Bill',
      email: 'bill@example.com',
      funds: 28,
    });
    const items = { items: [{ id: 'sword', ownerId: 'bill' }], nextCursor: null };
    expect(await read('/v1/market/players/bill/items')).toEqual(items);
    expect(await read('/v1/market/listings')).toEqual({ items: [], nextCursor: null });
  });

  test('has its mail in the queue, at priority medium', async () => {
    const task = await (await fetch(`${api.url}/v1/tasks/${receipt.taskId}`)).json();
    expect(task).toEqual({
      id: receipt.taskId,
      queue: 'mail',
      name: 'mail.sold',
      state: 'ready',
      priority: 'medium',
      headers: {},
      attempt: 0,
      attempts: 20,
      enqueuedAt: expect.any(Number),
    });
    const others = { scheduled: 0, active: 0, retrying: 0, succeeded: 0, dead: 0, cancelled: 0, waiting: 0 };
    const queue = await (await fetch(`${api.url}/v1/queues/mail`)).json();
    expect(queue).toMatchObject({ name: 'mail', counts: { ready: 1, ...others } });
  });
});

describe('a sale by lock', () => {
  const order = { buyerId: 'frank', expectedPrice: 5, strategy: 'lock' };
  const path = '/v1/market/listings/by-lock/purchases';

  test('waits for the listing, and is a sale as any other', async () => {
    const offer = { sellerId: 'bill', itemId: 'sword', price: 5 };
    await post('/v1/market/listings', offer, { 'idempotency-key': 'by-lock' });
    const lock = '/v1/locks/market:listing:by-lock';
    const held = await post(`${lock}/acquire`, { leaseMs: 60_000 });
    const { holder } = (await held.json()) as { holder: string };
    const refused = await post(path, order);
    expect([refused.status, await refused.json()]).toMatchObject([
      409,
      { type: 'https://mortise.dev/problems/lock-timeout', lockName: 'market:listing:by-lock', waitMs: 800 },
    ]);

    const waiting = post(path, order, { 'idempotency-key': 'cart-2' });
    await until('the queue', async () => (await api.send({ path: lock })).json.queueLength === 1);
    await post(`${lock}/release`, { holder });
    const sold = await waiting;
    const receipt = (await sold.json()) as { taskId: string };
    expect([sold.status, receipt]).toMatchObject([201, { itemId: 'sword', buyerId: 'frank', price: 5 }]);
    expect((await api.send({ path: `/v1/tasks/${receipt.taskId}` })).json.state).toBe('ready');
    const { strategy: _, ...withoutLock } = order;
    const repeated = await post(path, withoutLock, { 'idempotency-key': 'cart-2' });
    expect([repeated.status, await repeated.json()]).toEqual([200, receipt]);
  });
});

describe('listings', () => {
  test('are made, paged through and withdrawn', async () => {
    for (const n of [1, 2, 3]) {
      await api.send({ method: 'PUT', path: `/v1/market/players/frank/items/gem-${n}` });
      const offer = { sellerId: 'frank', itemId: `gem-${n}`, price: 10 - n };
      const response = await post('/v1/market/listings', offer, { 'idempotency-key': `gem-${n}` });
      expect(response.status).toBe(201);
      expect(response.headers.get('location')).toBe(`/v1/market/listings/gem-${n}`);
      expect(await response.json()).toEqual({ id: `gem-${n}`, ...offer, listedAt: expect.any(Number) });
      expect((await post('/v1/market/listings', offer, { 'idempotency-key': `gem-${n}` })).status).toBe(200);
    }
    const first = (await api.send({ path: '/v1/market/listings?sort=price&limit=2' })).json;
    expect(first.items.map(({ id }: { id: string }) => id)).toEqual(['gem-3', 'gem-2']);
    const second = (
      await api.send({ path: `/v1/market/listings?sort=price&limit=2&cursor=${first.nextCursor}` })
    ).json;
    expect(second).toMatchObject({ items: [{ id: 'gem-1' }], nextCursor: null });

    const path = '/v1/market/listings/gem-1';
    expect((await api.send({ path })).json).toMatchObject({ id: 'gem-1', price: 9 });
    const foreign = await api.send({ method: 'DELETE', path: `${path}?sellerId=bill` });
    expect([foreign.status, foreign.json.type]).toEqual([403, 'https://mortise.dev/problems/not-seller']);
    expect(await api.send({ method: 'DELETE', path: `${path}?sellerId=frank` })).toMatchObject({
      status: 204,
      text: '',
    });
    expect((await api.send({ path })).status).toBe(404);
  });
});

describe('players', () => {
  test('are created with funds, and changed without', async () => {
    const ann = { name: 'Ann ☃ 😀', email: 'ann@example.com', funds: 5 };
    expect(await put('/v1/market/players/ann', ann)).toMatchObject({
      status: 201,
      json: { id: 'ann', ...ann },
    });
    const changed = { name: 'Anna', email: 'anna@example.com' };
    expect(await put('/v1/market/players/ann', { ...changed, funds: 99 })).toMatchObject({
      status: 200,
      json: { id: 'ann', ...changed, funds: 5 },
    });
  });

  test('get an item by a request of type JSON that has no body', async () => {
    const headers = { 'content-type': 'application/json' };
    const sent = { method: 'PUT', path: '/v1/market/players/bill/items/rope', headers };
    expect(await api.send(sent)).toMatchObject({ status: 201, json: { id: 'rope', ownerId: 'bill' } });
  });

  test('get an item once', async () => {
    expect(await put('/v1/market/players/bill/items/lamp')).toMatchObject({
      status: 201,
      json: { id: 'lamp', ownerId: 'bill' },
    });
    expect(await put('/v1/market/players/bill/items/lamp')).toMatchObject({
      status: 200,
      json: { id: 'lamp', ownerId: 'bill' },
    });
  });
});

describe('every answer', () => {
  test('has a request id, the given one if it is harmless', async () => {
    const ids = ['abc-123', 'a b', 'x'.repeat(65), '<script>'];
    const given = await Promise.all(
      ids.map((id) => api.send({ path: '/nowhere', headers: { 'x-request-id': id } })),
    );
    expect(given[0]!.json.instance).toBe('abc-123');
    for (const { headers, json } of given) {
      expect(headers['x-request-id']).toBe(json.instance);
      expect(json.instance).toMatch(/^[A-Za-z0-9-]{1,64}$/);
      expect(headers['x-content-type-options']).toBe('nosniff');
    }
  });

  test('does not name the software', async () => {
    const { headers } = await api.send({ path: '/health/live' });
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(['x-powered-by']));
    expect(headers).not.toHaveProperty('server');
  });

  test('to HEAD is that to GET without its body', async () => {
    const { status, text } = await api.send({ method: 'HEAD', path: '/health/ready' });
    expect([status, text]).toEqual([200, '']);
  });
});

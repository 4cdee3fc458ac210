/** The market over HTTP: sales and their mails, listings with their tasks, players, and the example data of `npm start`. */
import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix, until } from '@mortise/test-kit';

import { Market, MAIL_PRIORITIES, MAIL_QUEUE } from '../../src/market/index.js';
import type { MailTasks, Receipt } from '../../src/market/index.js';
import type { Answer, Api } from '../fixture/api.js';
import { openShop, startApi } from '../fixture/api.js';
import { dump, keysOf } from '../fixture/redis.js';

const redis = connect();
const api = await startApi();
await openShop(api);

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
    const order = { buyerId: 'bill', expectedPrice: 97 };
    const response = await post('/v1/market/listings/offer/purchases', order, {
      'idempotency-key': '"cart-1"',
    });
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
    const [path, key] = ['/v1/market/listings/offer/purchases', { 'idempotency-key': 'cart-1' }];
    const order = { buyerId: 'bill', expectedPrice: 97 };
    const response = await post(path, order, key);
    expect([response.status, await response.json()]).toEqual([200, receipt]);
    const other = await post(path, { ...order, expectedPrice: 96 }, key);
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

  test('has its mail in the queue, at priority medium, and nothing in the outbox', async () => {
    const task = await (await fetch(`${api.url}/v1/tasks/${receipt.taskId}`)).json();
    expect(task).toEqual({
      id: receipt.taskId,
      queue: 'mail',
      name: 'mail.sold',
      state: 'ready',
      priority: 'medium',
      headers: { 'x-request-id': expect.any(String) },
      attempt: 0,
      attempts: 20,
      enqueuedAt: expect.any(Number),
    });
    const others = { scheduled: 0, active: 0, retrying: 0, succeeded: 0, dead: 0, cancelled: 0, waiting: 0 };
    const queue = await (await fetch(`${api.url}/v1/queues/mail`)).json();
    expect(queue).toMatchObject({ name: 'mail', counts: { ready: 1, ...others } });
    expect(await keysOf(redis, api.prefix)).not.toContain(`${api.prefix}:market:{main}:outbox`);
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

function mailsOf(prefix: string): Queue<MailTasks> {
  return new Queue<MailTasks>(redis, MAIL_QUEUE, { prefix, priorities: MAIL_PRIORITIES });
}

/** The state that an API leaves when it is killed between the purchase and the enqueue. */
async function sellWithoutMail(market: Market, count: number): Promise<Receipt[]> {
  await market.putPlayer('frank', { name: 'Frank', email: 'frank@example.com' });
  await market.putPlayer('bill', { name: 'Bill', email: 'bill@example.com', funds: count });
  const receipts: Receipt[] = [];
  for (let n = 0; n < count; n += 1) {
    await market.giveItem('frank', `item-${n}`);
    await market.list({ id: `l${n}`, sellerId: 'frank', itemId: `item-${n}`, price: 1 });
    const { value } = await market.purchase({ listingId: `l${n}`, buyerId: 'bill', expectedPrice: 1 });
    receipts.push(value);
  }
  return receipts;
}

describe('the relay', () => {
  test('enqueues at boot what a killed API has left, in more than one batch, each mail once', async () => {
    const prefix = freshPrefix();
    const market = new Market(redis, { prefix });
    const receipts = await sellWithoutMail(market, 230);
    // The second of them was enqueued before the process died, but not taken out of the outbox.
    const mails = mailsOf(prefix);
    const payload = { sellerId: 'frank', itemId: 'item-1', price: 1, buyerId: 'bill' };
    await mails.enqueue('mail.sold', payload, { id: receipts[1]!.id, priority: 'medium' });

    await startApi({ MORTISE_PREFIX: prefix });
    await until('an empty outbox', async () => (await market.outbox()).length === 0);
    expect(await mails.counts()).toMatchObject({ ready: 230, succeeded: 0, dead: 0 });
    for (const [n, { id }] of receipts.entries()) {
      const task = { state: 'ready', priority: 'medium', payload: { ...payload, itemId: `item-${n}` } };
      expect(await mails.get(id)).toMatchObject(task);
    }
  });

  test('two of them store each mail once', async () => {
    const prefix = freshPrefix();
    const market = new Market(redis, { prefix });
    await sellWithoutMail(market, 50);
    await Promise.all([1, 2].map(() => startApi({ MORTISE_PREFIX: prefix })));
    await until('an empty outbox', async () => (await market.outbox()).length === 0);
    expect(await mailsOf(prefix).counts()).toMatchObject({ ready: 50 });
  });

  test('a purchase is answered when the queue refuses its mail, which follows as soon as the queue takes it', async () => {
    const blockedApi = await startApi();
    const { prefix } = blockedApi;
    await openShop(blockedApi);
    // A key of another type makes every enqueue fail.
    const blocked = `${prefix}:queues:{mail}:tasks`;
    await redis.set(blocked, 'not a hash');
    const order = { buyerId: 'bill', expectedPrice: 97 };
    const sold = await blockedApi.send({
      method: 'POST',
      path: '/v1/market/listings/offer/purchases',
      body: order,
    });
    expect(sold.status).toBe(201);
    const market = new Market(redis, { prefix });
    expect(await market.outbox()).toMatchObject([{ id: sold.json.taskId }]);
    expect((await blockedApi.send({ path: `/v1/tasks/${sold.json.taskId}` })).status).toBe(500);

    await redis.del(blocked);
    await until(
      'the mail',
      async () => (await blockedApi.send({ path: `/v1/tasks/${sold.json.taskId}` })).status === 200,
    );
    await until('an empty outbox', async () => (await market.outbox()).length === 0);
    expect((await mailsOf(prefix).counts()).ready).toBe(1);
  });
});

/** Frank has items that he doesn't sell yet. */
const timed = await startApi();
await openShop(timed);
for (const item of ['shield', 'ring', 'bow'])
  await timed.send({ method: 'PUT', path: `/v1/market/players/frank/items/${item}` });

describe('the tasks that the API enqueues', () => {
  const { prefix } = timed;
  const queue = new Queue(redis, 'market', { prefix });

  const offer = (body: object, key?: string): Promise<Answer> =>
    timed.send({
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
      (await timed.send({ path: '/v1/market/listings' })).json.items.map(({ id }: { id: string }) => id),
    ).toEqual(['offer']);
    const purchase = { method: 'POST', path: '/v1/market/listings/later/purchases' };
    const refused = await timed.send({ ...purchase, body: { buyerId: 'bill', expectedPrice: 5 } });
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
    await next.close();
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
  ])('a listing with %j is refused', async (terms) => {
    const { status, json } = await offer({ itemId: 'bow', ...terms });
    expect([status, json.type]).toEqual([400, 'https://mortise.dev/problems/invalid-body']);
  });

  test('a password reset is a mail that goes before all others, three times an hour', async () => {
    const ask = (playerId: string, key?: string): Promise<Answer> =>
      timed.send({
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
    const task = await timed.send({ path: `/v1/tasks/${encodeURIComponent(first.json.taskId)}` });
    expect(task.json).toMatchObject({
      name: 'mail.password-reset',
      priority: 'high',
      expiresAt: expect.any(Number),
    });
    const mails = new Queue(redis, 'mail', { prefix });
    // Three of frank, one of bill.
    expect((await mails.counts()).ready).toBe(4);
  });
});

interface Service {
  readonly address: string;
  readonly key: string;
}

const serviceOf = ({ url }: Api): Service => ({ address: url, key: 'any' });

interface ExampleData {
  seed(service: Service): Promise<{ readonly listingId: string; readonly guild: string }>;
  seedGuild(service: Service): Promise<void>;
}

const stocked = await startApi();
const address = new URL('../../../../tooling/start/seed.mjs', import.meta.url).href;
const data = (await import(address)) as ExampleData;

const seen = async (path: string): Promise<Answer['json']> =>
  (await stocked.send({ path: `/v1/${path}` })).json;
const complete = async (text: string, limit = 1): Promise<string[]> => {
  const query = new URLSearchParams({ by: 'frank', prefix: text, limit: String(limit) }).toString();
  const { items } = await seen(`address-books/dragons/completions?${query}`);
  return items.map(({ display }: { display: string }) => display);
};
const bookNow = async (): Promise<string> =>
  JSON.stringify(
    Object.entries(await dump(redis, stocked.prefix)).filter(([key]) =>
      key.includes(':autocomplete:{dragons}'),
    ),
  );

test('a guild has 10,000 names in many scripts, and stays as it is when it is seeded again', async () => {
  const { guild } = await data.seed(serviceOf(stocked));
  // As by a start that was cut off.
  const body = { display: 'Frank' };
  await stocked.send({ method: 'PUT', path: `/v1/address-books/${guild}/names/frank?by=frank`, body });
  await data.seedGuild(serviceOf(stocked));
  expect(guild).toBe('dragons');
  expect(await seen('address-books/dragons?by=frank')).toEqual({ guild, size: 10_000 });
  const found: [string, string][] = [
    ['smith', 'Frances Smith'],
    ['nowak lu', 'Łukasz Nowak'],
    ['ΣΟΦ', 'Σοφία Παπαδοπούλου'],
    ['иванов ив', 'Иван Иванов'],
    ['محم', 'محمد العلي'],
    ['ใจดี', 'สมชาย ใจดี'],
    ['अमि', 'अमित शर्मा'],
    ['김민', '김민준'],
    ['王', '王伟'],
    ['さくら', 'サトウ さくら'],
    ['😀', 'ナカムラ 😀 🚀'],
  ];
  for (const [text, display] of found) expect([text, (await complete(text, 10))[0]]).toEqual([text, display]);

  await stocked.send({ method: 'DELETE', path: '/v1/address-books/dragons/names/p-09997?by=frank' });
  const before = await bookNow();
  await data.seedGuild(serviceOf(stocked));
  expect((await bookNow()) === before).toBe(true);
});

test('each start offers an item that is still to be had', async () => {
  const offers = [await data.seed(serviceOf(stocked)), await data.seed(serviceOf(stocked))];
  expect(new Set(offers.map(({ listingId }) => listingId)).size).toBe(2);
  for (const { listingId } of offers) {
    expect((await stocked.send({ path: `/v1/market/listings/${listingId}` })).status).toBe(200);
  }
});

test('a guild that others have made theirs is left to them', async () => {
  await stocked.send({ method: 'DELETE', path: '/v1/address-books/dragons/names/frank?by=frank' });
  const before = await bookNow();
  await data.seedGuild(serviceOf(stocked));
  expect((await bookNow()) === before).toBe(true);
});

/** No sale without its mail: whatever happens between the purchase and the enqueue, the relay makes up for it. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';

import { Market, MAIL_PRIORITIES, MAIL_QUEUE } from '../src/market/index.js';
import type { MailTasks, Receipt } from '../src/market/index.js';
import type { Api } from './fixture/api.js';
import { openShop, startApi } from './fixture/api.js';
import { keysOf, until } from './fixture/redis.js';

const redis = connect();
const apis: Api[] = [];

async function start(prefix: string): Promise<Api> {
  const api = await startApi({ MORTISE_PREFIX: prefix });
  apis.push(api);
  return api;
}

afterEach(async () => {
  await Promise.all(apis.splice(0).map(({ app }) => app.close()));
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
  test('enqueues at boot what a killed API has left, each mail once', async () => {
    const prefix = freshPrefix();
    const market = new Market(redis, { prefix });
    const receipts = await sellWithoutMail(market, 3);
    // The second of them was enqueued before the process died, but not taken out of the outbox.
    const mails = mailsOf(prefix);
    const payload = { sellerId: 'frank', itemId: 'item-1', price: 1, buyerId: 'bill' };
    await mails.enqueue('mail.sold', payload, { id: receipts[1]!.id, priority: 'medium' });

    await start(prefix);
    await until('an empty outbox', async () => (await market.outbox()).length === 0);
    expect(await mails.counts()).toMatchObject({ ready: 3, succeeded: 0, dead: 0 });
    for (const [n, { id }] of receipts.entries()) {
      const task = { state: 'ready', priority: 'medium', payload: { ...payload, itemId: `item-${n}` } };
      expect(await mails.get(id)).toMatchObject(task);
    }
  });

  test('empties an outbox of more than one batch', async () => {
    const prefix = freshPrefix();
    const market = new Market(redis, { prefix });
    await sellWithoutMail(market, 230);
    await start(prefix);
    await until('an empty outbox', async () => (await market.outbox()).length === 0);
    expect(await mailsOf(prefix).counts()).toMatchObject({ ready: 230 });
  });

  test('two of them store each mail once', async () => {
    const prefix = freshPrefix();
    const market = new Market(redis, { prefix });
    await sellWithoutMail(market, 50);
    await Promise.all([start(prefix), start(prefix)]);
    await until('an empty outbox', async () => (await market.outbox()).length === 0);
    expect(await mailsOf(prefix).counts()).toMatchObject({ ready: 50 });
  });
});

describe('a purchase', () => {
  test('is answered when the queue refuses its mail, which follows as soon as the queue takes it', async () => {
    const prefix = freshPrefix();
    const api = await start(prefix);
    await openShop(api);
    // A key of another type makes every enqueue fail.
    const blocked = `${prefix}:queues:{mail}:tasks`;
    await redis.set(blocked, 'not a hash');
    const order = { buyerId: 'bill', expectedPrice: 97 };
    const sold = await api.send({ method: 'POST', path: '/v1/market/listings/offer/purchases', body: order });
    expect(sold.status).toBe(201);
    const market = new Market(redis, { prefix });
    expect(await market.outbox()).toMatchObject([{ id: sold.json.taskId }]);
    expect((await api.send({ path: `/v1/tasks/${sold.json.taskId}` })).status).toBe(500);

    await redis.del(blocked);
    await until(
      'the mail',
      async () => (await api.send({ path: `/v1/tasks/${sold.json.taskId}` })).status === 200,
    );
    await until('an empty outbox', async () => (await market.outbox()).length === 0);
    expect((await mailsOf(prefix).counts()).ready).toBe(1);
  });

  test('leaves nothing in the outbox when all goes well', async () => {
    const prefix = freshPrefix();
    const api = await start(prefix);
    await openShop(api);
    const order = { buyerId: 'bill', expectedPrice: 97 };
    await api.send({ method: 'POST', path: '/v1/market/listings/offer/purchases', body: order });
    expect(await keysOf(redis, prefix)).not.toContain(`${prefix}:market:{main}:outbox`);
    expect((await mailsOf(prefix).counts()).ready).toBe(1);
  });
});

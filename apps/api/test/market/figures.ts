/** The market in numbers. */
import { expect, test } from '@jest/globals';

import { rateOf } from '../../src/market/figures.js';
import type { Answer } from '../fixture/api.js';
import { openShop, startApi } from '../fixture/api.js';

const api = await startApi();
await openShop(api);

const figures = async () => (await api.send({ path: '/v1/market/figures' })).json;

function buy(body: object, key: string): Promise<Answer> {
  const path = '/v1/market/listings/offer/purchases';
  return api.send({ method: 'POST', path, body, headers: { 'idempotency-key': key } });
}

test('sales, conflicts and mails are counted', async () => {
  expect(await figures()).toEqual({
    listings: 1,
    sales: 0,
    outbox: 0,
    salesPerSecond: 0,
    purchases: { since: expect.any(Number), sold: 0, conflicts: 0, refused: 0 },
  });
  const order = { buyerId: 'bill', expectedPrice: 97 };
  expect((await buy({ buyerId: 'nobody', expectedPrice: 97 }, 'a')).status).toBe(404);
  expect((await buy({ ...order, expectedPrice: 1 }, 'b')).status).toBe(409);
  expect((await buy(order, 'c')).status).toBe(201);
  expect((await buy(order, 'c')).status).toBe(200);
  expect((await buy(order, 'd')).status).toBe(409);
  expect(await figures()).toMatchObject({
    listings: 0,
    sales: 1,
    outbox: 0,
    salesPerSecond: 1 / 60,
    purchases: { sold: 1, conflicts: 2, refused: 1 },
  });
});

test('the rate is that of the last minute, or of the newest 100 sales', () => {
  expect(rateOf([], 100_000)).toBe(0);
  expect(rateOf([10_000, 39_999, 50_000, 70_000, 99_000], 100_000)).toBe(3 / 60);
  const fast = Array.from({ length: 100 }, (_, index) => 90_000 + index * 100);
  expect(rateOf(fast, 100_000)).toBe(10);
  expect(rateOf(fast.fill(100_000), 100_000)).toBe(100_000);
});

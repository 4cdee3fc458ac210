import { describe, expect, test } from '@jest/globals';
import { connect } from '@mortise/test-kit';

import { Market, MAX_COINS, STRATEGIES } from '../src/market/index.js';
import type { MarketOptions, Strategy } from '../src/market/index.js';
import { dump } from './fixture/redis.js';
import * as shop from './fixture/shop.js';
import { bill, frank } from './fixture/shop.js';

const redis = connect();
const other = connect();

/** Patient, because the machine may be busy. */
const openShop = (client: typeof redis, options: MarketOptions = {}): Promise<shop.Shop> =>
  shop.openShop(client, { lockWaitMs: 10_000, ...options });

/** Sells items one after the other, mails included, and gives the ids of the sales. */
async function sellTimes(market: Market, strategy: Strategy, count: number, from = 0): Promise<string[]> {
  const ids: string[] = [];
  for (let n = from; n < from + count; n += 1) {
    await market.giveItem('frank', `item-${n}`);
    await market.list({ id: `l${n}`, sellerId: 'frank', itemId: `item-${n}`, price: 1 });
    const order = { listingId: `l${n}`, buyerId: 'bill', expectedPrice: 1, requestKey: `r${n}`, strategy };
    const { value } = await market.purchase(order);
    await market.markMailed([value.id]);
    ids.push(value.id);
  }
  return ids;
}

describe.each(STRATEGIES)('purchase by %s', (strategy) => {
  const order = { listingId: 'offer', buyerId: 'bill', expectedPrice: 97, strategy };

  test('moves coins, item and receipt in one step, and puts the sale into the outbox', async () => {
    const { market } = await openShop(redis);
    const { value: receipt, isRepeated } = await market.purchase(order);
    expect(isRepeated).toBe(false);
    expect(receipt).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      listingId: 'offer',
      itemId: 'sword',
      sellerId: 'frank',
      buyerId: 'bill',
      price: 97,
      soldAt: expect.any(Number),
    });
    expect(await market.player('frank')).toMatchObject({ funds: 140 });
    expect(await market.player('bill')).toMatchObject({ funds: 28 });
    expect((await market.itemsOf('bill')).items).toEqual(['sword']);
    expect(await market.listing('offer')).toBeNull();
    expect(await market.sale(receipt.id)).toEqual(receipt);
    expect(await market.outbox()).toEqual([receipt]);
    await market.markMailed([receipt.id]);
    await market.markMailed([receipt.id]);
    expect(await market.outbox()).toEqual([]);
  });

  test('refuses, and changes nothing', async () => {
    const { market, refusalOf } = await openShop(redis);
    await market.putPlayer('poor', { name: 'P', email: 'p@example.com', funds: 96 });
    const cases: [object, object][] = [
      [{ listingId: 'nothing' }, { code: 'ERR_UNKNOWN_LISTING', listingId: 'nothing' }],
      [{ buyerId: 'nobody' }, { code: 'ERR_UNKNOWN_PLAYER', playerId: 'nobody' }],
      [{ buyerId: 'frank' }, { code: 'ERR_OWN_LISTING', playerId: 'frank' }],
      [{ expectedPrice: 96 }, { code: 'ERR_PRICE_CHANGED', expectedPrice: 96, price: 97 }],
      [{ expectedPrice: 970 }, { code: 'ERR_PRICE_CHANGED', expectedPrice: 970, price: 97 }],
      [{ buyerId: 'poor' }, { code: 'ERR_INSUFFICIENT_FUNDS', price: 97, funds: 96 }],
      [{ expectedPrice: NaN }, { message: expect.stringMatching(/^expectedPrice must be/) }],
      [{ expectedPrice: 0.5 }, { message: expect.stringMatching(/^expectedPrice must be/) }],
      [{ strategy: 'luck' }, { message: expect.stringMatching(/^strategy must be/) }],
      [{ requestKey: 'a b' }, { code: 'ERR_INVALID_ID', field: 'requestKey' }],
    ];
    for (const [change, refusal] of cases) {
      expect(await refusalOf(() => market.purchase({ ...order, ...change }))).toMatchObject(refusal);
    }
  });

  test('refuses to give a seller more coins than are counted', async () => {
    const { market, refusalOf } = await openShop(redis);
    await market.putPlayer('rich', { ...frank, funds: MAX_COINS - 1 });
    await market.giveItem('rich', 'crown');
    await market.list({ id: 'crown', sellerId: 'rich', itemId: 'crown', price: 2 });
    const crown = { listingId: 'crown', buyerId: 'bill', expectedPrice: 2, strategy };
    const overflow = { code: 'ERR_FUNDS_OVERFLOW', playerId: 'rich', limit: MAX_COINS };
    expect(await refusalOf(() => market.purchase(crown))).toMatchObject(overflow);
  });

  test('of many buyers at once, on two connections, exactly one wins', async () => {
    const { market, prefix } = await openShop(redis);
    const elsewhere = new Market(other, { prefix, lockWaitMs: 10_000 });
    const buyers = Array.from({ length: 10 }, (_, n) => `buyer-${n}`);
    await Promise.all(buyers.map((id) => market.putPlayer(id, bill)));
    const results = await Promise.allSettled(
      buyers.map((buyerId, n) => (n % 2 ? market : elsewhere).purchase({ ...order, buyerId })),
    );
    const won = results.filter(({ status }) => status === 'fulfilled');
    const lost = results.filter((result) => result.status === 'rejected');
    expect(won).toHaveLength(1);
    expect(lost.map(({ reason }) => (reason as { code: string }).code)).toEqual(
      Array(9).fill('ERR_ALREADY_SOLD'),
    );
    const funds = await Promise.all(buyers.map(async (id) => (await market.player(id))!.funds));
    expect(funds.toSorted((a, b) => a - b)).toEqual([28, ...Array<number>(9).fill(125)]);
    expect(await market.player('frank')).toMatchObject({ funds: 140 });
  });

  test('under the same request key is made once, also when both come in one tick', async () => {
    const { market, prefix, refusalOf } = await openShop(redis);
    const keyed = { ...order, requestKey: 'cart-1' };
    const [first, second] = await Promise.all([market.purchase(keyed), market.purchase(keyed)]);
    expect([first.isRepeated, second.isRepeated]).toEqual([false, true]);
    expect(second.value).toEqual(first.value);
    const before = await dump(redis, prefix);
    expect(await market.purchase(keyed)).toEqual({ value: first.value, isRepeated: true });
    expect(await dump(redis, prefix)).toEqual(before);
    expect(await market.outbox()).toHaveLength(1);
    const reused = { code: 'ERR_REQUEST_REUSED', requestKey: 'cart-1' };
    expect(await refusalOf(() => market.purchase({ ...keyed, buyerId: 'frank' }))).toMatchObject(reused);
    expect(await refusalOf(() => market.purchase({ ...keyed, expectedPrice: 9 }))).toMatchObject(reused);
    expect(await refusalOf(() => market.purchase({ ...keyed, listingId: 'x' }))).toMatchObject(reused);
  });
});

describe.each(STRATEGIES)('maxSales of purchases by %s', (strategy) => {
  test('keeps that many receipts, the newest, with their request keys and listings', async () => {
    const { market, prefix, refusalOf } = await openShop(redis, { maxSales: 3 });
    const ids = await sellTimes(market, strategy, 5);
    const kept = await Promise.all(ids.map((id) => market.sale(id)));
    expect(kept.map((sale) => sale?.listingId)).toEqual([undefined, undefined, 'l2', 'l3', 'l4']);
    const stem = `${prefix}:market:{main}:`;
    const sizes = [
      redis.hlen(`${stem}sales`),
      redis.llen(`${stem}saleOrder`),
      redis.hlen(`${stem}sold`),
      redis.hlen(`${stem}requests`),
    ];
    expect(await Promise.all(sizes)).toEqual([3, 3, 3, 3]);
    const forgotten = { listingId: 'l0', buyerId: 'bill', expectedPrice: 1, requestKey: 'r0', strategy };
    expect(await refusalOf(() => market.purchase(forgotten))).toMatchObject({ code: 'ERR_UNKNOWN_LISTING' });
  });

  test('lowered, it takes effect a few receipts at a time', async () => {
    const { market, prefix } = await openShop(redis);
    await sellTimes(market, strategy, 12);
    const smaller = new Market(redis, { prefix, maxSales: 2, lockWaitMs: 10_000 });
    await sellTimes(smaller, strategy, 1, 12);
    expect(await redis.llen(`${prefix}:market:{main}:saleOrder`)).toBe(5);
    await sellTimes(smaller, strategy, 1, 13);
    expect(await redis.llen(`${prefix}:market:{main}:saleOrder`)).toBe(2);
  });

  test('never drops a sale whose mail is not enqueued: the next purchase is refused', async () => {
    const { market, refusalOf } = await openShop(redis, { maxSales: 1 });
    const offer = { listingId: 'offer', buyerId: 'bill', expectedPrice: 97, strategy };
    const { value } = await market.purchase(offer);
    await market.list({ id: 'next', sellerId: 'frank', itemId: 'shield', price: 1 });
    const next = { listingId: 'next', buyerId: 'bill', expectedPrice: 1, strategy };
    expect(await refusalOf(() => market.purchase(next))).toMatchObject({ code: 'ERR_OUTBOX_FULL', limit: 1 });
    await market.markMailed([value.id]);
    expect(await market.purchase(next)).toMatchObject({ isRepeated: false });
  });
});

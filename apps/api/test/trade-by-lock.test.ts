/** A trade between its read and its write, while the lock of the listing is held, and when it is lost. */
import { describe, expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import { connect } from '@mortise/test-kit';

import type { Order } from '../src/market/index.js';
import { lockNameOf, Market, MAX_COINS } from '../src/market/index.js';
import { marketWriteOffer, marketWritePurchase, marketWriteWithdrawal } from '../src/scripts.gen.js';
import { pauseBefore } from './fixture/pausing.js';
import { dump, keysOf, until } from './fixture/redis.js';
import type { Shop } from './fixture/shop.js';
import { bill, frank, openShop } from './fixture/shop.js';

const redis = connect();
const order: Order = { listingId: 'offer', buyerId: 'bill', expectedPrice: 97, strategy: 'lock' };
const byLock = { strategy: 'lock' } as const;
const patient = { lockWaitMs: 10_000, lockLeaseMs: 60_000 };

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code ?? error;

interface Interrupted extends Shop {
  /** The end of the purchase after it may write: the price of the receipt, or the code of the refusal. */
  outcome(): Promise<unknown>;
  /** The refusal itself. */
  readonly purchase: Promise<unknown>;
  resume(): void;
}

/** Bill has read the listing under its lock, and is about to write. */
async function interrupt(
  change: Partial<Order> = {},
  { lockLeaseMs = 60_000, maxSales = 100 } = {},
): Promise<Interrupted> {
  const shop = await openShop(redis, { ...patient, maxSales });
  const { client, reached, resume } = pauseBefore(connect(), marketWritePurchase);
  const market = new Market(client, { prefix: shop.prefix, ...patient, lockLeaseMs, maxSales });
  const purchase = market.purchase({ ...order, ...change }).catch((error: unknown) => error);
  await reached;
  const outcome = async (): Promise<unknown> => {
    resume();
    const result = await purchase;
    return result instanceof Error ? codeOf(result) : (result as { value: { price: number } }).value.price;
  };
  return { ...shop, purchase, resume, outcome };
}

describe('a holder that was paused past its lease', () => {
  test('cannot write when another one has: its token is refused', async () => {
    const paused = await interrupt({}, { lockLeaseMs: 1_000 });
    await paused.market.putPlayer('ann', bill);
    // The lock passes on when the lease is over, without a word to the one who is paused.
    const { value } = await paused.market.purchase({ ...order, buyerId: 'ann' });
    const before = await dump(redis, paused.prefix);
    expect(await paused.outcome()).toBe('ERR_STALE_TOKEN');
    const refusal = (await paused.purchase) as { fencingToken: number; lastToken: number };
    expect(refusal).toMatchObject({ listingId: 'offer' });
    expect(refusal.fencingToken).toBeLessThan(refusal.lastToken);
    expect(await redis.get(`${paused.prefix}:market:{main}:fence:offer`)).toBe(String(refusal.lastToken));
    expect(await dump(redis, paused.prefix)).toEqual(before);
    expect(await paused.market.outbox()).toEqual([value]);
    expect(await paused.market.player('bill')).toMatchObject({ funds: 125 });
  });

  test('writes what it decided when nobody else has written', async () => {
    const paused = await interrupt({}, { lockLeaseMs: 1_000 });
    const lock = new Mutex(redis, lockNameOf('offer'), { prefix: paused.prefix });
    await until('the end of the lease', async () => (await lock.inspect()).holder === null);
    expect(await paused.outcome()).toBe(97);
  });

  test('decides again when the next holder only looked', async () => {
    const paused = await interrupt({}, { lockLeaseMs: 1_000 });
    const poor = { ...order, buyerId: 'frank' };
    await expect(paused.market.purchase(poor)).rejects.toMatchObject({ code: 'ERR_OWN_LISTING' });
    expect(await paused.outcome()).toBe(97);
  });
});

describe('while a purchase by lock is under way', () => {
  test('one without a lock may overtake it', async () => {
    const paused = await interrupt();
    await paused.market.putPlayer('ann', bill);
    await paused.market.purchase({ ...order, buyerId: 'ann', strategy: 'script' });
    expect(await paused.outcome()).toBe('ERR_ALREADY_SOLD');
    expect(await paused.market.player('bill')).toMatchObject({ funds: 125 });
    expect(await paused.market.player('frank')).toMatchObject({ funds: 140 });
  });

  test('the listing may be withdrawn', async () => {
    const paused = await interrupt();
    await paused.market.withdraw('offer', 'frank');
    expect(await paused.outcome()).toBe('ERR_UNKNOWN_LISTING');
    expect((await paused.market.itemsOf('frank')).items).toEqual(['shield', 'sword']);
  });

  test.each([
    [96, 'ERR_PRICE_CHANGED'],
    [97, 97],
  ])('the listing may be withdrawn and offered again at %d', async (price, outcome) => {
    const paused = await interrupt();
    await paused.market.withdraw('offer', 'frank');
    await paused.market.list({ id: 'offer', sellerId: 'frank', itemId: 'shield', price });
    expect(await paused.outcome()).toBe(outcome);
    const items = outcome === 97 ? ['shield'] : [];
    expect((await paused.market.itemsOf('bill')).items).toEqual(items);
  });

  test('the buyer may spend the same coins on another listing, by lock as well', async () => {
    const paused = await interrupt();
    await paused.market.list({ id: 'shield', sellerId: 'frank', itemId: 'shield', price: 29 });
    await paused.market.purchase({ ...order, listingId: 'shield', expectedPrice: 29 });
    expect(await paused.outcome()).toBe('ERR_INSUFFICIENT_FUNDS');
    expect(await paused.market.player('bill')).toMatchObject({ funds: 96 });
    expect(await paused.market.player('frank')).toMatchObject({ funds: 72 });
  });

  test('the seller may become too rich', async () => {
    const paused = await interrupt();
    await paused.market.putPlayer('rich', { ...frank, funds: MAX_COINS });
    await paused.market.list({ id: 'shield', sellerId: 'frank', itemId: 'shield', price: MAX_COINS - 43 });
    await paused.market.purchase({
      ...order,
      listingId: 'shield',
      buyerId: 'rich',
      expectedPrice: MAX_COINS - 43,
    });
    expect(await paused.outcome()).toBe('ERR_FUNDS_OVERFLOW');
    expect(await paused.market.player('frank')).toMatchObject({ funds: MAX_COINS });
  });

  test('the request key may lead to another purchase', async () => {
    const paused = await interrupt({ requestKey: 'cart' });
    await paused.market.list({ id: 'shield', sellerId: 'frank', itemId: 'shield', price: 1 });
    await paused.market.purchase({ ...order, listingId: 'shield', expectedPrice: 1, requestKey: 'cart' });
    expect(await paused.outcome()).toBe('ERR_REQUEST_REUSED');
  });

  test('the mails that wait may become as many as receipts are kept', async () => {
    const paused = await interrupt({}, { maxSales: 1 });
    await paused.market.list({ id: 'shield', sellerId: 'frank', itemId: 'shield', price: 1 });
    const { value } = await paused.market.purchase({ ...order, listingId: 'shield', expectedPrice: 1 });
    expect(await paused.outcome()).toBe('ERR_OUTBOX_FULL');
    expect(await paused.market.outbox()).toEqual([value]);
  });

  test('the same request without a lock is the one sale', async () => {
    const paused = await interrupt({ requestKey: 'cart' });
    const { value } = await paused.market.purchase({ ...order, requestKey: 'cart', strategy: 'script' });
    paused.resume();
    expect(await paused.purchase).toEqual({ value, isRepeated: true });
    expect(await paused.market.outbox()).toEqual([value]);
  });
});

describe('a withdrawal by lock', () => {
  test('whose holder was paused past its lease cannot write when another one has', async () => {
    const shop = await openShop(redis, patient);
    const { client, reached, resume } = pauseBefore(connect(), marketWriteWithdrawal);
    const slow = new Market(client, { prefix: shop.prefix, ...patient, lockLeaseMs: 1_000 });
    const withdrawal = slow.withdraw('offer', 'frank', byLock).catch(codeOf);
    await reached;
    await shop.market.withdraw('offer', 'frank', byLock);
    await shop.market.list({ id: 'offer', sellerId: 'frank', itemId: 'shield', price: 97, ...byLock });
    const before = await dump(redis, shop.prefix);
    resume();
    expect(await withdrawal).toBe('ERR_STALE_TOKEN');
    expect(await dump(redis, shop.prefix)).toEqual(before);
  });

  test('decides again when the listing was bought without a lock', async () => {
    const shop = await openShop(redis, patient);
    const { client, reached, resume } = pauseBefore(connect(), marketWriteWithdrawal);
    const slow = new Market(client, { prefix: shop.prefix, ...patient });
    const withdrawal = slow.withdraw('offer', 'frank', byLock).catch(codeOf);
    await reached;
    await shop.market.purchase({ ...order, strategy: 'script' });
    resume();
    expect(await withdrawal).toBe('ERR_ALREADY_SOLD');
    expect((await shop.market.itemsOf('bill')).items).toEqual(['sword']);
  });

  test('waits for a purchase under way, and finds that it was made', async () => {
    const paused = await interrupt();
    const withdrawal = paused.market.withdraw('offer', 'frank', byLock).catch(codeOf);
    const lock = new Mutex(redis, lockNameOf('offer'), { prefix: paused.prefix });
    await until('the queue', async () => (await lock.inspect()).queueLength === 1);
    expect(await paused.outcome()).toBe(97);
    expect(await withdrawal).toBe('ERR_ALREADY_SOLD');
  });
});

describe('an offer by lock', () => {
  const offer = { id: 'new', sellerId: 'frank', itemId: 'shield', price: 5, ...byLock };

  async function interruptOffer(lockLeaseMs = 60_000): Promise<Shop & { outcome: () => Promise<unknown> }> {
    const shop = await openShop(redis, patient);
    const { client, reached, resume } = pauseBefore(connect(), marketWriteOffer);
    const slow = new Market(client, { prefix: shop.prefix, ...patient, lockLeaseMs });
    const made = slow.list(offer).then(({ isRepeated }) => isRepeated, codeOf);
    await reached;
    const outcome = async (): Promise<unknown> => {
      resume();
      return made;
    };
    return { ...shop, outcome };
  }

  test('whose holder was paused past its lease cannot write when others have', async () => {
    const { market, prefix, outcome } = await interruptOffer(1_000);
    await market.list(offer);
    await market.withdraw('new', 'frank', byLock);
    const before = await dump(redis, prefix);
    // Nothing but the token says that the listing was there and is not wanted any more.
    expect(await outcome()).toBe('ERR_STALE_TOKEN');
    expect(await dump(redis, prefix)).toEqual(before);
  });

  test('decides again when the same offer was made without a lock', async () => {
    const { market, outcome } = await interruptOffer();
    await market.list({ ...offer, strategy: 'script' });
    expect(await outcome()).toBe(true);
  });

  test('decides again when the id was used for another offer, or is that of a sale', async () => {
    const first = await interruptOffer();
    await first.market.list({ ...offer, price: 6, strategy: 'script' });
    expect(await first.outcome()).toBe('ERR_REQUEST_REUSED');
    const second = await interruptOffer();
    await second.market.list({ ...offer, strategy: 'script' });
    await second.market.purchase({ listingId: 'new', buyerId: 'bill', expectedPrice: 5 });
    expect(await second.outcome()).toBe('ERR_ALREADY_SOLD');
  });

  test('decides again when the item is in another listing, by lock as well', async () => {
    const { market, outcome } = await interruptOffer();
    await market.list({ ...offer, id: 'other' });
    expect(await outcome()).toBe('ERR_ITEM_LISTED');
    expect((await market.listings()).items.map(({ id }) => id)).toEqual(['other', 'offer']);
  });
});

describe('a listing that somebody else has locked', () => {
  test('is waited for, for lockWaitMs; other listings and purchases without a lock are not', async () => {
    const { prefix, market } = await openShop(redis, patient);
    const hasty = new Market(redis, { prefix, lockWaitMs: 20 });
    await market.list({ id: 'shield', sellerId: 'frank', itemId: 'shield', price: 1 });
    const lease = await new Mutex(redis, lockNameOf('offer'), { prefix, leaseMs: 60_000 }).acquire();
    const before = await dump(redis, prefix);
    const timeout = { code: 'ERR_LOCK_TIMEOUT', lockName: 'market:listing:offer', waitMs: 20 };
    await expect(hasty.purchase(order)).rejects.toMatchObject(timeout);
    await until('the end of the queue', async () => (await redis.keys(`${prefix}:*:queue`)).length === 0);
    expect(await dump(redis, prefix)).toEqual(before);

    await market.purchase({ ...order, listingId: 'shield', expectedPrice: 1 });
    const waiting = market.purchase(order);
    await lease.release();
    expect((await waiting).value.price).toBe(97);
  });

  test('can be bought without a lock', async () => {
    const { prefix, market } = await openShop(redis, patient);
    const lease = await new Mutex(redis, lockNameOf('offer'), { prefix }).acquire();
    expect((await market.purchase({ ...order, strategy: 'script' })).isRepeated).toBe(false);
    expect(await lease.release()).toBe(true);
  });
});

test('a purchase by lock leaves nothing but its sale, and a fence and a token that expire', async () => {
  const { prefix, market } = await openShop(redis, patient);
  await market.purchase({ ...order, strategy: 'script' });
  const usual = await keysOf(redis, prefix);
  await market.list({ id: 'next', sellerId: 'frank', itemId: 'shield', price: 1 });
  await market.purchase({ ...order, listingId: 'next', expectedPrice: 1 });
  const more = (await keysOf(redis, prefix)).filter((key) => !usual.includes(key));
  const fence = `${prefix}:market:{main}:fence:next`;
  const token = `${prefix}:locks:{market:listing:next}:token`;
  expect(more).toEqual([token, fence]);
  expect(await redis.get(fence)).toBe(await redis.get(token));
  const hours = (await redis.pttl(fence)) / 3_600_000;
  expect([hours > 23.9, hours <= 24]).toEqual([true, true]);
});

/** Sales and their terms: purchases, listings that open later or expire, and trades between their read and their write. */
import { describe, expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import { connect, until } from '@mortise/test-kit';

import type { Listing, Order, Strategy } from '../../src/market/index.js';
import { lockNameOf, Market, MAX_COINS, STRATEGIES, tasksOf } from '../../src/market/index.js';
import { marketWriteOffer, marketWritePurchase, marketWriteWithdrawal } from '../../src/scripts.gen.js';
import { pauseBefore } from '../fixture/pausing.js';
import { dump, keysOf } from '../fixture/redis.js';
import type { Shop } from '../fixture/shop.js';
import { bill, frank, openShop } from '../fixture/shop.js';

const redis = connect();
const other = connect();

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

const soon = (ms = 400): number => Date.now() + ms;
const HOUR_MS = 3_600_000;
const refOf = ({ id, listedAt }: Listing): { listingId: string; listedAt: number } => ({
  listingId: id,
  listedAt,
});
const ids = async (market: Market, sort: 'newest' | 'price'): Promise<string[]> =>
  (await market.listings({ sort })).items.map(({ id }) => id);

describe.each(STRATEGIES)('a listing with instants, by %s', (strategy) => {
  const shield = { id: 'later', sellerId: 'frank', itemId: 'shield', price: 5, strategy };
  const order = { listingId: 'later', buyerId: 'bill', expectedPrice: 5, strategy };

  test('a delayed listing is not for sale before its time', async () => {
    const { market, refusalOf } = await openShop(redis);
    const opensAt = soon(HOUR_MS);
    const { value: listing } = await market.list({ ...shield, opensAt });
    expect(listing).toMatchObject({ id: 'later', opensAt });
    expect(await market.list({ ...shield, opensAt })).toEqual({ value: listing, isRepeated: true });
    expect(await market.listing('later')).toEqual(listing);
    expect(await refusalOf(() => market.list({ ...shield, opensAt: opensAt + 1 }))).toMatchObject({
      code: 'ERR_REQUEST_REUSED',
    });
    expect(await refusalOf(() => market.list(shield))).toMatchObject({ code: 'ERR_REQUEST_REUSED' });
    expect([await ids(market, 'newest'), await ids(market, 'price')]).toEqual([['offer'], ['offer']]);
    expect(await market.purchase(order).catch((error) => error)).toMatchObject({
      code: 'ERR_NOT_OPEN',
      opensAt,
    });
    expect(await market.timed.open(refOf(listing))).toMatchObject({
      status: 'early',
      inMs: expect.any(Number),
    });
  });

  test('a delayed listing is for sale when its time has come, and in the lists when it was opened', async () => {
    const { market } = await openShop(redis);
    const { value: listing } = await market.list({ ...shield, opensAt: soon() });
    await until('it to open', async () => (await market.timed.open(refOf(listing))).status === 'done');
    expect(await market.timed.open(refOf(listing))).toEqual({ status: 'done' });
    expect([await ids(market, 'newest'), await ids(market, 'price')]).toEqual([
      ['later', 'offer'],
      ['later', 'offer'],
    ]);
    expect((await market.purchase(order)).value).toMatchObject({ itemId: 'shield', buyerId: 'bill' });
    expect(await market.timed.open(refOf(listing))).toEqual({ status: 'gone' });
    expect([await ids(market, 'newest'), await ids(market, 'price')]).toEqual([['offer'], ['offer']]);
  });

  test('its time decides, whether its task has run or not', async () => {
    const { market } = await openShop(redis);
    await market.list({ ...shield, opensAt: soon() });
    await until('it to be sold', async () => market.purchase(order).catch(() => false as const));
    expect((await market.itemsOf('bill')).items).toEqual(['shield']);
    expect(await ids(market, 'price')).toEqual(['offer']);
  });

  test('an expired listing is not for sale, and its item goes back once', async () => {
    const { market } = await openShop(redis);
    const { value: listing } = await market.list({ ...shield, expiresInMs: 1_000 });
    expect(listing.expiresAt).toBe(listing.listedAt + 1_000);
    expect(await market.timed.expire(refOf(listing))).toMatchObject({ status: 'early' });
    const refused = await until('it to expire', async () => {
      const error: { code: string } = await market
        .purchase({ ...order, expectedPrice: 6 })
        .catch((thrown) => thrown);
      return error.code === 'ERR_LISTING_EXPIRED' && error;
    });
    expect(refused).toMatchObject({ listingId: 'later', expiresAt: listing.expiresAt });
    // As often as a worker dies before the mail is enqueued.
    const done = { status: 'done', listing };
    expect([await market.timed.expire(refOf(listing)), await market.timed.expire(refOf(listing))]).toEqual([
      done,
      done,
    ]);
    expect((await market.itemsOf('frank')).items).toEqual(['shield']);
    expect(await market.listing('later')).toBeNull();
    expect(await ids(market, 'newest')).toEqual(['offer']);
    await market.timed.markExpiryMailed(refOf(listing));
    expect(await market.timed.expire(refOf(listing))).toEqual({ status: 'gone' });
  });

  test('a listing of the same id is another one', async () => {
    const { market } = await openShop(redis);
    const { value: first } = await market.list({ ...shield, expiresInMs: HOUR_MS });
    await market.withdraw('later', 'frank', { strategy });
    await until('another millisecond', async () => Date.now() > first.listedAt + 5);
    const { value: second } = await market.list({ ...shield, expiresInMs: HOUR_MS });
    expect(await market.timed.expire(refOf(first))).toEqual({ status: 'gone' });
    expect(await market.timed.expire(refOf(second))).toMatchObject({ status: 'early' });
    const timers = await market.timed.timers();
    expect(timers.length).toBe(2);
    await market.timed.markTimed([timers[0]!.place]);
    expect((await market.timed.timers()).map(({ listing }) => listing)).toEqual([second]);
  });

  test('a delayed listing is withdrawn as any other', async () => {
    const { market } = await openShop(redis);
    const { value: listing } = await market.list({ ...shield, opensAt: soon(HOUR_MS), expiresInMs: HOUR_MS });
    expect(listing.expiresAt).toBe(listing.opensAt! + HOUR_MS);
    await market.withdraw('later', 'frank', { strategy });
    expect((await market.itemsOf('frank')).items).toEqual(['shield']);
    expect((await market.timed.timers()).map(({ listing: left }) => left)).toEqual([null]);
    expect(await market.timed.open(refOf(listing))).toEqual({ status: 'gone' });
  });
});

test('the tasks of a listing', () => {
  const listing = { id: 'x', itemId: 'i', sellerId: 's', price: 1, listedAt: 1_000 };
  expect(tasksOf(listing)).toEqual([]);
  expect(tasksOf({ ...listing, opensAt: 900 })).toEqual([]);
  const payload = { listingId: 'x', listedAt: 1_000 };
  expect(tasksOf({ ...listing, opensAt: 2_000, expiresAt: 3_000 })).toEqual([
    { name: 'market.open', payload, id: 'open:x:1000', runAt: 2_000 },
    { name: 'market.expire', payload, id: 'expire:x:1000', runAt: 3_000 },
  ]);
});

test.each([
  { opensAt: 0 },
  { opensAt: -1 },
  { opensAt: 1.5 },
  { opensAt: Date.now() + 366 * 24 * HOUR_MS },
  { expiresInMs: 999 },
  { expiresInMs: Number.NaN },
  { expiresInMs: 366 * 24 * HOUR_MS },
])('a listing with %j is refused', async (terms) => {
  const { market, refusalOf } = await openShop(redis);
  const refusal = await refusalOf(() =>
    market.list({ sellerId: 'frank', itemId: 'shield', price: 5, ...terms }),
  );
  expect(refusal).toMatchObject({ message: expect.stringMatching(/^(opensAt|expiresInMs) must be/) });
});

/** The order of a trade that is between its read and its write. */
const ORDER: Order = { listingId: 'offer', buyerId: 'bill', expectedPrice: 97, strategy: 'lock' };
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
  const purchase = market.purchase({ ...ORDER, ...change }).catch((error: unknown) => error);
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
    const { value } = await paused.market.purchase({ ...ORDER, buyerId: 'ann' });
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
    const poor = { ...ORDER, buyerId: 'frank' };
    await expect(paused.market.purchase(poor)).rejects.toMatchObject({ code: 'ERR_OWN_LISTING' });
    expect(await paused.outcome()).toBe(97);
  });
});

describe('while a purchase by lock is under way', () => {
  test('one without a lock may overtake it', async () => {
    const paused = await interrupt();
    await paused.market.putPlayer('ann', bill);
    await paused.market.purchase({ ...ORDER, buyerId: 'ann', strategy: 'script' });
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
    await paused.market.purchase({ ...ORDER, listingId: 'shield', expectedPrice: 29 });
    expect(await paused.outcome()).toBe('ERR_INSUFFICIENT_FUNDS');
    expect(await paused.market.player('bill')).toMatchObject({ funds: 96 });
    expect(await paused.market.player('frank')).toMatchObject({ funds: 72 });
  });

  test('the seller may become too rich', async () => {
    const paused = await interrupt();
    await paused.market.putPlayer('rich', { ...frank, funds: MAX_COINS });
    await paused.market.list({ id: 'shield', sellerId: 'frank', itemId: 'shield', price: MAX_COINS - 43 });
    await paused.market.purchase({
      ...ORDER,
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
    await paused.market.purchase({ ...ORDER, listingId: 'shield', expectedPrice: 1, requestKey: 'cart' });
    expect(await paused.outcome()).toBe('ERR_REQUEST_REUSED');
  });

  test('the mails that wait may become as many as receipts are kept', async () => {
    const paused = await interrupt({}, { maxSales: 1 });
    await paused.market.list({ id: 'shield', sellerId: 'frank', itemId: 'shield', price: 1 });
    const { value } = await paused.market.purchase({ ...ORDER, listingId: 'shield', expectedPrice: 1 });
    expect(await paused.outcome()).toBe('ERR_OUTBOX_FULL');
    expect(await paused.market.outbox()).toEqual([value]);
  });

  test('the same request without a lock is the one sale', async () => {
    const paused = await interrupt({ requestKey: 'cart' });
    const { value } = await paused.market.purchase({ ...ORDER, requestKey: 'cart', strategy: 'script' });
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
    await shop.market.purchase({ ...ORDER, strategy: 'script' });
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
    await expect(hasty.purchase(ORDER)).rejects.toMatchObject(timeout);
    await until('the end of the queue', async () => (await redis.keys(`${prefix}:*:queue`)).length === 0);
    expect(await dump(redis, prefix)).toEqual(before);

    await market.purchase({ ...ORDER, listingId: 'shield', expectedPrice: 1 });
    const waiting = market.purchase(ORDER);
    await lease.release();
    expect((await waiting).value.price).toBe(97);
  });

  test('can be bought without a lock', async () => {
    const { prefix, market } = await openShop(redis, patient);
    const lease = await new Mutex(redis, lockNameOf('offer'), { prefix }).acquire();
    expect((await market.purchase({ ...ORDER, strategy: 'script' })).isRepeated).toBe(false);
    expect(await lease.release()).toBe(true);
  });
});

test('a purchase by lock leaves nothing but its sale, and a fence and a token that expire', async () => {
  const { prefix, market } = await openShop(redis, patient);
  await market.purchase({ ...ORDER, strategy: 'script' });
  const usual = await keysOf(redis, prefix);
  await market.list({ id: 'next', sellerId: 'frank', itemId: 'shield', price: 1 });
  await market.purchase({ ...ORDER, listingId: 'next', expectedPrice: 1 });
  const more = (await keysOf(redis, prefix)).filter((key) => !usual.includes(key));
  const fence = `${prefix}:market:{main}:fence:next`;
  const token = `${prefix}:locks:{market:listing:next}:token`;
  expect(more).toEqual([token, fence]);
  expect(await redis.get(fence)).toBe(await redis.get(token));
  const hours = (await redis.pttl(fence)) / 3_600_000;
  expect([hours > 23.9, hours <= 24]).toEqual([true, true]);
});

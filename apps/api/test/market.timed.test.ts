/** Listings that open later, and that expire. */
import { describe, expect, test } from '@jest/globals';
import { connect } from '@mortise/test-kit';

import type { Listing, Market } from '../src/market/index.js';
import { tasksOf } from '../src/market/index.js';
import { openShop } from './fixture/shop.js';
import { until } from './fixture/redis.js';

const redis = connect();

const soon = (ms = 400): number => Date.now() + ms;
const HOUR_MS = 3_600_000;
const refOf = ({ id, listedAt }: Listing): { listingId: string; listedAt: number } => ({
  listingId: id,
  listedAt,
});
const ids = async (market: Market, sort: 'newest' | 'price'): Promise<string[]> =>
  (await market.listings({ sort })).items.map(({ id }) => id);

describe.each(['script', 'lock'] as const)('by %s', (strategy) => {
  const shield = { id: 'later', sellerId: 'frank', itemId: 'shield', price: 5, strategy };
  const order = { listingId: 'later', buyerId: 'bill', expectedPrice: 5, strategy };

  test('a delayed listing is for sale when its time has come, and in the lists when it was opened', async () => {
    const { market, refusalOf } = await openShop(redis);
    const opensAt = soon();
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
])('%j is refused', async (terms) => {
  const { market, refusalOf } = await openShop(redis);
  const refusal = await refusalOf(() =>
    market.list({ sellerId: 'frank', itemId: 'shield', price: 5, ...terms }),
  );
  expect(refusal).toMatchObject({ message: expect.stringMatching(/^(opensAt|expiresInMs) must be/) });
});

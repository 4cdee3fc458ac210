/** The market of Redis: its methods, their commands and keys, and the outcome when a reply is lost. */
import { readFileSync } from 'node:fs';

import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { keySlot } from '@mortise/redis';
import { startProxy } from '@mortise/redis-server';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { Redis } from 'ioredis';

import type { Strategy } from '../../src/market/index.js';
import { Market, MAX_COINS, STRATEGIES } from '../../src/market/index.js';
import { dump, keysOf, REDIS_URL } from '../fixture/redis.js';
import { sentBy } from '../fixture/sent-by.js';
import { bill, frank, openShop } from '../fixture/shop.js';

const redis = connect();

/** Five listings by one seller, at prices of which two are equal. */
async function openBazaar(): Promise<Market> {
  const market = new Market(redis, { prefix: freshPrefix() });
  await market.putPlayer('frank', frank);
  await market.putPlayer('bill', { ...bill, funds: 1_000 });
  for (const [index, price] of [7, 100, 7, 9, 20].entries()) {
    await market.giveItem('frank', `item-${index}`);
    await market.list({ id: `l${index}`, sellerId: 'frank', itemId: `item-${index}`, price });
  }
  return market;
}

describe('putPlayer', () => {
  test('creates a player; later it changes name and address and keeps the funds', async () => {
    const market = new Market(redis, { prefix: freshPrefix() });
    expect(await market.putPlayer('frank', frank)).toEqual({
      player: { id: 'frank', ...frank },
      isNew: true,
    });
    const renamed = { name: 'Frank ☃', email: 'f@example.org', funds: 1_000 };
    const player = { id: 'frank', name: 'Frank ☃', email: 'f@example.org', funds: 43 };
    expect(await market.putPlayer('frank', renamed)).toEqual({ player, isNew: false });
    expect(await market.player('frank')).toEqual(player);
  });

  test('without funds a player has none', async () => {
    const market = new Market(redis, { prefix: freshPrefix() });
    const { player } = await market.putPlayer('poor', { name: 'P', email: 'p@example.com' });
    expect(player.funds).toBe(0);
  });

  test('refuses one player more than the market may have, and still changes those that it has', async () => {
    const market = new Market(redis, { prefix: freshPrefix(), maxPlayers: 1 });
    await market.putPlayer('frank', frank);
    await expect(market.putPlayer('bill', bill)).rejects.toMatchObject({ code: 'ERR_MARKET_FULL', limit: 1 });
    expect(await market.player('bill')).toBeNull();
    expect(await market.putPlayer('frank', frank)).toMatchObject({ isNew: false });
  });

  test.each([NaN, Infinity, -1, 0.5, MAX_COINS + 1, '5'])('refuses funds of %p', async (funds) => {
    const market = new Market(redis, { prefix: freshPrefix() });
    await expect(market.putPlayer('x', { ...frank, funds: funds as number })).rejects.toThrow(
      /^funds must be/,
    );
  });

  test.each(['', 'a\nb', 'a\u0000', 'x'.repeat(101), '\ud800', 7])('refuses the name %j', async (name) => {
    const market = new Market(redis, { prefix: freshPrefix() });
    await expect(market.putPlayer('x', { ...frank, name: name as string })).rejects.toThrow(/^name must be/);
  });
});

describe('player', () => {
  test('is null for a player that was never put', async () => {
    const market = new Market(redis, { prefix: freshPrefix() });
    expect(await market.player('nobody')).toBeNull();
  });
});

describe('giveItem', () => {
  test('gives an item once; again changes nothing', async () => {
    const { market } = await openShop(redis);
    expect(await market.giveItem('bill', 'ring')).toBe(true);
    expect(await market.giveItem('bill', 'ring')).toBe(false);
    expect(await market.itemsOf('bill')).toEqual({ items: ['ring'], nextCursor: null });
  });

  test("refuses another player's item, one that is listed, and a player that isn't there", async () => {
    const { market, refusalOf } = await openShop(redis);
    const taken = { code: 'ERR_ITEM_TAKEN' };
    expect(await refusalOf(() => market.giveItem('bill', 'shield'))).toMatchObject({
      ...taken,
      itemId: 'shield',
    });
    expect(await refusalOf(() => market.giveItem('bill', 'sword'))).toMatchObject({
      ...taken,
      itemId: 'sword',
    });
    expect(await refusalOf(() => market.giveItem('frank', 'sword'))).toMatchObject(taken);
    const unknown = { code: 'ERR_UNKNOWN_PLAYER', playerId: 'nobody' };
    expect(await refusalOf(() => market.giveItem('nobody', 'ring'))).toMatchObject(unknown);
  });

  test('counts listed items towards the most that the market may have', async () => {
    const { market, refusalOf } = await openShop(redis, { maxItems: 2 });
    const full = { code: 'ERR_MARKET_FULL', option: 'maxItems', limit: 2 };
    expect(await refusalOf(() => market.giveItem('bill', 'ring'))).toMatchObject(full);
  });
});

describe('itemsOf', () => {
  test('pages through one inventory and no other, though one id begins as the other', async () => {
    const market = new Market(redis, { prefix: freshPrefix() });
    for (const id of ['p', 'p-', 'p1']) await market.putPlayer(id, frank);
    for (let n = 0; n < 5; n += 1) await market.giveItem('p', `item-${n}`);
    await market.giveItem('p1', 'a');
    await market.giveItem('p-', 'z');
    const first = await market.itemsOf('p', { limit: 3 });
    expect(first.items).toEqual(['item-0', 'item-1', 'item-2']);
    const second = await market.itemsOf('p', { limit: 3, cursor: first.nextCursor! });
    expect(second).toEqual({ items: ['item-3', 'item-4'], nextCursor: null });
    await expect(market.itemsOf('p1', { cursor: first.nextCursor! })).rejects.toMatchObject({
      code: 'ERR_INVALID_CURSOR',
    });
  });
});

describe.each(STRATEGIES)('list by %s', (strategy) => {
  test('moves the item from the inventory into the listing', async () => {
    const { market } = await openShop(redis);
    await market.withdraw('offer', 'frank');
    const { value } = await market.list({
      id: 'offer',
      sellerId: 'frank',
      itemId: 'sword',
      price: 97,
      strategy,
    });
    expect(await market.itemsOf('frank')).toEqual({ items: ['shield'], nextCursor: null });
    const listing = await market.listing('offer');
    expect(listing).toEqual({
      id: 'offer',
      itemId: 'sword',
      sellerId: 'frank',
      price: 97,
      listedAt: expect.any(Number),
    });
    expect(value).toEqual(listing);
    expect((await market.listings({ sort: 'price' })).items).toEqual([listing]);
    const [seconds] = await redis.time();
    expect(Math.abs(listing!.listedAt - seconds! * 1_000)).toBeLessThan(10_000);
  });

  test('repeated under the same id gives the same listing; with other content it is refused', async () => {
    const { market, prefix, refusalOf } = await openShop(redis);
    const offer = { id: 'offer', sellerId: 'frank', itemId: 'sword', price: 97, strategy };
    const before = await dump(redis, prefix);
    const { isRepeated, value } = await market.list(offer);
    expect(isRepeated).toBe(true);
    expect(value).toEqual(await market.listing('offer'));
    expect(await dump(redis, prefix)).toEqual(before);
    const reused = { code: 'ERR_REQUEST_REUSED', requestKey: 'offer' };
    expect(await refusalOf(() => market.list({ ...offer, price: 9 }))).toMatchObject(reused);
    expect(await refusalOf(() => market.list({ ...offer, price: 970 }))).toMatchObject(reused);
    expect(await refusalOf(() => market.list({ ...offer, itemId: 'shield' }))).toMatchObject(reused);
  });

  test('an id whose listing was sold is not used again', async () => {
    const { market, refusalOf } = await openShop(redis);
    await market.purchase({ listingId: 'offer', buyerId: 'bill', expectedPrice: 97 });
    const again = { id: 'offer', sellerId: 'bill', itemId: 'sword', price: 97, strategy };
    expect(await refusalOf(() => market.list(again))).toMatchObject({
      code: 'ERR_ALREADY_SOLD',
      listingId: 'offer',
    });
  });

  test('refuses what the seller does not have', async () => {
    const { market, refusalOf } = await openShop(redis);
    const offer = { sellerId: 'frank', itemId: 'shield', price: 5, strategy };
    const cases: [object, object][] = [
      [{ sellerId: 'nobody' }, { code: 'ERR_UNKNOWN_PLAYER', playerId: 'nobody' }],
      [{ itemId: 'nothing' }, { code: 'ERR_UNKNOWN_ITEM', itemId: 'nothing' }],
      [{ sellerId: 'bill' }, { code: 'ERR_NOT_OWNER', playerId: 'bill', itemId: 'shield' }],
      [{ itemId: 'sword' }, { code: 'ERR_ITEM_LISTED', listingId: 'offer' }],
    ];
    for (const [change, refusal] of cases) {
      expect(await refusalOf(() => market.list({ ...offer, ...change }))).toMatchObject(refusal);
    }
  });

  test.each([NaN, Infinity, -1, 0, 0.5, MAX_COINS + 1, '5'])('refuses the price %p', async (price) => {
    const { market, refusalOf } = await openShop(redis);
    const offer = { sellerId: 'frank', itemId: 'shield', price: price as number, strategy };
    expect(await refusalOf(() => market.list(offer))).toMatchObject({
      message: expect.stringMatching(/^price must be/),
    });
  });

  test('offers of one tick travel together and are refused one by one', async () => {
    const { market } = await openShop(redis);
    const results = await Promise.allSettled([
      market.list({ sellerId: 'frank', itemId: 'shield', price: 1, strategy }),
      market.list({ sellerId: 'frank', itemId: 'shield', price: 2, strategy }),
      market.list({ sellerId: 'frank', itemId: 'nothing', price: 3, strategy }),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  });
});

describe('listings', () => {
  test.each([
    ['newest', ['l4', 'l3', 'l2', 'l1', 'l0']],
    ['price', ['l0', 'l2', 'l3', 'l4', 'l1']],
  ] as const)('sorted by %s, in pages of any size', async (sort, order) => {
    const market = await openBazaar();
    for (const limit of [1, 2, 5, 200]) {
      const seen: string[] = [];
      let cursor: string | null | undefined;
      do {
        const page = await market.listings({ sort, limit, cursor: cursor ?? undefined });
        seen.push(...page.items.map(({ id }) => id));
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(seen).toEqual(order);
    }
  });

  test('a listing that is sold between two pages neither shifts nor breaks the next one', async () => {
    const market = await openBazaar();
    const first = await market.listings({ sort: 'price', limit: 2 });
    await market.purchase({ listingId: 'l0', buyerId: 'bill', expectedPrice: 7 });
    await market.purchase({ listingId: 'l2', buyerId: 'bill', expectedPrice: 7 });
    const second = await market.listings({ sort: 'price', limit: 2, cursor: first.nextCursor! });
    expect(second.items.map(({ id }) => id)).toEqual(['l3', 'l4']);
  });

  test('refuses a cursor that is not its own, and a limit out of range', async () => {
    const market = await openBazaar();
    const { nextCursor } = await market.listings({ sort: 'price', limit: 2 });
    const invalid = { code: 'ERR_INVALID_CURSOR' };
    const strange = Buffer.from('newest a\nb').toString('base64url');
    for (const cursor of [nextCursor!, '', 'x', `${nextCursor!}=`, strange]) {
      await expect(market.listings({ sort: 'newest', cursor })).rejects.toMatchObject(invalid);
    }
    for (const limit of [0, 201, 1.5, NaN, -1]) {
      await expect(market.listings({ limit })).rejects.toThrow(/^limit must be/);
    }
  });
});

describe.each(STRATEGIES)('withdraw by %s', (strategy) => {
  test('gives the item back; the seller may repeat it, and to everybody else the listing is unknown', async () => {
    const { market, prefix, refusalOf } = await openShop(redis);
    await market.withdraw('offer', 'frank', { strategy });
    expect(await market.listing('offer')).toBeNull();
    expect((await market.itemsOf('frank')).items).toEqual(['shield', 'sword']);
    expect(await market.listings()).toEqual({ items: [], nextCursor: null });
    const unknown = { code: 'ERR_UNKNOWN_LISTING', listingId: 'offer' };
    const before = await dump(redis, prefix);
    await market.withdraw('offer', 'frank', { strategy });
    expect(await dump(redis, prefix)).toEqual(before);
    expect(await refusalOf(() => market.withdraw('offer', 'bill', { strategy }))).toMatchObject(unknown);
    const order = { listingId: 'offer', buyerId: 'bill', expectedPrice: 97 };
    expect(await refusalOf(() => market.purchase(order))).toMatchObject(unknown);
  });

  test('is for the seller alone, and for what is not sold', async () => {
    const { market, refusalOf } = await openShop(redis);
    const notSeller = { code: 'ERR_NOT_SELLER', listingId: 'offer', playerId: 'bill' };
    expect(await refusalOf(() => market.withdraw('offer', 'bill', { strategy }))).toMatchObject(notSeller);
    await market.purchase({ listingId: 'offer', buyerId: 'bill', expectedPrice: 97 });
    expect(await refusalOf(() => market.withdraw('offer', 'frank', { strategy }))).toMatchObject({
      code: 'ERR_ALREADY_SOLD',
    });
  });
});

describe('ids', () => {
  const texts = [
    '',
    ' ',
    'a b',
    '}x',
    '{}',
    '%',
    '☃',
    'a\n',
    '\u0000',
    '\ud800',
    'a/b',
    '.',
    '..',
    'x'.repeat(129),
  ];

  test.each([...texts, 5, null, {}])('%j is no id of anything', async (value) => {
    const { market, refusalOf } = await openShop(redis);
    const id = value as string;
    const calls: [string, () => Promise<unknown>][] = [
      ['playerId', () => market.putPlayer(id, frank)],
      ['playerId', () => market.player(id)],
      ['playerId', () => market.itemsOf(id)],
      ['playerId', () => market.giveItem(id, 'x')],
      ['itemId', () => market.giveItem('bill', id)],
      ['sellerId', () => market.list({ sellerId: id, itemId: 'shield', price: 1 })],
      ['itemId', () => market.list({ sellerId: 'frank', itemId: id, price: 1 })],
      ['listingId', () => market.listing(id)],
      ['listingId', () => market.withdraw(id, 'frank')],
      ['playerId', () => market.withdraw('offer', id)],
      ['listingId', () => market.purchase({ listingId: id, buyerId: 'bill', expectedPrice: 97 })],
      ['buyerId', () => market.purchase({ listingId: 'offer', buyerId: id, expectedPrice: 97 })],
      ['saleId', () => market.sale(id)],
      ['saleId', () => market.markMailed([id])],
    ];
    for (const [field, call] of calls) {
      expect(await refusalOf(call)).toMatchObject({ code: 'ERR_INVALID_ID', field });
    }
  });

  test.each(STRATEGIES)('may have every character of the alphabet, by %s', async (strategy) => {
    const market = new Market(redis, { prefix: freshPrefix() });
    const id = 'AZaz09._~@:-';
    await market.putPlayer(id, frank);
    await market.putPlayer('bill', bill);
    await market.giveItem(id, id);
    await market.list({ id, sellerId: id, itemId: id, price: 1, strategy });
    const order = { listingId: id, buyerId: 'bill', expectedPrice: 1, requestKey: id, strategy };
    const { value } = await market.purchase(order);
    expect(value).toMatchObject({ listingId: id, itemId: id, sellerId: id });
    expect((await market.itemsOf('bill')).items).toEqual([id]);
  });
});

describe('options', () => {
  test.each([0, -1, 1.5, NaN, Infinity, '3'])('limits of %p are refused', (limit) => {
    for (const option of ['maxPlayers', 'maxItems', 'maxSales', 'lockLeaseMs', 'lockWaitMs']) {
      expect(() => new Market(redis, { [option]: limit })).toThrow(new RegExp(`^${option} must be`));
    }
    expect(() => new Market({} as never)).toThrow(/^redis must be/);
  });
});

test('each method sends one command, and all purchases of a tick are one', async () => {
  const prefix = freshPrefix();
  const market = new Market(redis, { prefix });
  const profile = { name: 'Frank', email: 'frank@example.com', funds: 100 };
  const offer = (itemId: string) => market.list({ id: itemId, sellerId: 'frank', itemId, price: 1 });
  const buy = (listingId: string) => market.purchase({ listingId, buyerId: 'bill', expectedPrice: 1 });
  const saleIds: string[] = [];
  const steps = {
    putPlayer: () => market.putPlayer('frank', profile),
    player: () => market.player('frank'),
    giveItem: () => market.giveItem('frank', 'a'),
    more: () =>
      Promise.all([
        market.putPlayer('bill', profile),
        ...['b', 'c', 'd', 'e', 'f'].map((id) => market.giveItem('frank', id)),
      ]),
    itemsOf: () => market.itemsOf('frank'),
    list: () => offer('a'),
    'list, five at once': () => Promise.all(['b', 'c', 'd', 'e', 'f'].map(offer)),
    listing: () => market.listing('a'),
    listings: () => market.listings({ sort: 'price' }),
    withdraw: () => market.withdraw('d', 'frank'),
    purchase: async () => saleIds.push((await buy('a')).value.id),
    'purchase, two at once': async () => {
      const sales = await Promise.all(['b', 'c'].map(buy));
      saleIds.push(...sales.map(({ value }) => value.id));
    },
    'purchase by lock': () =>
      market.purchase({ listingId: 'e', buyerId: 'bill', expectedPrice: 1, strategy: 'lock' }),
    'purchase by lock, refused': async () => {
      const poor = market.purchase({ listingId: 'f', buyerId: 'bill', expectedPrice: 99, strategy: 'lock' });
      expect(await poor.catch((error: { code: string }) => error.code)).toBe('ERR_PRICE_CHANGED');
    },
    'withdraw by lock': () => market.withdraw('f', 'frank', { strategy: 'lock' }),
    'list by lock': () => market.list({ sellerId: 'frank', itemId: 'f', price: 1, strategy: 'lock' }),
    sale: () => market.sale(saleIds[0]!),
    outbox: () => market.outbox(),
    'markMailed, two calls at once': () =>
      Promise.all(saleIds.slice(0, 2).map((id) => market.markMailed([id]))),
    'markMailed of nothing': () => market.markMailed([]),
  };
  // Other tests may or may not have loaded the scripts: a first run of each has it known to the server.
  const warm = new Market(redis, { prefix: freshPrefix() });
  await warm.putPlayer('frank', profile);
  await warm.player('frank');
  await warm.giveItem('frank', 'a');
  await warm.list({ id: 'a', sellerId: 'frank', itemId: 'a', price: 1 });
  await warm.listings();
  await warm.withdraw('a', 'frank');
  await warm.purchase({ listingId: 'a', buyerId: 'x', expectedPrice: 1 }).catch(() => undefined);
  await warm.outbox();
  await warm.giveItem('frank', 'b');
  await warm.putPlayer('bill', profile);
  const byLock = { strategy: 'lock' } as const;
  await warm.list({ id: 'b', sellerId: 'frank', itemId: 'b', price: 1, ...byLock });
  await warm.withdraw('b', 'frank', byLock);
  await warm.list({ id: 'b', sellerId: 'frank', itemId: 'b', price: 1 });
  await warm.purchase({ listingId: 'b', buyerId: 'bill', expectedPrice: 1, ...byLock });

  expect(await sentBy(redis, prefix, steps)).toEqual({
    putPlayer: ['evalsha'],
    player: ['evalsha_ro'],
    giveItem: ['evalsha'],
    more: Array(6).fill('evalsha'),
    itemsOf: ['zrange'],
    list: ['evalsha'],
    'list, five at once': ['evalsha'],
    listing: ['hget'],
    listings: ['evalsha_ro'],
    withdraw: ['evalsha'],
    purchase: ['evalsha'],
    'purchase, two at once': ['evalsha'],
    'purchase by lock': ['evalsha', 'evalsha_ro', 'evalsha', 'evalsha'],
    'purchase by lock, refused': ['evalsha', 'evalsha_ro', 'evalsha'],
    'withdraw by lock': ['evalsha', 'evalsha_ro', 'evalsha', 'evalsha'],
    'list by lock': ['evalsha', 'evalsha_ro', 'evalsha', 'evalsha'],
    sale: ['hget'],
    outbox: ['evalsha_ro'],
    'markMailed, two calls at once': ['zrem'],
    'markMailed of nothing': [],
  });
});

/** The table at the head of keys.ts: part -> type. */
function promised(): Map<string, string> {
  const source = readFileSync(new URL('../../src/market/keys.ts', import.meta.url), 'utf8');
  const rows = source.matchAll(/^ \* \| `(\w+)(?::<listingId>)?` \| (HASH|ZSET|LIST|STRING|STREAM)/gm);
  return new Map(Array.from(rows, ([, part, type]) => [part!, type!.toLowerCase()]));
}

test('a market leaves the keys of the table and no other, in one slot', async () => {
  const prefix = freshPrefix();
  const market = new Market(redis, { prefix });
  const profile = { name: 'Frank', email: 'frank@example.com', funds: 100 };
  await market.events.cursor();
  for (const id of ['frank', 'bill']) await market.putPlayer(id, profile);
  for (const id of ['sword', 'shield', 'ring']) await market.giveItem('frank', id);
  for (const id of ['sword', 'shield']) await market.list({ id, sellerId: 'frank', itemId: id, price: 7 });
  const sword = { listingId: 'sword', buyerId: 'bill', expectedPrice: 7, requestKey: 'r' };
  await market.purchase({ ...sword, strategy: 'lock' });
  await market.withdraw('shield', 'frank');
  await market.list({ id: 'shield', sellerId: 'frank', itemId: 'shield', price: 7 });
  await market.giveItem('frank', 'bow');
  await market.giveItem('frank', 'axe');
  const bow = await market.list({
    id: 'bow',
    sellerId: 'frank',
    itemId: 'bow',
    price: 7,
    expiresInMs: 1_000,
  });
  await market.list({ id: 'axe', sellerId: 'frank', itemId: 'axe', price: 7, opensAt: Date.now() + 60_000 });
  const ref = { listingId: 'bow', listedAt: bow.value.listedAt };
  await until('the bow to expire', async () => (await market.timed.expire(ref)).status === 'done');

  const table = promised();
  const stem = `${prefix}:market:{main}:`;
  const keys = await keysOf(redis, `${prefix}:market`);
  const partOf = (key: string): string => key.slice(stem.length).replace(/:(sword|shield)$/, '');
  expect(keys.map(partOf).toSorted()).toEqual([...table.keys()].toSorted());
  expect(table.size).toBe(18);
  for (const key of keys) {
    const expires = (await redis.pttl(key)) > 0;
    const is = [await redis.type(key), expires];
    const lasts = !['events', 'fence', 'withdrawn'].includes(partOf(key));
    expect([key, ...is]).toEqual([key, table.get(partOf(key)), !lasts]);
  }
  expect(new Set(keys.map(keySlot)).size).toBe(1);

  // A sold or withdrawn item leaves only the receipt.
  await market.withdraw('shield', 'frank');
  await market.withdraw('axe', 'frank');
  await market.timed.markExpiryMailed(ref);
  await market.timed.markTimed((await market.timed.timers()).map(({ place }) => place));
  const gone = ['listed', 'listings', 'newest', 'prices', 'timers', 'expired'].map((part) => stem + part);
  expect(await redis.exists(...gone)).toBe(0);
});

const proxy = await startProxy({ port: Number(new URL(REDIS_URL).port) });
afterAll(() => proxy.stop());
let resending: Redis;

/** A market whose client sends again what has no reply, and knows every script. */
async function openResending(prefix: string): Promise<Market> {
  resending = new Redis(proxy.url, { retryStrategy: () => 1, maxRetriesPerRequest: null });
  const options = { lockWaitMs: 10_000, lockLeaseMs: 60_000 };
  const warm = new Market(resending, { prefix: freshPrefix(), ...options });
  for (const strategy of STRATEGIES) {
    for (const id of ['frank', 'bill'])
      await warm.putPlayer(id, { name: id, email: 'a@example.com', funds: 9 });
    for (const id of ['a', 'b']) {
      await warm.giveItem('frank', strategy + id);
      await warm.list({ id: strategy + id, sellerId: 'frank', itemId: strategy + id, price: 1, strategy });
    }
    await warm.purchase({ listingId: `${strategy}a`, buyerId: 'bill', expectedPrice: 1, strategy });
    await warm.withdraw(`${strategy}b`, 'frank', { strategy });
  }
  return new Market(resending, { prefix, ...options });
}

const WRITES: Record<string, (market: Market, strategy: Strategy) => Promise<unknown>> = {
  purchase: async (market, strategy) => {
    const order = { listingId: 'offer', buyerId: 'bill', expectedPrice: 97, strategy };
    const { value, isRepeated } = await market.purchase(order);
    return { price: value.price, isRepeated };
  },
  withdraw: (market, strategy) => market.withdraw('offer', 'frank', { strategy }),
  list: async (market, strategy) => {
    const shield = { sellerId: 'frank', itemId: 'shield', price: 3, strategy };
    const { value, isRepeated } = await market.list(shield);
    return { price: value.price, isRepeated };
  },
};

/** Which of the commands lose their reply. */
const COMMANDS: Record<Strategy, number[]> = { script: [1], lock: [1, 2, 3, 4] };

/** The connection ends between a command and its reply, and the client sends the command again. */
describe.each(STRATEGIES)('a lost reply by %s', (strategy) => {
  afterEach(() => resending.disconnect());

  describe.each(Object.keys(WRITES))('%s', (name) => {
    test.each(COMMANDS[strategy])('answers as without the loss when reply %i is lost', async (nth) => {
      const act = WRITES[name]!;
      const stateOf = async (market: Market): Promise<object> => ({
        frank: [await market.player('frank'), (await market.itemsOf('frank')).items],
        bill: [await market.player('bill'), (await market.itemsOf('bill')).items],
        // Two of one millisecond come in the order of their ids, which are random.
        listings: new Map((await market.listings()).items.map(({ itemId, price }) => [itemId, price])),
        sales: (await market.outbox()).map(({ listingId, price }) => [listingId, price]),
      });
      const undisturbed = await openShop(redis);
      const expected = await act(undisturbed.market, strategy);

      const { market, prefix } = await openShop(redis);
      const disturbed = await openResending(prefix);
      const lost = proxy.loseReply(nth);
      const answer = act(disturbed, strategy);
      await lost;
      expect(await answer).toEqual(expected);
      expect(await stateOf(market)).toEqual(await stateOf(undisturbed.market));
    });
  });

  test('a withdrawal that is sent again takes back no later listing of the same id', async () => {
    const { market, prefix } = await openShop(redis);
    const disturbed = await openResending(prefix);
    const later = { id: 'offer', sellerId: 'frank', itemId: 'sword', price: 50 };
    const lost = proxy.loseReply(strategy === 'lock' ? 3 : 1);
    const answer = disturbed.withdraw('offer', 'frank', { strategy });
    await lost;
    proxy.refuse();
    await market.list(later);
    await proxy.restore();
    await answer;
    expect(await market.listing('offer')).toMatchObject({ price: 50 });
  });
});

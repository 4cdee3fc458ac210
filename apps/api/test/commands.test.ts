/** Which commands each method of Market sends: an added round trip shows here. */
import { expect, test } from '@jest/globals';
import { connect, freshPrefix, transcript } from '@mortise/test-kit';

import { Market } from '../src/market/index.js';

const redis = connect();
const prefix = freshPrefix();

/** Runs the steps, and tells for each what the client sent, without what scripts did inside. */
async function sentBy(steps: Record<string, () => Promise<unknown>>): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const [name, act] of Object.entries(steps)) {
    const lines = await transcript(redis, { prefix }, act);
    found[name] = lines.flatMap((line) => (line.startsWith(' ') ? [] : line.split(' ', 1)));
  }
  return found;
}

test('one command for each method, and one for all purchases of a tick', async () => {
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

  expect(await sentBy(steps)).toEqual({
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

import { readFileSync } from 'node:fs';

import { expect, test } from '@jest/globals';
import { keySlot } from '@mortise/redis';
import { connect, freshPrefix } from '@mortise/test-kit';

import { Market } from '../src/market/index.js';
import { keysOf } from './fixture/redis.js';

const redis = connect();

/** The table at the head of keys.ts: part -> type. */
function promised(): Map<string, string> {
  const source = readFileSync(new URL('../src/market/keys.ts', import.meta.url), 'utf8');
  const rows = source.matchAll(/^ \* \| `(\w+)` \| (HASH|ZSET|LIST)/gm);
  return new Map(Array.from(rows, ([, part, type]) => [part!, type!.toLowerCase()]));
}

test('a market leaves the keys of the table and no other, in one slot', async () => {
  const prefix = freshPrefix();
  const market = new Market(redis, { prefix });
  const profile = { name: 'Frank', email: 'frank@example.com', funds: 100 };
  for (const id of ['frank', 'bill']) await market.putPlayer(id, profile);
  for (const id of ['sword', 'shield', 'ring']) await market.giveItem('frank', id);
  for (const id of ['sword', 'shield']) await market.list({ id, sellerId: 'frank', itemId: id, price: 7 });
  await market.purchase({ listingId: 'sword', buyerId: 'bill', expectedPrice: 7, requestKey: 'r' });

  const table = promised();
  const stem = `${prefix}:market:{main}:`;
  const keys = await keysOf(redis, prefix);
  expect(keys).toEqual([...table.keys()].map((part) => stem + part).toSorted());
  expect(table.size).toBe(13);
  for (const key of keys)
    expect([key, await redis.type(key)]).toEqual([key, table.get(key.slice(stem.length))]);
  expect(new Set(keys.map(keySlot)).size).toBe(1);

  // What is sold or withdrawn leaves nothing behind but the receipt.
  await market.withdraw('shield', 'frank');
  const gone = ['listed', 'listings', 'newest', 'prices'].map((part) => stem + part);
  expect(await redis.exists(...gone)).toBe(0);
});

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
  const rows = source.matchAll(/^ \* \| `(\w+)(?::<listingId>)?` \| (HASH|ZSET|LIST|STRING)/gm);
  return new Map(Array.from(rows, ([, part, type]) => [part!, type!.toLowerCase()]));
}

test('a market leaves the keys of the table and no other, in one slot', async () => {
  const prefix = freshPrefix();
  const market = new Market(redis, { prefix });
  const profile = { name: 'Frank', email: 'frank@example.com', funds: 100 };
  for (const id of ['frank', 'bill']) await market.putPlayer(id, profile);
  for (const id of ['sword', 'shield', 'ring']) await market.giveItem('frank', id);
  for (const id of ['sword', 'shield']) await market.list({ id, sellerId: 'frank', itemId: id, price: 7 });
  const sword = { listingId: 'sword', buyerId: 'bill', expectedPrice: 7, requestKey: 'r' };
  await market.purchase({ ...sword, strategy: 'lock' });

  const table = promised();
  const stem = `${prefix}:market:{main}:`;
  const keys = await keysOf(redis, `${prefix}:market`);
  const partOf = (key: string): string => key.slice(stem.length).replace(/:sword$/, '');
  expect(keys.map(partOf).toSorted()).toEqual([...table.keys()].toSorted());
  expect(table.size).toBe(14);
  for (const key of keys) {
    const expires = (await redis.pttl(key)) > 0;
    const is = [await redis.type(key), expires];
    expect([key, ...is]).toEqual([key, table.get(partOf(key)), partOf(key) === 'fence']);
  }
  expect(new Set(keys.map(keySlot)).size).toBe(1);

  // What is sold or withdrawn leaves nothing behind but the receipt.
  await market.withdraw('shield', 'frank');
  const gone = ['listed', 'listings', 'newest', 'prices'].map((part) => stem + part);
  expect(await redis.exists(...gone)).toBe(0);
});

import { readFileSync } from 'node:fs';

import { expect, test } from '@jest/globals';
import { keySlot } from '@mortise/redis';
import { connect, freshPrefix } from '@mortise/test-kit';

import { Market } from '../src/market/index.js';
import { keysOf, until } from './fixture/redis.js';

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
  expect(table.size).toBe(17);
  for (const key of keys) {
    const expires = (await redis.pttl(key)) > 0;
    const is = [await redis.type(key), expires];
    expect([key, ...is]).toEqual([key, table.get(partOf(key)), ['fence', 'withdrawn'].includes(partOf(key))]);
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

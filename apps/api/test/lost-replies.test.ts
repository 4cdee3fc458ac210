/**
 * The outcome of a call whose connection ends between a command and its reply, when the client sends the command again: it
 * is the same as without the loss, and the market is in the same state.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { TcpProxy } from '@mortise/redis-server';
import { startProxy } from '@mortise/redis-server';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Redis } from 'ioredis';

import type { Strategy } from '../src/market/index.js';
import { Market, STRATEGIES } from '../src/market/index.js';
import { REDIS_URL } from './fixture/redis.js';
import { openShop } from './fixture/shop.js';

const redis = connect();
let proxy: TcpProxy;
let resending: Redis;

beforeAll(async () => {
  proxy = await startProxy({ port: Number(new URL(REDIS_URL).port) });
});
afterEach(() => resending.disconnect());
afterAll(() => proxy.stop());

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

/** Each write of the market, and which of its commands lose their reply. */
const WRITES: Record<string, (market: Market, strategy: Strategy) => Promise<unknown>> = {
  purchase: async (market, strategy) => {
    const { value, isRepeated } = await market.purchase({
      listingId: 'offer',
      buyerId: 'bill',
      expectedPrice: 97,
      strategy,
    });
    return { price: value.price, isRepeated };
  },
  withdraw: (market, strategy) => market.withdraw('offer', 'frank', { strategy }),
  list: async (market, strategy) => {
    const { value, isRepeated } = await market.list({
      sellerId: 'frank',
      itemId: 'shield',
      price: 3,
      strategy,
    });
    return { price: value.price, isRepeated };
  },
};

const COMMANDS: Record<Strategy, number[]> = { script: [1], lock: [1, 2, 3, 4] };

describe.each(STRATEGIES)('by %s', (strategy) => {
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
      const undisturbed = await openShop(redis, { lockWaitMs: 10_000 });
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
    const { market, prefix } = await openShop(redis, { lockWaitMs: 10_000 });
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

/** Random trade against a model in memory, then random trade at once against what must never change. */
import { describe, expect, test } from '@jest/globals';
import { connect, freshPrefix } from '@mortise/test-kit';
import * as fc from 'fast-check';

import { Market, STRATEGIES } from '../../src/market/index.js';
import type { Strategy } from '../../src/market/index.js';

const redis = connect();
const other = connect();

const PLAYERS = ['ann', 'bob', 'cid'];
const ITEMS = ['axe', 'bow', 'cup', 'dye'];
const LISTINGS = ['l1', 'l2', 'l3', 'l4', 'l5', 'l6'];
const FUNDS = 10;
/** Patient, because the machine may be busy: a lock that came too late would be no answer of the model. */
const WAIT_MS = 20_000;
const BUSY_MS = 60_000;

type Step = { readonly strategy: Strategy } & (
  | {
      readonly do: 'list';
      readonly id: string;
      readonly sellerId: string;
      readonly itemId: string;
      readonly price: number;
    }
  | { readonly do: 'withdraw'; readonly id: string; readonly playerId: string }
  | {
      readonly do: 'buy';
      readonly id: string;
      readonly buyerId: string;
      readonly price: number;
      readonly key?: string | undefined;
    }
);

const player = fc.constantFrom(...PLAYERS);
const listing = fc.constantFrom(...LISTINGS);
// Few prices, so that many purchases succeed; the second one soon empties a purse.
const price = fc.constantFrom(3, 9);
const requestKey = fc.option(fc.constantFrom('k1', 'k2'), { nil: undefined, freq: 4 });
const strategy = fc.constantFrom(...STRATEGIES);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('list' as const),
      id: listing,
      sellerId: player,
      itemId: fc.constantFrom(...ITEMS),
      price,
      strategy,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('withdraw' as const), id: listing, playerId: player, strategy }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('buy' as const),
      id: listing,
      buyerId: player,
      price,
      key: requestKey,
      strategy,
    }),
  },
);

const ROUNDS = fc.array(fc.array(step, { minLength: 5, maxLength: 20, size: 'max' }), {
  minLength: 2,
  maxLength: 6,
  size: 'max',
});

async function newMarket(): Promise<{ market: Market; prefix: string }> {
  const prefix = freshPrefix();
  const market = new Market(redis, { prefix, lockWaitMs: WAIT_MS });
  await Promise.all(
    PLAYERS.map((id) => market.putPlayer(id, { name: id, email: `${id}@example.com`, funds: FUNDS })),
  );
  await Promise.all(ITEMS.map((id, index) => market.giveItem(PLAYERS[index % PLAYERS.length]!, id)));
  return { market, prefix };
}

function run(market: Market, it: Step): Promise<unknown> {
  if (it.do === 'list') return market.list(it);
  if (it.do === 'withdraw') return market.withdraw(it.id, it.playerId, it);
  return market.purchase({
    listingId: it.id,
    buyerId: it.buyerId,
    expectedPrice: it.price,
    requestKey: it.key,
    strategy: it.strategy,
  });
}

async function outcomeOf(market: Market, it: Step): Promise<string> {
  try {
    await run(market, it);
    return 'ok';
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

/** All that trade at once may lead to. */
const OUTCOMES = new Set([
  'ok',
  'ERR_ALREADY_SOLD',
  'ERR_INSUFFICIENT_FUNDS',
  'ERR_ITEM_LISTED',
  'ERR_NOT_OWNER',
  'ERR_NOT_SELLER',
  'ERR_OWN_LISTING',
  'ERR_PRICE_CHANGED',
  'ERR_REQUEST_REUSED',
  'ERR_UNKNOWN_LISTING',
]);

/** The rules once more, as plainly as possible. */
class Model {
  readonly funds = new Map(PLAYERS.map((id) => [id, FUNDS]));
  readonly owners = new Map(ITEMS.map((id, index) => [id, PLAYERS[index % PLAYERS.length]!]));
  readonly listings = new Map<string, { sellerId: string; itemId: string; price: number }>();
  readonly sold = new Set<string>();
  /** The seller of the last withdrawal, by listing. */
  readonly withdrawn = new Map<string, string>();
  readonly requests = new Map<string, string>();

  run(it: Step): string {
    if (it.do === 'list') return this.#list(it);
    if (it.do === 'withdraw') return this.#withdraw(it);
    return this.#buy(it);
  }

  #list({ id, sellerId, itemId, price: coins }: Step & { do: 'list' }): string {
    const present = this.listings.get(id);
    if (present) {
      const isSame = present.sellerId === sellerId && present.itemId === itemId && present.price === coins;
      return isSame ? 'ok' : 'ERR_REQUEST_REUSED';
    }
    if (this.sold.has(id)) return 'ERR_ALREADY_SOLD';
    const owner = this.owners.get(itemId);
    if (!owner) return 'ERR_ITEM_LISTED';
    if (owner !== sellerId) return 'ERR_NOT_OWNER';
    this.owners.delete(itemId);
    this.listings.set(id, { sellerId, itemId, price: coins });
    return 'ok';
  }

  #withdraw({ id, playerId }: Step & { do: 'withdraw' }): string {
    const present = this.listings.get(id);
    if (!present && this.sold.has(id)) return 'ERR_ALREADY_SOLD';
    if (!present) return this.withdrawn.get(id) === playerId ? 'ok' : 'ERR_UNKNOWN_LISTING';
    if (present.sellerId !== playerId) return 'ERR_NOT_SELLER';
    this.listings.delete(id);
    this.withdrawn.set(id, playerId);
    this.owners.set(present.itemId, playerId);
    return 'ok';
  }

  #buy({ id, buyerId, price: coins, key }: Step & { do: 'buy' }): string {
    const request = `${id} ${buyerId} ${coins}`;
    if (key && this.requests.has(key))
      return this.requests.get(key) === request ? 'ok' : 'ERR_REQUEST_REUSED';
    const present = this.listings.get(id);
    if (!present) return this.sold.has(id) ? 'ERR_ALREADY_SOLD' : 'ERR_UNKNOWN_LISTING';
    if (present.sellerId === buyerId) return 'ERR_OWN_LISTING';
    if (present.price !== coins) return 'ERR_PRICE_CHANGED';
    if (this.funds.get(buyerId)! < coins) return 'ERR_INSUFFICIENT_FUNDS';
    this.funds.set(buyerId, this.funds.get(buyerId)! - coins);
    this.funds.set(present.sellerId, this.funds.get(present.sellerId)! + coins);
    this.listings.delete(id);
    this.owners.set(present.itemId, buyerId);
    this.sold.add(id);
    if (key) this.requests.set(key, request);
    return 'ok';
  }
}

/** The visible state of the market. */
async function read(
  market: Market,
): Promise<{ funds: number[]; inventories: string[][]; listed: string[]; cheapest: string[] }> {
  const funds = await Promise.all(PLAYERS.map(async (id) => (await market.player(id))!.funds));
  const inventories = await Promise.all(PLAYERS.map(async (id) => [...(await market.itemsOf(id)).items]));
  const newest = await market.listings({ sort: 'newest' });
  const byPrice = await market.listings({ sort: 'price' });
  return {
    funds,
    inventories,
    listed: newest.items.map(({ id }) => id).toSorted(),
    cheapest: byPrice.items.map(({ id }) => id).toSorted(),
  };
}

describe('a market', () => {
  test(
    'does what the model does, step by step',
    async () => {
      let sales = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80, size: 'max' }), async (steps) => {
          const { market } = await newMarket();
          const model = new Model();
          for (const it of steps) expect([it, await outcomeOf(market, it)]).toEqual([it, model.run(it)]);
          sales += model.sold.size;
          const listed = [...model.listings.keys()].toSorted();
          expect(await read(market)).toEqual({
            funds: PLAYERS.map((id) => model.funds.get(id)),
            inventories: PLAYERS.map((id) => ITEMS.filter((item) => model.owners.get(item) === id)),
            listed,
            cheapest: listed,
          });
        }),
        { numRuns: 40 },
      );
      expect(sales).toBeGreaterThan(20);
    },
    BUSY_MS,
  );

  test(
    'makes and loses neither coins nor items when all trade at once on two connections, by lock and by script',
    async () => {
      let sales = 0;
      await fc.assert(
        fc.asyncProperty(ROUNDS, async (rounds) => {
          const { market, prefix } = await newMarket();
          const elsewhere = new Market(other, { prefix, lockWaitMs: WAIT_MS });
          for (const round of rounds) {
            const outcomes = await Promise.all(
              round.map((it, index) => outcomeOf(index % 2 ? market : elsewhere, it)),
            );
            expect(outcomes.filter((outcome) => !OUTCOMES.has(outcome))).toEqual([]);
            const { funds, inventories, listed, cheapest } = await read(market);
            expect(funds.reduce((sum, coins) => sum + coins, 0)).toBe(FUNDS * PLAYERS.length);
            expect(Math.min(...funds)).toBeGreaterThanOrEqual(0);
            const offered = await Promise.all(listed.map(async (id) => (await market.listing(id))!.itemId));
            expect([...inventories.flat(), ...offered].toSorted()).toEqual(ITEMS);
            expect(cheapest).toEqual(listed);
          }
          const receipts = await market.outbox(1_000);
          sales += receipts.length;
          const flow = new Map(PLAYERS.map((id) => [id, FUNDS]));
          for (const { sellerId, buyerId, price: coins } of receipts) {
            flow.set(sellerId, flow.get(sellerId)! + coins);
            flow.set(buyerId, flow.get(buyerId)! - coins);
          }
          expect((await read(market)).funds).toEqual(PLAYERS.map((id) => flow.get(id)));
          expect(new Set(receipts.map(({ listingId }) => listingId)).size).toBe(receipts.length);
        }),
        { numRuns: 40 },
      );
      expect(sales).toBeGreaterThan(20);
    },
    BUSY_MS,
  );
});

/**
 * The market of Redis in Action, 4.4 and 6.2, four ways: how an item is put on it and bought from it. A market is one
 * sorted set of `<item>.<seller>` by price; a user has a hash with funds and a set of items.
 */
import { Mutex } from '@mortise/locks';
import type { Redis } from 'ioredis';

export interface Market {
  list(item: string, seller: string, price: number): Promise<boolean>;
  /** `bought`, or why not: the item or the money is `gone`, or a `conflict` that may be tried again. */
  buy(offer: Offer, buyer: string): Promise<'bought' | 'gone' | 'conflict'>;
}

export interface Offer {
  readonly item: string;
  readonly seller: string;
  readonly price: number;
}

export const MARKET = 'market';

export const fundsOf = (user: string): string => `users:${user}`;
export const inventoryOf = (user: string): string => `inventory:${user}`;

const member = ({ item, seller }: { item: string; seller: string }): string => `${item}.${seller}`;

/** Listings 4.5 and 4.6: the seller's items or the whole market are watched, whoever changes them makes the others start again. */
function watching(redis: Redis): Market {
  return {
    list: async (item, seller, price) => {
      const inventory = inventoryOf(seller);
      const [, owned] = await Promise.all([redis.watch(inventory), redis.sismember(inventory, item)]);
      if (owned === 0) {
        await redis.unwatch();
        return false;
      }
      return (await listing(redis, item, seller, price)) !== null;
    },
    buy: async (offer, buyer) => {
      const [, isGood] = await Promise.all([
        redis.watch(MARKET, fundsOf(buyer)),
        isAffordable(redis, offer, buyer),
      ]);
      if (!isGood) {
        await redis.unwatch();
        return 'gone';
      }
      return (await purchase(redis, offer, buyer)) === null ? 'conflict' : 'bought';
    },
  };
}

/** Section 6.2.3 and 6.2.4: a lock over the market, or one over each item. */
function locking(redis: Redis, nameOf: (item: string) => string): Market {
  const locked = async <Result>(item: string, section: () => Promise<Result>): Promise<Result> => {
    const lease = await new Mutex(redis, nameOf(item)).acquire();
    try {
      return await section();
    } finally {
      await lease.release();
    }
  };
  return {
    list: (item, seller, price) =>
      locked(item, async () => {
        if ((await redis.sismember(inventoryOf(seller), item)) === 0) return false;
        await listing(redis, item, seller, price);
        return true;
      }),
    buy: (offer, buyer) =>
      locked(offer.item, async () => {
        if (!(await isAffordable(redis, offer, buyer))) return 'gone';
        await purchase(redis, offer, buyer);
        return 'bought';
      }),
  };
}

/** The same checks and writes inside Redis. */
function scripted(redis: Redis): Market {
  redis.defineCommand('marketList', { numberOfKeys: 2, lua: LIST });
  redis.defineCommand('marketBuy', { numberOfKeys: 4, lua: BUY });
  const scripts = redis as Redis & Record<'marketList' | 'marketBuy', (...args: string[]) => Promise<number>>;
  return {
    list: async (item, seller, price) =>
      (await scripts.marketList(
        MARKET,
        inventoryOf(seller),
        item,
        member({ item, seller }),
        String(price),
      )) === 1,
    buy: async (offer, buyer) => {
      const keys = [MARKET, fundsOf(buyer), fundsOf(offer.seller), inventoryOf(buyer)];
      const bought = await scripts.marketBuy(...keys, offer.item, member(offer), String(offer.price));
      return bought === 1 ? 'bought' : 'gone';
    },
  };
}

const LIST = `#!lua
local market, inventory = KEYS[1], KEYS[2]
local item, member, price = ARGV[1], ARGV[2], ARGV[3]
if redis.call('SREM', inventory, item) == 0 then return 0 end
redis.call('ZADD', market, price, member)
return 1`;

const BUY = `#!lua
local market, buyer, seller, inventory = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local item, member, price = ARGV[1], ARGV[2], tonumber(ARGV[3])
if tonumber(redis.call('ZSCORE', market, member)) ~= price then return 0 end
if tonumber(redis.call('HGET', buyer, 'funds')) < price then return 0 end
redis.call('HINCRBY', seller, 'funds', price)
redis.call('HINCRBY', buyer, 'funds', -price)
redis.call('SADD', inventory, item)
redis.call('ZREM', market, member)
return 1`;

function listing(redis: Redis, item: string, seller: string, price: number): Promise<unknown> {
  return redis.multi().zadd(MARKET, price, member({ item, seller })).srem(inventoryOf(seller), item).exec();
}

async function isAffordable(redis: Redis, offer: Offer, buyer: string): Promise<boolean> {
  const [price, funds] = await Promise.all([
    redis.zscore(MARKET, member(offer)),
    redis.hget(fundsOf(buyer), 'funds'),
  ]);
  return Number(price) === offer.price && Number(funds) >= offer.price;
}

function purchase(redis: Redis, offer: Offer, buyer: string): Promise<unknown> {
  return redis
    .multi()
    .hincrby(fundsOf(offer.seller), 'funds', offer.price)
    .hincrby(fundsOf(buyer), 'funds', -offer.price)
    .sadd(inventoryOf(buyer), offer.item)
    .zrem(MARKET, member(offer))
    .exec();
}

export const STRATEGIES = {
  watch: watching,
  coarse: (redis: Redis) => locking(redis, () => MARKET),
  fine: (redis: Redis) => locking(redis, (item) => `item:${item}`),
  script: scripted,
};

export type Strategy = keyof typeof STRATEGIES;

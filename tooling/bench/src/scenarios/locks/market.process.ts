/** One actor of the market: a seller who lists items without end, or a buyer who buys what a random draw shows. */
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MakeSegment } from '../../crew-member.js';
import { fundsOf, inventoryOf, MARKET, STRATEGIES } from './market-strategies.js';
import type { Market, Offer, Strategy } from './market-strategies.js';

export interface MarketSettings {
  readonly url: string;
  readonly strategy: Strategy;
  readonly role: 'lister' | 'buyer';
  readonly user: string;
}

export interface MarketReport {
  listed: number;
  bought: number;
  retries: number;
  /** The wait of all purchases together. */
  waitedMs: number;
}

const STOCK = 1000;
const FUNDS = 1e12;
const HIGHEST_PRICE = 100;

const make: MakeSegment<MarketSettings, MarketReport> = async ({ url, strategy, role, user }) => {
  const redis = new Redis(url);
  const market = STRATEGIES[strategy](redis);
  let report = emptyReport();
  const act = role === 'lister' ? lister(redis, market, user) : buyer(redis, market, user);
  if (role === 'buyer') await redis.hset(fundsOf(user), 'funds', FUNDS);
  return {
    start: () => {
      void (async () => {
        for (;;) await act(report);
      })();
    },
    open: () => {
      report = emptyReport();
    },
    close: () => report,
  };
};

export default make;

function lister(redis: Redis, market: Market, seller: string): (report: MarketReport) => Promise<void> {
  let next = 0;
  return async (report) => {
    if (next % STOCK === 0) {
      const items = Array.from({ length: STOCK }, (_, index) => `${seller}-${next + index}`);
      await redis.sadd(inventoryOf(seller), ...items);
    }
    const price = 1 + (next % HIGHEST_PRICE);
    if (await market.list(`${seller}-${next}`, seller, price)) {
      report.listed += 1;
      next += 1;
    }
  };
}

/** The wait begins when a buyer has seen something to buy, and ends with a purchase, whatever it took. */
function buyer(redis: Redis, market: Market, user: string): (report: MarketReport) => Promise<void> {
  return async (report) => {
    let offer = await draw(redis);
    const seenAt = performance.now();
    while (offer) {
      const outcome = await market.buy(offer, user);
      if (outcome === 'bought') {
        report.bought += 1;
        report.waitedMs += performance.now() - seenAt;
        return;
      }
      if (outcome === 'conflict') report.retries += 1;
      else offer = await draw(redis);
    }
    await sleep(1);
  };
}

async function draw(redis: Redis): Promise<Offer | undefined> {
  const [drawn, price] = await redis.zrandmember(MARKET, 1, 'WITHSCORES');
  if (drawn === undefined || price === undefined) return undefined;
  const [item, seller] = drawn.split('.') as [string, string];
  return { item, seller, price: Number(price) };
}

function emptyReport(): MarketReport {
  return { listed: 0, bought: 0, retries: 0, waitedMs: 0 };
}

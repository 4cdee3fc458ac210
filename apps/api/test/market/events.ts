/** The events of listings: those of each change, for readers who come, go and are late. */
import { getEventListeners } from 'node:events';

import { describe, expect, test } from '@jest/globals';
import { connect, freshPrefix, until } from '@mortise/test-kit';

import type { Market, MarketEvent } from '../../src/market/index.js';
import { STRATEGIES } from '../../src/market/index.js';
import { keysOf } from '../fixture/redis.js';
import { sentBy } from '../fixture/sent-by.js';
import { openShop } from '../fixture/shop.js';

const redis = connect();

interface Reading {
  readonly events: MarketEvent[];
  /** Resolves when so many have come, to each as `type listingId`. */
  readonly count: (events: number) => Promise<string[]>;
  readonly stop: () => Promise<void>;
}

function follow(market: Market, after: string): Reading {
  const controller = new AbortController();
  const { signal } = controller;
  const events: MarketEvent[] = [];
  const reading = (async (): Promise<void> => {
    for await (const event of market.events.follow({ after, signal })) events.push(event);
  })();
  return {
    events,
    count: (count) =>
      until(`${count} events`, async () =>
        events.length < count ? undefined : events.map(({ type, listing }) => `${type} ${listing?.id}`),
      ),
    stop: async () => {
      controller.abort();
      await reading;
      expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    },
  };
}

describe.each(STRATEGIES)('trades by %s', (strategy) => {
  test('give an event for each change, and none for a repetition or a refusal', async () => {
    const { market } = await openShop(redis);
    const { events, count, stop } = follow(market, await market.events.cursor());
    const offer = { id: 'shield', sellerId: 'frank', itemId: 'shield', price: 7, strategy };
    const { value: shield } = await market.list(offer);
    await market.list(offer);
    await market.withdraw('shield', 'frank', { strategy });
    await market.withdraw('shield', 'frank', { strategy });
    const order = { listingId: 'offer', buyerId: 'bill', expectedPrice: 97, requestKey: 'r', strategy };
    await market.purchase({ ...order, expectedPrice: 1 }).catch(() => undefined);
    await market.purchase(order);
    await market.purchase(order);
    await market.list({ ...offer, id: 'last' });
    expect(await count(4)).toEqual(['listed shield', 'withdrawn shield', 'sold offer', 'listed last']);
    expect(events[0]).toEqual({
      type: 'listed',
      at: expect.any(Number),
      listing: shield,
      cursor: expect.stringMatching(/^\d+-\d+$/),
    });
    expect(events[2]!.listing).toEqual({
      id: 'offer',
      itemId: 'sword',
      sellerId: 'frank',
      price: 97,
      listedAt: expect.any(Number),
    });
    await stop();
    // After any of them.
    for (const [index, { cursor }] of events.slice(0, 3).entries()) {
      const rest = follow(market, cursor);
      await rest.count(3 - index);
      expect(rest.events).toEqual(events.slice(index + 1));
      await rest.stop();
    }
  });

  test('of a listing that opens later are shown from then on', async () => {
    const { market } = await openShop(redis);
    const { count, stop } = follow(market, await market.events.cursor());
    const opensAt = Date.now() + 400;
    const later = { sellerId: 'frank', itemId: 'shield', price: 7, strategy };
    await market.list({ ...later, id: 'never', opensAt: opensAt + 60_000 });
    await market.withdraw('never', 'frank', { strategy });
    const { value } = await market.list({ ...later, id: 'soon', opensAt, expiresInMs: 1_000 });
    const ref = { listingId: 'soon', listedAt: value.listedAt };
    await until('it to open', async () => (await market.timed.open(ref)).status === 'done');
    await market.timed.open(ref);
    await until('it to expire', async () => (await market.timed.expire(ref)).status === 'done');
    await market.timed.expire(ref);
    await market.list({ ...later, id: 'last' });
    expect(await count(3)).toEqual(['listed soon', 'expired soon', 'listed last']);
    await stop();
  });
});

test('nobody who follows: trades write no events, and the stream goes away a day after its last reader', async () => {
  const { market, prefix } = await openShop(redis);
  await market.withdraw('offer', 'frank');
  const key = `${prefix}:market:{main}:events`;
  expect(await keysOf(redis, prefix)).not.toContain(key);
  await market.events.cursor();
  expect(await redis.pttl(key)).toBeGreaterThan(86_300_000);
  await redis.pexpire(key, 5_000);
  const { count, stop } = follow(market, await market.events.cursor());
  await market.list({ id: 'a', sellerId: 'frank', itemId: 'sword', price: 1 });
  await count(1);
  await stop();
  expect(await redis.pttl(key)).toBeGreaterThan(86_300_000);
});

test.each<[string, (key: string) => Promise<unknown>]>([
  ['were trimmed', (key) => redis.xtrim(key, 'MAXLEN', 1)],
  ['are gone with the stream', (key) => redis.del(key)],
])('a reader whose events %s gets a reset, and goes on', async (_, lose) => {
  const { market, prefix } = await openShop(redis);
  const after = await market.events.cursor();
  await market.withdraw('offer', 'frank');
  await market.list({ id: 'a', sellerId: 'frank', itemId: 'sword', price: 1 });
  // A stream that begins again in the same millisecond has an event of the same id.
  await until('a later millisecond', async () => Date.now() > Number.parseInt(after, 10));
  await lose(`${prefix}:market:{main}:events`);
  const { events, count, stop } = follow(market, after);
  await count(1);
  await market.withdraw('a', 'frank');
  expect(await count(2)).toEqual(['reset undefined', 'withdrawn a']);
  await stop();
  const next = follow(market, events[0]!.cursor);
  expect(await next.count(1)).toEqual(['withdrawn a']);
  await next.stop();
});

test('keeps about 10,000 events, and gives a reader more than a page', async () => {
  const { market, prefix } = await openShop(redis);
  const key = `${prefix}:market:{main}:events`;
  const after = await market.events.cursor();
  for (let n = 0; n < 130; n += 1) {
    await market.withdraw('offer', 'frank');
    await market.list({ id: 'offer', sellerId: 'frank', itemId: 'sword', price: 1 + n });
  }
  const { events, count, stop } = follow(market, after);
  await count(260);
  await stop();
  expect(events.filter(({ type }) => type === 'listed').map(({ listing }) => listing!.price)).toEqual(
    Array.from({ length: 130 }, (_, n) => 1 + n),
  );
  const pipeline = redis.pipeline();
  for (let n = 0; n < 11_000; n += 1) pipeline.xadd(key, '*', 'listed', 'a b c 1 1');
  await pipeline.exec();
  await market.withdraw('offer', 'frank');
  const length = await redis.xlen(key);
  expect(length).toBeGreaterThanOrEqual(10_000);
  expect(length).toBeLessThan(10_200);
});

test('sends one command for the events of a moment', async () => {
  const { market, prefix } = await openShop(redis);
  const after = await market.events.cursor();
  await market.withdraw('offer', 'frank');
  const sent = await sentBy(redis, prefix, {
    cursor: () => market.events.cursor(),
    follow: async () => {
      for await (const { type } of market.events.follow({ after })) {
        expect(type).toBe('withdrawn');
        break;
      }
    },
  });
  expect(sent).toEqual({ cursor: ['evalsha'], follow: expect.arrayContaining(['evalsha']) });
  expect(sent['follow']!.filter((command) => command === 'evalsha')).toHaveLength(1);
});

test.each(['', 'x', '1', '1-', '-1-1', `${'9'.repeat(16)}-0`])('%j is no cursor', async (after) => {
  const { market } = await openShop(redis);
  expect(() => market.events.follow({ after })).toThrow(RangeError);
});

test('ends with its signal before it has begun, and with its client', async () => {
  const { market } = await openShop(redis);
  expect(await market.events.follow({ signal: AbortSignal.abort() }).next()).toMatchObject({ done: true });
  const client = redis.duplicate();
  const { market: other } = await openShop(client, { prefix: freshPrefix() });
  const next = other.events.follow().next();
  await until('a reader', async () => (await client.call('pubsub', 'channels', '*:market:*')) !== null);
  client.disconnect();
  await expect(next).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
});

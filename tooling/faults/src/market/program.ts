/** A process that trades on the market of the API: it offers items, which it buys for another player or withdraws. Tests kill it. */
import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Market } from '@mortise/api/market';
import { connectTo } from '../connect.js';
import { nowUs } from '../locks/clock.js';
import type { TraderConfig, TraderRecord } from './config.js';
import { PLAYERS } from './config.js';

const MOST_PRICE = 97;
const AFTER_ERROR_MS = 20;
/** The same call may succeed later: Redis or the network failed, or a lock was taken or lost. */
const TEMPORARY = /^$|^ERR_(?:REDIS|CLIENT|LOCK|LEASE|STALE)/;

const { name, file, redis: address, prefix, pauseMs } = JSON.parse(process.argv[2]!) as TraderConfig;
const redis = connectTo(address);
const market = new Market(redis, { prefix });
const ending = new AbortController();

// A parent that is gone needs nothing.
process.on('disconnect', () => process.exit(1));
process.on('message', () => ending.abort());

await redis.ping();
process.send!('ready');
for (let n = 0; !ending.signal.aborted; n += 1) {
  await trade(n);
  await pause(pauseMs);
}
process.exit(0);

async function trade(n: number): Promise<void> {
  const [sellerId, buyerId] = [oneOf(PLAYERS), oneOf(PLAYERS)];
  const price = 1 + Math.floor(Math.random() * MOST_PRICE);
  const itemId = `item-${name}-${n}`;
  const listingId = `offer-${name}-${n}`;
  const strategy = oneOf(['script', 'script', 'lock'] as const);
  const calledAt = nowUs();
  const note = (refusal: string | undefined): boolean => {
    if (refusal !== undefined)
      write({ type: 'refused', what: `${itemId}: ${refusal}`, calledAt, answeredAt: nowUs() });
    return refusal !== undefined;
  };
  if (note((await repeated(() => market.giveItem(sellerId, itemId))).code)) return;
  write({ type: 'given', itemId, calledAt, answeredAt: nowUs() });
  if (note((await repeated(() => market.list({ id: listingId, sellerId, itemId, price, strategy }))).code))
    return;
  const order = { listingId, buyerId, expectedPrice: price, strategy, requestKey: listingId };
  const sale = buyerId === sellerId ? undefined : await repeated(() => market.purchase(order));
  if (sale?.value) {
    const { id } = sale.value.value;
    write({ type: 'sold', id, itemId, buyerId, calledAt, answeredAt: nowUs() });
  } else if (sale === undefined || sale.code === 'ERR_INSUFFICIENT_FUNDS') {
    note((await repeated(() => market.withdraw(listingId, sellerId, { strategy }))).code);
  } else note(sale.code);
}

/** The result, or the code of a refusal. */
async function repeated<Result>(
  call: () => Promise<Result>,
): Promise<{ value: Result; code?: undefined } | { code: string; value?: undefined }> {
  for (;;) {
    try {
      return { value: await call() };
    } catch (error) {
      const { code = '' } = error as { code?: string };
      if (!TEMPORARY.test(code)) return { code };
      await pause(AFTER_ERROR_MS);
    }
  }
}

function write(record: TraderRecord): void {
  appendFileSync(file, `${JSON.stringify(record)}\n`);
}

function oneOf<Value>(values: readonly Value[]): Value {
  return values[Math.floor(Math.random() * values.length)]!;
}

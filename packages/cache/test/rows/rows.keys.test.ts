import { expect, test } from '@jest/globals';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { cacheOf, Database, refresh } from '../fixture/tables.js';

const redis = connect();
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Each key of the prefix and its time to live in ms. */
async function timesToLive(prefix: string): Promise<Record<string, number>> {
  const keys = (await redis.keys(`${prefix}:*`)).toSorted();
  const times = await Promise.all(keys.map((key) => redis.pttl(key)));
  return Object.fromEntries(keys.map((key, index) => [key.slice(prefix.length), times[index]!]));
}

test('every key expires: rows when nobody loads them, the schedule when nobody touches it', async () => {
  const prefix = freshPrefix();
  const database = new Database().put('}x', 'often');
  const rows = cacheOf(redis, database, { prefix, keepMs: 10 * MINUTE_MS });
  const { refresher, errors } = await refresh(redis, rows, { backoff: { delayMs: MINUTE_MS } });
  await rows.schedule('}x', { everyMs: 2 * MINUTE_MS });
  await rows.schedule('often', { everyMs: 1_000_000 });
  await rows.schedule('never there', { everyMs: 1_000 });
  await until('the rows', async () => (await rows.getMany(['}x', 'often'])).size === 2);
  await until('the third to be taken out', async () => (await rows.stats()).scheduled === 2);
  await rows.schedule('often', { everyMs: 1_000 });
  database.failure = new Error('unavailable');
  await rows.refresh('often');
  // A load that was under way already may fail, too, but its result is refused.
  await until('the failure', async () => errors.length > 0 && (await rows.stats()).failing > 0);
  await refresher.stop();
  await rows.schedule('new', { everyMs: 1_000 });
  await refresher.start();
  await until('the source to be down', async () => (await rows.stats()).shardsDown === 1);
  await refresher.stop();
  await rows.get('unknown');

  const times = await timesToLive(prefix);
  const promised = {
    ':cache:{items}:due': 30 * DAY_MS,
    ':cache:{items}:failed': 30 * DAY_MS,
    ':cache:{items}:failures': 30 * DAY_MS,
    ':cache:{items}:latest': 30 * DAY_MS,
    ':cache:{items}:row:%7Dx': 20 * MINUTE_MS,
    ':cache:{items}:row:often': 10_000_000,
    ':cache:{items}:rows': 30 * DAY_MS,
    ':cache:{items}:source': 30 * DAY_MS,
    ':cache:{items}:unloaded': 30 * DAY_MS,
  };
  expect(Object.keys(times)).toEqual(Object.keys(promised));
  for (const [key, promise] of Object.entries(promised)) {
    expect(times[key]).toBeLessThanOrEqual(promise);
    expect(times[key]).toBeGreaterThan(promise - 30_000);
  }
});

test('nothing stays of a row that is taken out', async () => {
  const prefix = freshPrefix();
  const rows = cacheOf(redis, new Database().put('1'), { prefix });
  const { refresher } = await refresh(redis, rows);
  await rows.schedule('1', { everyMs: 1_000_000 });
  await until('the row', async () => (await rows.get('1')) !== null);
  await rows.unschedule('1');
  await refresher.stop();
  expect(Object.keys(await timesToLive(prefix))).toEqual([':cache:{items}:latest']);
});

/** Workloads of the hour without its faults. The test does to their data what no package may do, and the workloads find it. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { AddressBook } from '@mortise/autocomplete';
import type { RedisServer } from '@mortise/redis-server';
import { startSingle } from '@mortise/redis-server';
import { freshPrefix, until } from '@mortise/test-kit';
import { BOOK } from '../../src/autocomplete/config.js';
import { keyOf } from '../../src/autocomplete/versions.js';
import { connectTo } from '../../src/connect.js';
import type { Finding, Place, Workload } from '../../src/hour/workload.js';
import { autocomplete } from '../../src/hour/workloads/autocomplete.js';
import { market } from '../../src/hour/workloads/market.js';
import { rows } from '../../src/hour/workloads/rows.js';
import { sourceKey } from '../../src/rows/config.js';

/** Meanwhile each entry changes more than once. */
const SOME_READS = 15;
/** Meanwhile the row is refreshed, and read. */
const SOME_CHANGES = 20;
/** Traders write down each trade. */
const SOME_REFUSALS_BYTES = 400;

let server: RedisServer;
let place: Place;
let redis: ReturnType<typeof connectTo>;
let workload: Workload;

beforeEach(async () => {
  server = await startSingle({ isCluster: true });
  place = { redis: { url: server.url }, prefix: freshPrefix(), seconds: 60 };
  redis = connectTo(place.redis);
});

afterEach(async () => {
  await workload?.dispose();
  redis.disconnect();
  await server.stop();
});

async function reaches(aim: number): Promise<void> {
  await until('the workload to come forward', async () => (await workload.progress()) >= aim);
}

/** The violations after `harm`. The workload comes forward by `aim` before that, and after it. */
async function findingsAfter(harm: () => Promise<unknown>, aim = 1): Promise<Finding['violations']> {
  await reaches(aim);
  await harm();
  await reaches((await workload.progress()) + aim);
  return (await workload.finish()).violations;
}

test('an entry of an address book that goes, and is added again by the next change, is found', async () => {
  workload = await autocomplete(place);
  const book = new AddressBook(redis, BOOK, { prefix: place.prefix });
  const found = await findingsAfter(async () => {
    for (let index = 0; index < 160; index += 1) await book.remove(keyOf(1, index));
  }, SOME_READS);
  expect(found).toContainEqual(expect.stringMatching(/^changed: 1\/\d+ was found as nothing, accepted \d+$/));
});

test('a row that becomes older than readers have seen it is found', async () => {
  workload = await rows(place);
  const found = await findingsAfter(async () => {
    await redis.hset(sourceKey(place.prefix), 'row 7', '0');
  }, SOME_CHANGES);
  expect(found).toContainEqual(expect.stringMatching(/^older than before: row 7: 0 after \d+$/));
});

test('an item that the market loses under its seller is found, also when the market began anew later', async () => {
  workload = await market(place);
  const found = await findingsAfter(async () => {
    await redis.flushall();
    await reaches((await workload.progress()) + SOME_REFUSALS_BYTES);
    await workload.noted({ from: 0, to: 0, mayForget: false, isFlush: true });
  });
  expect(found).toContainEqual(expect.stringMatching(/^item-t\d+-\d+: ERR_UNKNOWN_\w+ is missing$/));
});

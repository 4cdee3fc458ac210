/** How many queries a refresher has under way at once: so many connections it needs. */
import { expect, test } from '@jest/globals';
import { maxQueriesOf } from '@mortise/cache/rows';
import type { LoadRows } from '@mortise/cache/rows';
import { connect, until } from '@mortise/test-kit';
import { DEFAULT_CONNECTIONS, MAX_CONNECTIONS } from '../../src/sql/postgres/postgres-source.js';
import { cacheOf, refresh } from '../fixture/tables.js';
import type { Item } from '../fixture/tables.js';

const redis = connect();

/** Of rows that failed, fewer are asked for at once. */
const BATCH = 40;

/** Some rows of each batch begin to hang in it: the query of the batch, the one that looks for them, and their own later. */
class Worsening {
  readonly #hanging = new Set<string>();
  isWorsening = false;
  queries = 0;
  underWay = 0;
  mostUnderWay = 0;

  readonly load: LoadRows<Item> = async (ids, signal) => {
    this.queries += 1;
    this.underWay += 1;
    this.mostUnderWay = Math.max(this.mostUnderWay, this.underWay);
    if (this.isWorsening && ids.length > BATCH / 2) for (const id of ids.slice(-4)) this.#hanging.add(id);
    if (ids.some((id) => this.#hanging.has(id))) {
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          this.underWay -= 1;
          reject(signal.reason as Error);
        });
      });
    }
    this.underWay -= 1;
    return new Map(ids.map((id) => [id, { name: id }]));
  };
}

test.each([1, 2, 3])(
  'with a concurrency of %d they are as many as is said, and no more',
  async (concurrency) => {
    const database = new Worsening();
    const rows = cacheOf(redis, database);
    const ids = Array.from({ length: 1_000 }, (_, index) => `row ${index}`);
    await rows.scheduleAll(ids, { everyMs: 50 });
    const options = { concurrency, batch: BATCH, leaseMs: 2_000, backoff: { delayMs: 1, maxDelayMs: 100 } };
    await refresh(redis, rows, options);
    await until('all rows', async () => (await rows.stats()).loaded === ids.length);
    database.isWorsening = true;

    await until('as many', () => database.mostUnderWay >= maxQueriesOf(options));

    const { queries } = database;
    await until('further queries', () => database.queries > queries + 60);
    expect(database.mostUnderWay).toBe(maxQueriesOf(options));
  },
);

test('maxQueriesOf checks its options, has the defaults of a refresher, and decides those of PostgresSource', () => {
  expect(maxQueriesOf()).toBe(maxQueriesOf({ concurrency: 2 }));
  expect(maxQueriesOf()).toBe(DEFAULT_CONNECTIONS);
  expect(maxQueriesOf({ concurrency: 100 })).toBe(MAX_CONNECTIONS);
  expect(() => maxQueriesOf({ concurrency: 0 })).toThrow(RangeError);
});

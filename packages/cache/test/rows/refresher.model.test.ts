import { expect, test } from '@jest/globals';
import { Refresher, RowCache } from '@mortise/cache/rows';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import * as fc from 'fast-check';
import { tableOf } from '../../src/rows/refreshed-table.js';

const redis = connect();
const other = connect();
/** Enough for packs, of which most operations take some. */
const IDS = Array.from({ length: 24 }, (_, index) => String(index + 1));
const BUSY = 6;

const id = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...IDS.slice(0, BUSY)) },
  { weight: 1, arbitrary: fc.constantFrom(...IDS) },
);
const operation = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('schedule' as const), id }) },
  // All rows at once, which makes packs; and a change of all.
  { weight: 2, arbitrary: fc.record({ type: fc.constant('schedule all' as const), id }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('change all' as const), id }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('unschedule' as const), id }) },
  // A change in the database, and the refresh that tells of it.
  { weight: 4, arbitrary: fc.record({ type: fc.constant('change' as const), id }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('touch' as const), id }) },
  // A row that leaves the database.
  { weight: 1, arbitrary: fc.record({ type: fc.constant('delete' as const), id }) },
  // A value that is evicted, and a load that fails.
  { weight: 1, arbitrary: fc.record({ type: fc.constant('evict' as const), id }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('fail' as const), id }) },
);
/** Whether a row is being loaded: leases end at half a millisecond. */
async function isAnyLeased(rows: RowCache<number>): Promise<boolean> {
  const all = await Promise.all(
    tableOf(rows).keys.shards.flatMap(({ due, packs }) =>
      [due, packs].map((set) => redis.zrange(set, '0', '-1', 'WITHSCORES')),
    ),
  );
  return all.flat().some((value) => value.endsWith('.5'));
}

/** `MORTISE_MODEL_RUNS=4000` is 100,000 operations and takes 8 minutes. */
const RUNS = Number(process.env['MORTISE_MODEL_RUNS'] ?? 60);

test('readers end up with the newest rows of what is scheduled, and nothing else', async () => {
  const property = fc.asyncProperty(
    fc.array(fc.array(operation, { minLength: 1, maxLength: 4 }), { maxLength: 15 }),
    fc.infiniteStream(fc.nat({ max: 3 })),
    fc.constantFrom(1, 3),
    fc.constantFrom([2, 2], [24, 24], [24, 10]),
    // Rows that are refreshed all the time, or only by request.
    fc.constantFrom(30, 3_600_000),
    async (ticks, delays, shards, batches, everyMs) => {
      const isOften = everyMs < 1_000;
      const prefix = freshPrefix();
      const database = new Map(IDS.map((key) => [key, 0]));
      const poison = new Set<string>();
      const load = async (ids: readonly string[]): Promise<Map<string, number>> => {
        const bad = ids.find((key) => poison.has(key));
        if (bad !== undefined) {
          poison.delete(bad);
          throw new Error(`cannot read ${bad}`);
        }
        const rows = new Map(ids.filter((key) => database.has(key)).map((key) => [key, database.get(key)!]));
        // A loaded row gets old before it is stored.
        for (let turns = 10 * (delays.next().value ?? 0); turns > 0; turns -= 1)
          await new Promise(setImmediate);
        return rows;
      };
      const caches = [redis, other].map(
        (client) => new RowCache<number>(client, 'rows', { prefix, load, shards, missing: 'tombstone' }),
      );
      const refreshers = caches.map(
        (rows, index) =>
          new Refresher(index === 0 ? redis : other, [rows], {
            batch: batches[index]!,
            concurrency: 2,
            backoff: { delayMs: 1, maxDelayMs: 2 },
            onError: () => undefined,
          }),
      );
      await Promise.all(refreshers.map((refresher) => refresher.start()));
      const [rows] = caches as [RowCache<number>];
      const scheduled = new Set<string>();
      let version = 0;
      try {
        for (const tick of ticks) {
          await Promise.all(
            tick.map((step) => {
              if (step.type === 'schedule') {
                scheduled.add(step.id);
                return rows.schedule(step.id, { everyMs });
              }
              if (step.type === 'schedule all') {
                for (const key of IDS) scheduled.add(key);
                return Promise.all(IDS.map((key) => rows.schedule(key, { everyMs })));
              }
              if (step.type === 'change all') {
                version += 1;
                for (const key of database.keys()) database.set(key, version);
                return Promise.all(IDS.map((key) => rows.refresh(key)));
              }
              if (step.type === 'unschedule') {
                scheduled.delete(step.id);
                return rows.unschedule(step.id);
              }
              if (step.type === 'evict') {
                const evicted = tableOf(rows).keys.of(step.id).row(step.id);
                return redis.del(evicted).then(() => rows.refresh(step.id));
              }
              if (step.type === 'delete') database.delete(step.id);
              else if (step.type === 'fail') poison.add(step.id);
              else if (step.type === 'change') {
                version += 1;
                database.set(step.id, version);
              }
              return rows.refresh(step.id);
            }),
          );
        }
        const wanted = new Map(
          IDS.filter((key) => scheduled.has(key) && database.has(key)).map((key) => [key, database.get(key)]),
        );
        await until('the newest rows', async () => {
          const found = await rows.getMany(IDS);
          const { due, failing, loaded } = await rows.stats();
          if (failing > 0 || (!isOften && (due > 0 || (await isAnyLeased(rows))))) return false;
          // Rows that were leased at first may have failed since.
          const { failing: failed } = await rows.stats();
          return (
            failed === 0 &&
            loaded === scheduled.size &&
            found.size === wanted.size &&
            [...wanted].every(([key, row]) => found.get(key) === row)
          );
        });
        await Promise.all(refreshers.map((refresher) => refresher.stop()));
        // No load that was still under way has changed that.
        expect(await rows.getMany(IDS)).toEqual(wanted);
        expect(await rows.stats()).toMatchObject({
          scheduled: scheduled.size,
          loaded: scheduled.size,
          failing: 0,
          ...(!isOften && { due: 0 }),
        });
      } finally {
        await Promise.all(refreshers.map((refresher) => refresher.stop()));
      }
    },
  );
  await fc.assert(property, { numRuns: RUNS });
});

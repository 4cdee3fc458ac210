import { expect, test } from '@jest/globals';
import { Refresher, RowCache } from '@mortise/cache';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import * as fc from 'fast-check';

const redis = connect();
const other = connect();
const IDS = ['1', '2', '3', '4', '5', '6'];

const id = fc.constantFrom(...IDS);
const operation = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('schedule' as const), id }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('unschedule' as const), id }) },
  // A change in the database, and the refresh that tells of it.
  { weight: 4, arbitrary: fc.record({ type: fc.constant('change' as const), id }) },
);

test('readers end up with the newest rows of what is scheduled, and nothing else', async () => {
  const property = fc.asyncProperty(
    fc.array(fc.array(operation, { minLength: 1, maxLength: 4 }), { maxLength: 15 }),
    fc.infiniteStream(fc.nat({ max: 3 })),
    async (ticks, delays) => {
      const prefix = freshPrefix();
      const database = new Map(IDS.map((key) => [key, 0]));
      const load = async (ids: readonly string[]): Promise<Map<string, number>> => {
        const rows = new Map(ids.map((key) => [key, database.get(key) ?? 0]));
        // What was read gets old before it is stored.
        for (let turns = 10 * (delays.next().value ?? 0); turns > 0; turns -= 1)
          await new Promise(setImmediate);
        return rows;
      };
      const caches = [redis, other].map((client) => new RowCache<number>(client, 'rows', { prefix, load }));
      const refreshers = caches.map(
        (rows, index) => new Refresher(index === 0 ? redis : other, [rows], { batch: 2, concurrency: 2 }),
      );
      await Promise.all(refreshers.map((refresher) => refresher.start()));
      const [rows] = caches as [RowCache<number>];
      const scheduled = new Set<string>();
      try {
        for (const tick of ticks) {
          await Promise.all(
            tick.map((step) => {
              if (step.type === 'schedule') {
                scheduled.add(step.id);
                return rows.schedule(step.id, { everyMs: 3_600_000 });
              }
              if (step.type === 'unschedule') {
                scheduled.delete(step.id);
                return rows.unschedule(step.id);
              }
              database.set(step.id, (database.get(step.id) ?? 0) + 1);
              return rows.refresh(step.id);
            }),
          );
        }
        const wanted = new Map(
          IDS.filter((key) => scheduled.has(key)).map((key) => [key, database.get(key)]),
        );
        await until('the newest rows', async () => {
          const found = await rows.getMany(IDS);
          return [...wanted].every(([key, row]) => found.get(key) === row);
        });
        await Promise.all(refreshers.map((refresher) => refresher.stop()));
        // And no load that was still under way has changed that.
        expect(await rows.getMany(IDS)).toEqual(wanted);
        expect(await rows.stats()).toMatchObject({ scheduled: scheduled.size, due: 0, failing: 0 });
      } finally {
        await Promise.all(refreshers.map((refresher) => refresher.stop()));
      }
    },
  );
  await fc.assert(property, { numRuns: 60 });
});

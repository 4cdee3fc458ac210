import { expect, test } from '@jest/globals';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import * as fc from 'fast-check';
import { pagesOf } from '../fixture/cached.js';

const redis = connect();
const other = connect();
const KEYS = ['a', 'b', 'c', 'd'];
const TAGS = ['x', 'y'];

const key = fc.constantFrom(...KEYS);
const tags = fc.subarray(TAGS);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('get' as const), key }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('load' as const), key, tags }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('set' as const), key, tags }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('none' as const), key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('deleteMany' as const), keys: fc.subarray(KEYS) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('expire' as const), key, ttlMs: fc.constantFrom(0, 3_600_000) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('invalidate' as const), tag: fc.constantFrom(...TAGS) }),
  },
);

test('one step after the other, two processes see what a Map with tags would hold', async () => {
  const property = fc.asyncProperty(
    fc.array(fc.tuple(step, fc.nat({ max: 1 })), { maxLength: 60 }),
    fc.constantFrom(1, 3),
    async (steps, shards) => {
      const prefix = freshPrefix();
      const caches = [redis, other].map((client) => pagesOf<number>(client, { prefix, shards }).cache);
      const model = new Map<string, { value: number | null; tags: readonly string[] }>();
      let version = 0;
      const seen: unknown[] = [];
      const expected: unknown[] = [];
      for (const [now, index] of steps) {
        const cache = caches[index]!;
        version += 1;
        const value = version;
        switch (now.do) {
          case 'get':
            seen.push(await cache.get(now.key));
            expected.push(model.get(now.key)?.value);
            break;
          case 'load':
            seen.push(await cache.getOrLoad(now.key, () => value, { tags: now.tags }));
            if (!model.has(now.key)) model.set(now.key, { value, tags: now.tags });
            expected.push(model.get(now.key)?.value);
            break;
          case 'set':
            await cache.set(now.key, value, { tags: now.tags });
            model.set(now.key, { value, tags: now.tags });
            break;
          case 'none':
            await cache.set(now.key, null);
            model.set(now.key, { value: null, tags: [] });
            break;
          case 'delete':
            await cache.delete(now.key);
            model.delete(now.key);
            break;
          case 'deleteMany':
            // Its number counts invalidated entries.
            await cache.deleteMany(now.keys);
            for (const name of now.keys) model.delete(name);
            break;
          case 'expire':
            seen.push(await cache.expire(now.key, now.ttlMs));
            expected.push(now.ttlMs > 0 ? model.has(now.key) : model.delete(now.key));
            break;
          case 'invalidate':
            await cache.invalidateTag(now.tag);
            for (const [name, entry] of model) if (entry.tags.includes(now.tag)) model.delete(name);
            break;
          default:
            throw new TypeError(`no such step: ${JSON.stringify(now)}`);
        }
      }
      expect(seen).toEqual(expected);
      const wanted = new Map(Array.from(model, ([name, { value }]) => [name, value]));
      for (const cache of caches) expect(await cache.getMany(KEYS)).toEqual(wanted);
    },
  );
  await fc.assert(property, { numRuns: 40 });
});

test('all at once, readers end up with the newest values, and never see one from before a change they know of', async () => {
  const property = fc.asyncProperty(
    fc.array(fc.array(fc.tuple(key, fc.constantFrom('read', 'change', 'tag')), { maxLength: 6 }), {
      maxLength: 12,
    }),
    fc.infiniteStream(fc.nat({ max: 3 })),
    async (ticks, delays) => {
      const prefix = freshPrefix();
      const caches = [
        pagesOf<number>(redis, { prefix }).cache,
        pagesOf<number>(other, { prefix, near: {} }).cache,
      ];
      const database = new Map(KEYS.map((name) => [name, 0]));
      const tooOld: string[] = [];
      /** The oldest values that a reader may see who begins now. */
      const known = new Map(database);
      const load = (name: string) => async (): Promise<number> => {
        const value = database.get(name)!;
        // A loaded value gets old before it is stored.
        for (let turns = 10 * (delays.next().value ?? 0); turns > 0; turns -= 1)
          await new Promise(setImmediate);
        return value;
      };
      const run = async (index: number, name: string, what: string): Promise<void> => {
        const cache = caches[index % 2]!;
        if (what === 'read') {
          const least = index % 2 === 0 ? known.get(name)! : 0;
          const value = await cache.getOrLoad(name, load(name), { tags: [`tag ${name}`] });
          if (value! < least) tooOld.push(`${name}: ${value} instead of ${least}`);
          return;
        }
        const version = database.get(name)! + 1;
        database.set(name, version);
        await (what === 'change' ? cache.delete(name) : cache.invalidateTag(`tag ${name}`));
        known.set(name, Math.max(version, known.get(name)!));
      };
      let index = 0;
      const running = ticks.flatMap((tick) => tick.map(([name, what]) => run((index += 1), name, what)));
      await Promise.all(running);
      expect(tooOld).toEqual([]);
      await until('the newest values', async () => {
        const values = await Promise.all(
          caches.flatMap((cache) =>
            KEYS.map(
              async (name) =>
                [name, await cache.getOrLoad(name, load(name), { tags: [`tag ${name}`] })] as const,
            ),
          ),
        );
        return values.every(([name, value]) => value === database.get(name));
      });
      await Promise.all(caches.map((cache) => cache.stop()));
    },
  );
  await fc.assert(property, { numRuns: 40 });
});

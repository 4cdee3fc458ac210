/** The commands that each call of a cache and of rows sends. */
import { describe, expect, test } from '@jest/globals';
import { commands, commandTable, connect, freshPrefix, until } from '@mortise/test-kit';
import type { Cache } from '../src/read-through/cache.js';
import { DEFAULTS } from '../src/rows/options.js';
import { tableOf } from '../src/rows/refreshed-table.js';
import { RowLeases } from '../src/rows/row-leases.js';
import * as scripts from '../src/scripts.gen.js';
import { GatedLoader, pagesOf } from './fixture/cached.js';
import { cacheOf, Database, refresh } from './fixture/tables.js';

const redis = connect();
const HOUR = { everyMs: 3_600_000 };

describe('a cache', () => {
  /** A cache whose scripts and clock are known already: either costs a round trip once. */
  async function warm(): Promise<{
    cache: Cache<string>;
    scope: { prefix: string; scripts: typeof scripts };
  }> {
    const prefix = freshPrefix();
    const { cache } = pagesOf<string>(redis, { prefix });
    await cache.getOrLoad('warm', () => 'warm', { tags: ['warm'] });
    await cache.delete('warm');
    await cache.invalidateTag('warm');
    await cache.set('a', 'a');
    await cache.set('b', 'b');
    await cache.set('t', 't', { tags: ['x'] });
    await cache.expire('a', 60_000);
    return { cache, scope: { prefix, scripts } };
  }

  test('a hit is one command, a miss a read, a lease request and a store; calls of a tick share them', async () => {
    const { cache, scope } = await warm();
    const table = await commandTable(redis, scope, {
      get: () => cache.get('a'),
      'getOrLoad, hit': () => cache.getOrLoad('a', () => 'c'),
      'hits of a tick': () => Promise.all([cache.get('a'), cache.getMany(['b', 'a', 'none'])]),
      // Tags that the reader names are read in the same command, others in another one.
      'expected tags': () => cache.getOrLoad('t', () => 'c', { tags: ['x'] }),
      'other tags': () => cache.get('t'),
      'misses of a tick': () =>
        Promise.all([
          cache.getOrLoad('m', () => 'm'),
          cache.getOrLoad('n', () => 'n', { tags: ['y'] }),
          cache.getOrLoad('m', () => 'm'),
        ]),
      'readers woken by callbacks of one turn': () =>
        Promise.all(
          Array.from({ length: 50 }, async (_, index) => {
            await new Promise(setImmediate);
            return cache.get(index % 2 === 0 ? 'a' : 'b');
          }),
        ),
      // Nothing is published without waiting readers.
      set: () => cache.set('a', 'a'),
      'deletes of a tick': () => Promise.all([cache.delete('a'), cache.delete('b')]),
      deleteMany: () => cache.deleteMany(['a', 'b']),
      expire: () => cache.expire('t', 1_000),
      'expiries of a tick': () => Promise.all([cache.expire('m', 0), cache.expire('none', 1_000)]),
      invalidateTag: () => cache.invalidateTag('x'),
    });
    expect(table).toMatchInlineSnapshot(`
"get → get value:a
getOrLoad, hit → get value:a
hits of a tick → mget value:a value:b value:none
expected tags → mget value:t tag:x
other tags → get value:t | get tag:x
misses of a tick → mget value:m value:n tag:y | cache.lease:  time · get value:m · get lease:m · get seq · set seq · set lease:m · get value:n · get lease:n · get seq · set seq · set tag:y · set lease:n | cache.store:  time · get lease:m · set value:m · del lease:m · get lease:n · get tag:y · pttl tag:y · pexpire tag:y · set value:n · del lease:n
readers woken by callbacks of one turn → get value:a | mget value:b value:a
set → cache.store:  time · get lease:a · get seq · set seq · set value:a
deletes of a tick → cache.delete:  get lease:a · unlink value:a · get lease:b · unlink value:b
deleteMany → cache.delete:  get lease:a · unlink value:a · get lease:b · unlink value:b
expire → get value:t | get tag:x | cache.expire:  time · getrange value:t · setrange value:t · pexpire value:t · pttl tag:x
expiries of a tick → mget value:m value:none | cache.expire:  time · getrange value:m · unlink value:m
invalidateTag → cache.invalidate:  time · pttl tag:x · get seq · set seq · set tag:x"
`);
  });

  test('a read beside a load of this process checks whether the load still has its lease', async () => {
    const { cache, scope } = await warm();
    const loader = new GatedLoader<string>();
    const first = cache.getOrLoad('m', loader.load, { tags: ['x'] });
    const call = await loader.call(0);
    let second: Promise<unknown> | undefined;
    const sent = await commands(redis, scope, async () => {
      const { misses } = cache.stats();
      second = cache.getOrLoad('m', loader.load, { tags: ['x'] });
      await until('its miss', () => cache.stats().misses > misses);
    });
    expect(sent).toMatchInlineSnapshot(`"mget value:m tag:x lease:m"`);
    call.open('m');
    expect([await first, await second]).toEqual(['m', 'm']);
  });
});

describe('rows', () => {
  /** How often a command was sent. */
  function timesOf(sent: string, command: string): number {
    return sent
      .split('\n')
      .map((line) => line.split(' ×'))
      .filter(([name]) => name === command)
      .reduce((sum, [, times = '1']) => sum + Number(times), 0);
  }

  test('each method is one round trip, and calls of a tick share one', async () => {
    const prefix = freshPrefix();
    const rows = cacheOf(redis, new Database(), { prefix });
    // The first use of a script on a server sends its text.
    await rows.schedule('warm', HOUR);
    await rows.stats();
    await rows.inspect('warm');
    await rows.unschedule('warm');
    const table = await commandTable(
      redis,
      { prefix, scripts },
      {
        // Nothing was due before, so refreshers may be idle.
        schedule: () => rows.schedule('1', HOUR),
        'changes of a tick': () =>
          Promise.all([
            rows.schedule('1', HOUR),
            rows.schedule('2', HOUR),
            rows.refresh('1'),
            rows.unschedule('2'),
          ]),
        get: () => rows.get('1'),
        'reads of a tick': () => Promise.all([rows.get('1'), rows.getMany(['2', '3'])]),
        stats: () => rows.stats(),
        inspect: () => rows.inspect('1'),
      },
    );
    expect(table).toMatchInlineSnapshot(`
"schedule → row-cache.schedule:  time · zrange due · zrange packs · exists failed · hget rows · hset rows · zadd due · incrby unloaded · pexpire due · pexpire rows · pexpire packs · pexpire packed · pexpire unloaded · publish wake
changes of a tick → row-cache.schedule:  time · zrange due · zrange packs · exists failed · hget rows · zscore due · hget rows · hset rows · (zadd due · hget rows) ×2 · zrem due · hdel rows · hdel failures · unlink row:2 · pexpire due · pexpire rows · pexpire packs · pexpire packed · pexpire unloaded
get → mget row:1
reads of a tick → mget row:1 row:2 row:3
stats → row-cache.stats:  time · zcount due · zcount failed · zrange due · zrange packs · zcount packs · hlen rows · hlen failures · get unloaded · hget source
inspect → row-cache.inspect:  hget rows · zscore due · time · get row:1 · hget failures · hget errors"
`);
  });

  test('a batch is a lease and a commit', async () => {
    const prefix = freshPrefix();
    const rows = cacheOf(redis, new Database().put('1', '2'), { prefix });
    const sent = await commands(redis, { prefix, scripts, show: 'outside' }, async () => {
      await Promise.all([rows.schedule('1', HOUR), rows.schedule('2', HOUR)]);
      const { refresher } = await refresh(redis, rows);
      await until('the rows', async () => (await rows.getMany(['1', '2'])).size === 2);
      await refresher.stop();
    });
    expect(timesOf(sent, 'refresher.commit')).toBe(1);
    // One more lease each after the subscription and after the commit.
    expect(timesOf(sent, 'refresher.lease')).toBeLessThanOrEqual(3);

    await rows.scheduleAll(['1', '2'], { everyMs: 1_000 });
    const table = tableOf(rows);
    const leases = new RowLeases(redis, table, table.keys.shards[0]!, DEFAULTS);
    const encoded = table.codec.encode({ name: 'x' }, '1700000000000');
    const outcomes = new Map(['1', '2'].map((id) => [id, encoded]));
    const inside = await commands(redis, { prefix, scripts }, async () =>
      leases.commit(await leases.lease(), { outcomes, isSourceDown: false }),
    );
    // The expiries are renewed once in 1,000th of idleMs.
    expect(inside).toMatchInlineSnapshot(`
"refresher.lease:  time · exists source failed · get latest · zrange due · zrange packs · zrange due · zmscore due · zadd due · set latest · pexpire due · pexpire rows · pexpire packs · pexpire packed · pexpire failed · zrange due · zrange packs · hmget rows
refresher.commit:  time · exists failures failed · zcount due · zadd due · hset rows · set row:1 · set row:2 · zrange due · zrange packs"
`);
  });

  test('of a pack whose rows have not changed, nothing is sent or written for a row', async () => {
    const prefix = freshPrefix();
    const rows = cacheOf(redis, new Database(), { prefix, keepMs: 86_400_000 });
    const leases = new RowLeases(redis, tableOf(rows), tableOf(rows).keys.shards[0]!, DEFAULTS);
    const packs = `${prefix}:cache:{items}:packs`;
    const ids = Array.from({ length: 100 }, (_, index) => String(index));
    await rows.scheduleAll(ids, HOUR);
    const encoded = tableOf(rows).codec.encode({ name: 'x' }, '1700000000000');
    const loaded = { outcomes: new Map(ids.map((id) => [id, encoded])), isSourceDown: false };
    await leases.commit(await leases.lease(), loaded);
    await redis.zadd(packs, 1, (await redis.zrange(packs, '0', '0'))[0]!);
    // Once in 16 s a value is checked.
    const edit = (lines: readonly string[]): string[] =>
      lines.filter((line) => !/^ {2}exists row:/.test(line));
    const sent = await commands(redis, { prefix, scripts, edit }, async () => {
      const { held, unchanged } = await leases.commit(await leases.lease(), loaded);
      expect([held, unchanged]).toEqual([100, 100]);
    });
    expect(sent).toMatchInlineSnapshot(`
"refresher.lease:  time · exists source failed · get latest · zrange due · zrange packs · hmget packed · hget rows · zadd packs · set latest · zrange packs
refresher.commit:  time · exists failures failed · zscore packs · hget packed · zadd packs · hset packed · zrange due · zrange packs"
`);
  });

  test('a refresher without due rows sends nothing', async () => {
    const prefix = freshPrefix();
    const rows = cacheOf(redis, new Database().put('1'), { prefix });
    await refresh(redis, rows);
    await rows.schedule('1', HOUR);
    await until('the row', async () => (await rows.get('1')) !== null);
    const startedAt = performance.now();
    const sent = await commands(redis, { prefix, scripts, show: 'outside' }, async () => {
      for (let reads = 0; reads < 1_000; reads += 1) await rows.get('1');
    });
    // The bounded recheck, each 5 s, may fall into this time.
    const rechecks = timesOf(sent, 'refresher.lease');
    expect(rechecks).toBeLessThanOrEqual(1 + Math.floor((performance.now() - startedAt) / 5_000));
    expect(timesOf(sent, 'mget row:1')).toBe(1_000);
  });
});

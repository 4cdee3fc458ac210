import { expect, test } from '@jest/globals';
import { connect, freshPrefix, transcript, until } from '@mortise/test-kit';
import { DEFAULTS } from '../src/rows/options.js';
import { tableOf } from '../src/rows/refreshed-table.js';
import { RowLeases } from '../src/rows/row-leases.js';
import * as scripts from '../src/scripts.gen.js';
import { brief } from './brief.js';
import { cacheOf, Database, refresh } from './fixture.js';

const redis = connect();
const HOUR = { everyMs: 3_600_000 };

test('each method is one round trip, and calls of a tick share one', async () => {
  const prefix = freshPrefix();
  const rows = cacheOf(redis, new Database(), { prefix });
  const seen = async (action: () => Promise<unknown>): Promise<string> =>
    brief(await transcript(redis, { prefix, scripts }, action));
  // The first use of a script on a server sends its text.
  await rows.schedule('warm', HOUR);
  await rows.stats();
  await rows.inspect('warm');
  await rows.unschedule('warm');

  // Nothing was due before, so refreshers may be idle.
  expect(await seen(() => rows.schedule('1', HOUR))).toMatchInlineSnapshot(`
"row-cache.schedule due rows packs packed failed failures unloaded wake row:1
  time · zrange due · zrange packs · exists failed · hget rows · hset rows · zadd due · incrby unloaded · pexpire due · pexpire rows · pexpire packs · pexpire packed · pexpire unloaded · publish wake"
`);
  expect(
    await seen(() =>
      Promise.all([
        rows.schedule('1', HOUR),
        rows.schedule('2', HOUR),
        rows.refresh('1'),
        rows.unschedule('2'),
      ]),
    ),
  ).toMatchInlineSnapshot(`
"row-cache.schedule due rows packs packed failed failures unloaded wake row:1 row:2 row:1 row:2
  time · zrange due · zrange packs · exists failed · hget rows · zscore due · hget rows · hset rows · zadd due · hget rows · zadd due · hget rows · zrem due · hdel rows · hdel failures · unlink row:2 · pexpire due · pexpire rows · pexpire packs · pexpire packed · pexpire unloaded"
`);
  expect(await seen(() => rows.get('1'))).toMatchInlineSnapshot(`"mget row:1"`);
  expect(await seen(() => Promise.all([rows.get('1'), rows.getMany(['2', '3'])]))).toMatchInlineSnapshot(
    `"mget row:1 row:2 row:3"`,
  );
  expect(await seen(() => rows.stats())).toMatchInlineSnapshot(`
"row-cache.stats due rows packs packed failed failures source unloaded
  time · zcount due · zcount failed · zrange due · zrange packs · zcount packs · hlen rows · hlen failures · get unloaded · hget source"
`);
  expect(await seen(() => rows.inspect('1'))).toMatchInlineSnapshot(`
"row-cache.inspect due rows packs packed failed failures row:1
  hget rows · zscore due · time · get row:1 · hget failures"
`);
});

test('a batch is a lease and a commit', async () => {
  const prefix = freshPrefix();
  const rows = cacheOf(redis, new Database().put('1', '2'), { prefix });
  const lines = await transcript(redis, { prefix, scripts }, async () => {
    await Promise.all([rows.schedule('1', HOUR), rows.schedule('2', HOUR)]);
    const { refresher } = await refresh(redis, rows);
    await until('the rows', async () => (await rows.getMany(['1', '2'])).size === 2);
    await refresher.stop();
  });
  const calls = lines.filter((line) => line.startsWith('evalsha refresher.'));
  expect(calls[0]).toMatch(/^evalsha refresher\.lease /);
  // One more lease each after the subscription and after the commit.
  expect(calls.filter((line) => line.startsWith('evalsha refresher.commit '))).toHaveLength(1);
  expect(calls.length).toBeLessThanOrEqual(4);
  const of = (script: string, count: number): string => {
    const from = lines.findIndex((line) => line.startsWith(`evalsha refresher.${script} `));
    const inner = lines.slice(from + 1).filter((line) => line.startsWith('  '));
    return brief([lines[from]!, ...inner.slice(0, count)]);
  };
  // The expiries are renewed once in 1,000th of idleMs.
  expect(of('lease', 17)).toMatchInlineSnapshot(`
"refresher.lease due rows packs packed source latest failed
  time · exists source failed · get latest · zrange due · zrange packs · zrange due · zmscore due · zadd due · set latest · pexpire due · pexpire rows · pexpire packs · pexpire packed · pexpire failed · zrange due · zrange packs · hmget rows"
`);
  expect(of('commit', 10)).toMatchInlineSnapshot(`
"refresher.commit due rows packs packed failures failed source unloaded wake row:1 row:2
  time · exists failures failed · zcount due · zadd due · hset rows · set row:1 · set row:2 · decrby unloaded · unlink unloaded · zrange due"
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
  const lines = await transcript(redis, { prefix, scripts }, async () => {
    const { held, unchanged } = await leases.commit(await leases.lease(), loaded);
    expect([held, unchanged]).toEqual([100, 100]);
  });
  // Once in 16 s a value is checked.
  const keys = lines.map((line) => line.replaceAll(/ cache:\{items\}:row:\d+/g, ''));
  expect(brief(keys.filter((line) => line !== '  exists'))).toMatchInlineSnapshot(`
"refresher.lease due rows packs packed source latest failed
  time · exists source failed · get latest · zrange due · zrange packs · hmget packed · hget rows · zadd packs · set latest · zrange packs
refresher.commit due rows packs packed failures failed source unloaded wake
  time · exists failures failed · zscore packs · hget packed · zadd packs · hset packed · zrange due · zrange packs"
`);
});

test('a refresher without due rows sends nothing', async () => {
  const prefix = freshPrefix();
  const rows = cacheOf(redis, new Database().put('1'), { prefix });
  await refresh(redis, rows);
  await rows.schedule('1', HOUR);
  await until('the row', async () => (await rows.get('1')) !== null);
  const startedAt = performance.now();
  const lines = await transcript(redis, { prefix, scripts }, async () => {
    for (let reads = 0; reads < 1_000; reads += 1) await rows.get('1');
  });
  const others = lines.filter((line) => line !== 'mget cache:{items}:row:1');
  const rechecks = others.filter((line) => line.startsWith('evalsha')).length;
  // The bounded recheck, each 5 s, may fall into this time.
  expect(rechecks).toBeLessThanOrEqual(1 + Math.floor((performance.now() - startedAt) / 5_000));
  expect(lines.length - others.length).toBe(1_000);
});

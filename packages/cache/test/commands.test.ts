import { expect, test } from '@jest/globals';
import { connect, freshPrefix, transcript, until } from '@mortise/test-kit';
import { DEFAULTS } from '../src/options.js';
import { Claims } from '../src/rows/claims.js';
import { tableOf } from '../src/rows/refreshed-table.js';
import * as scripts from '../src/scripts.gen.js';
import { cacheOf, Database, refresh } from './fixture.js';

const redis = connect();
const HOUR = { everyMs: 3_600_000 };
const key = (part: string): string => `cache:{items}:${part}`;
const [due, states, unloaded] = [key('due'), key('rows'), key('unloaded')];
const [packs, packed] = [key('packs'), key('packed')];
const [failures, source, lease, wake] = [key('failures'), key('source'), key('lease'), key('wake')];
const [suspects, hung] = [key('suspects'), key('hung')];
const row = (id: string): string => `cache:{items}:row:${id}`;

test('each method is one round trip, and calls of a tick share one', async () => {
  const prefix = freshPrefix();
  const scope = { prefix, scripts };
  const rows = cacheOf(redis, new Database(), { prefix });
  // The first use of a script on a server sends its text.
  await rows.schedule('warm', HOUR);
  await rows.stats();
  await rows.inspect('warm');
  await rows.unschedule('warm');

  const plan = (...ids: string[]): string =>
    `evalsha row-cache.plan ${[due, states, packs, packed, failures, suspects, hung, unloaded, wake, ...ids.map((id) => row(id))].join(' ')}`;
  const end = [due, states, packs, packed, unloaded].map((each) => `  pexpire ${each}`);
  expect(await transcript(redis, scope, () => rows.schedule('1', HOUR))).toEqual([
    plan('1'),
    '  time',
    `  zrange ${due}`,
    `  zrange ${packs}`,
    `  exists ${suspects} ${hung}`,
    `  hget ${states}`,
    `  hset ${states}`,
    `  zadd ${due}`,
    `  incrby ${unloaded}`,
    ...end,
    // Nothing was due before: refreshers may sleep.
    `  publish ${wake}`,
  ]);
  expect(
    await transcript(redis, scope, () =>
      Promise.all([
        rows.schedule('1', HOUR),
        rows.schedule('2', HOUR),
        rows.refresh('1'),
        rows.unschedule('2'),
      ]),
    ),
  ).toEqual([
    plan('1', '2', '1', '2'),
    '  time',
    `  zrange ${due}`,
    `  zrange ${packs}`,
    `  exists ${suspects} ${hung}`,
    // Scheduled so already.
    `  hget ${states}`,
    `  zscore ${due}`,
    `  hget ${states}`,
    `  hset ${states}`,
    `  zadd ${due}`,
    `  hget ${states}`,
    `  zadd ${due}`,
    `  hget ${states}`,
    `  zrem ${due}`,
    `  hdel ${states}`,
    `  hdel ${failures}`,
    `  unlink ${row('2')}`,
    ...end,
  ]);
  expect(await transcript(redis, scope, () => rows.get('1'))).toEqual([`mget ${row('1')}`]);
  expect(
    await transcript(redis, scope, () => Promise.all([rows.get('1'), rows.getMany(['2', '3'])])),
  ).toEqual([`mget ${row('1')} ${row('2')} ${row('3')}`]);
  expect(await transcript(redis, scope, () => rows.stats())).toEqual([
    `evalsha_ro row-cache.stats ${due} ${states} ${packs} ${packed} ${failures} ${suspects} ${hung} ${source} ${unloaded}`,
    '  time',
    `  zcount ${due}`,
    `  zcount ${suspects}`,
    `  zcount ${hung}`,
    `  zrange ${due}`,
    `  zrange ${packs}`,
    `  zcount ${packs}`,
    `  hlen ${states}`,
    `  hlen ${failures}`,
    `  get ${unloaded}`,
    `  hget ${source}`,
  ]);
  expect(await transcript(redis, scope, () => rows.inspect('1'))).toEqual([
    `evalsha_ro row-cache.inspect ${due} ${states} ${packs} ${packed} ${failures} ${suspects} ${hung} ${row('1')}`,
    `  hget ${states}`,
    `  zscore ${due}`,
    '  time',
    `  get ${row('1')}`,
    `  hget ${failures}`,
  ]);
});

test('a batch is a claim and a commit', async () => {
  const prefix = freshPrefix();
  const scope = { prefix, scripts };
  const rows = cacheOf(redis, new Database().put('1', '2'), { prefix });
  const lines = await transcript(redis, scope, async () => {
    await Promise.all([rows.schedule('1', HOUR), rows.schedule('2', HOUR)]);
    const { refresher } = await refresh(redis, rows);
    await until('the rows', async () => (await rows.getMany(['1', '2'])).size === 2);
    await refresher.stop();
  });
  const claim = `evalsha refresher.claim ${due} ${states} ${packs} ${packed} ${source} ${lease} ${suspects} ${hung}`;
  const commit = `evalsha refresher.commit ${[due, states, packs, packed, failures, suspects, hung, source, unloaded, wake, row('1'), row('2')].join(' ')}`;
  const calls = lines.filter((line) => line === claim || line === commit);
  expect(calls[0]).toBe(claim);
  // A claim more each when the subscription stands and when the commit has said what is due next.
  expect(calls.filter((line) => line === commit)).toHaveLength(1);
  expect(calls.length).toBeLessThanOrEqual(4);
  const from = lines.indexOf(claim);
  expect(
    lines
      .slice(from + 1)
      .filter((line) => line.startsWith('  '))
      .slice(0, 16),
  ).toEqual([
    '  time',
    `  exists ${source} ${suspects} ${hung}`,
    `  get ${lease}`,
    `  zrange ${due}`,
    `  zrange ${packs}`,
    `  zrange ${due}`,
    `  zmscore ${due}`,
    `  zadd ${due}`,
    `  set ${lease}`,
    // Once in 1,000th of idleMs.
    `  pexpire ${due}`,
    `  pexpire ${states}`,
    `  pexpire ${packs}`,
    `  pexpire ${packed}`,
    `  zrange ${due}`,
    `  zrange ${packs}`,
    `  hmget ${states}`,
  ]);
  const commits = lines.slice(lines.indexOf(commit) + 1);
  expect(commits.filter((line) => line.startsWith('  ')).slice(0, 10)).toEqual([
    '  time',
    `  exists ${failures} ${suspects} ${hung}`,
    `  zcount ${due}`,
    `  zadd ${due}`,
    `  hset ${states}`,
    `  set ${row('1')}`,
    `  set ${row('2')}`,
    `  decrby ${unloaded}`,
    `  unlink ${unloaded}`,
    `  zrange ${due}`,
  ]);
});

test('of a pack whose rows have not changed, nothing is sent or written for a row', async () => {
  const prefix = freshPrefix();
  const rows = cacheOf(redis, new Database(), { prefix, keepMs: 86_400_000 });
  const claims = new Claims(redis, tableOf(rows), tableOf(rows).keys.shards[0]!, DEFAULTS);
  const ids = Array.from({ length: 100 }, (_, index) => String(index));
  await rows.scheduleAll(ids, HOUR);
  const encoded = tableOf(rows).codec.encode({ name: 'x' }, '1700000000000');
  const loaded = { outcomes: new Map(ids.map((id) => [id, encoded])), isSourceDown: false };
  await claims.commit(await claims.claim(), loaded);
  await redis.zadd(`${prefix}:${packs}`, 1, (await redis.zrange(`${prefix}:${packs}`, '0', '0'))[0]!);
  const lines = await transcript(redis, { prefix, scripts }, async () => {
    const { held, unchanged } = await claims.commit(await claims.claim(), loaded);
    expect([held, unchanged]).toEqual([100, 100]);
  });
  // Once in 16 s a value is looked for.
  const keys = lines.map((line) => line.replaceAll(/ cache:\{items\}:row:\d+/g, ''));
  expect(keys.filter((line) => line !== '  exists')).toEqual([
    `evalsha refresher.claim ${due} ${states} ${packs} ${packed} ${source} ${lease} ${suspects} ${hung}`,
    '  time',
    `  exists ${source} ${suspects} ${hung}`,
    `  get ${lease}`,
    `  zrange ${due}`,
    `  zrange ${packs}`,
    `  hmget ${packed}`,
    `  hget ${states}`,
    `  zadd ${packs}`,
    `  set ${lease}`,
    `  zrange ${packs}`,
    `evalsha refresher.commit ${[due, states, packs, packed, failures, suspects, hung, source, unloaded, wake].join(' ')}`,
    '  time',
    `  exists ${failures} ${suspects} ${hung}`,
    `  zscore ${packs}`,
    `  hget ${packed}`,
    `  zadd ${packs}`,
    `  hset ${packed}`,
    `  zrange ${due}`,
    `  zrange ${packs}`,
  ]);
});

test('a refresher that has nothing to do sends nothing', async () => {
  const prefix = freshPrefix();
  const scope = { prefix, scripts };
  const rows = cacheOf(redis, new Database().put('1'), { prefix });
  await refresh(redis, rows);
  await rows.schedule('1', HOUR);
  await until('the row', async () => (await rows.get('1')) !== null);
  const startedAt = performance.now();
  const lines = await transcript(redis, scope, async () => {
    for (let reads = 0; reads < 1_000; reads += 1) await rows.get('1');
  });
  const others = lines.filter((line) => line !== `mget ${row('1')}`);
  const rechecks = others.filter((line) => line.startsWith('evalsha')).length;
  // The bounded re-check, each 5 s, may fall into this time.
  expect(rechecks).toBeLessThanOrEqual(1 + Math.floor((performance.now() - startedAt) / 5_000));
  expect(lines.length - others.length).toBe(1_000);
});

import { expect, test } from '@jest/globals';
import { connect, freshPrefix, transcript, until } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';
import { cacheOf, Database, refresh } from './fixture.js';

const redis = connect();
const HOUR = { everyMs: 3_600_000 };
const key = (part: string): string => `cache:{items}:${part}`;
const [due, states, unloaded] = [key('due'), key('rows'), key('unloaded')];
const [failures, source, lease, wake] = [key('failures'), key('source'), key('lease'), key('wake')];
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
    `evalsha row-cache.plan ${[due, states, failures, unloaded, wake, ...ids.map((id) => row(id))].join(' ')}`;
  const end = [`  pexpire ${due}`, `  pexpire ${states}`, `  pexpire ${unloaded}`];
  expect(await transcript(redis, scope, () => rows.schedule('1', HOUR))).toEqual([
    plan('1'),
    '  time',
    `  zrange ${due}`,
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
    `evalsha_ro row-cache.stats ${due} ${failures} ${source} ${unloaded}`,
    '  time',
    `  zrange ${due}`,
    `  zcount ${due}`,
    `  zcard ${due}`,
    `  hlen ${failures}`,
    `  get ${unloaded}`,
    `  hget ${source}`,
  ]);
  expect(await transcript(redis, scope, () => rows.inspect('1'))).toEqual([
    `evalsha_ro row-cache.inspect ${due} ${states} ${failures} ${row('1')}`,
    '  time',
    `  get ${row('1')}`,
    `  hget ${states}`,
    `  zscore ${due}`,
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
  const claim = `evalsha refresher.claim ${due} ${states} ${source} ${lease}`;
  const commit = `evalsha refresher.commit ${[due, states, failures, source, unloaded, wake, row('1'), row('2')].join(' ')}`;
  const calls = lines.filter((line) => line === claim || line === commit);
  expect(calls.slice(0, 2)).toEqual([claim, commit]);
  // A claim more each when the subscription stands and when the commit has said what is due next.
  expect(calls.slice(2).every((line) => line === claim)).toBe(true);
  expect(calls.length).toBeLessThanOrEqual(4);
  const from = lines.indexOf(claim);
  expect(
    lines
      .slice(from + 1)
      .filter((line) => line.startsWith('  '))
      .slice(0, 11),
  ).toEqual([
    '  time',
    `  hmget ${source}`,
    `  zrange ${due}`,
    `  get ${lease}`,
    `  zmscore ${due}`,
    `  zadd ${due}`,
    `  set ${lease}`,
    // Once in 1,000th of idleMs.
    `  pexpire ${due}`,
    `  pexpire ${states}`,
    `  zrange ${due}`,
    `  hmget ${states}`,
  ]);
  const commits = lines.slice(lines.indexOf(commit) + 1);
  expect(commits.filter((line) => line.startsWith('  ')).slice(0, 10)).toEqual([
    '  time',
    `  zcount ${due}`,
    `  hlen ${failures}`,
    `  zadd ${due}`,
    `  hset ${states}`,
    `  set ${row('1')}`,
    `  set ${row('2')}`,
    `  decrby ${unloaded}`,
    `  unlink ${unloaded}`,
    `  zrange ${due}`,
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

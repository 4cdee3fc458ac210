import { expect, test } from '@jest/globals';
import { connect, freshPrefix, transcript, until } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';
import { cacheOf, Database, refresh } from './fixture.js';

const redis = connect();
const HOUR = { everyMs: 3_600_000 };
const [due, every, failures, lease, wake] = ['due', 'every', 'failures', 'lease', 'wake'].map(
  (part) => `cache:{items}:${part}`,
);
const row = (id: string): string => `cache:{items}:row:${id}`;

test('each method is one round trip, and calls of a tick share one', async () => {
  const prefix = freshPrefix();
  const scope = { prefix, scripts };
  const rows = cacheOf(redis, new Database(), { prefix });
  // The first use of a script on a server sends its text.
  await rows.schedule('warm', HOUR);
  await rows.stats();
  await rows.unschedule('warm');

  const plan = (...ids: string[]): string =>
    `evalsha row-cache.plan ${[due, every, failures, wake, ...ids.map((id) => row(id))].join(' ')}`;
  const end = [`  pexpire ${due}`, `  pexpire ${every}`];
  expect(await transcript(redis, scope, () => rows.schedule('1', HOUR))).toEqual([
    plan('1'),
    '  time',
    `  zrange ${due}`,
    `  zscore ${every}`,
    `  zadd ${every}`,
    `  zadd ${due}`,
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
    `  zscore ${every}`,
    `  zscore ${due}`,
    `  zscore ${every}`,
    `  zadd ${every}`,
    `  zadd ${due}`,
    `  zscore ${every}`,
    `  zadd ${due}`,
    `  zscore ${every}`,
    `  zrem ${due}`,
    `  zrem ${every}`,
    `  hdel ${failures}`,
    `  unlink ${row('2')}`,
    ...end,
  ]);
  expect(await transcript(redis, scope, () => rows.get('1'))).toEqual([`mget ${row('1')}`]);
  expect(
    await transcript(redis, scope, () => Promise.all([rows.get('1'), rows.getMany(['2', '3'])])),
  ).toEqual([`mget ${row('1')} ${row('2')} ${row('3')}`]);
  expect(await transcript(redis, scope, () => rows.stats())).toEqual([
    `evalsha_ro row-cache.stats ${due} ${failures}`,
    '  time',
    `  zrange ${due}`,
    `  zcount ${due}`,
    `  zcard ${due}`,
    `  hlen ${failures}`,
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
  const claim = `evalsha refresher.claim ${due} ${every} ${lease}`;
  const commit = `evalsha refresher.commit ${due} ${every} ${failures} ${row('1')} ${row('2')}`;
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
      .slice(0, 8),
  ).toEqual([
    '  time',
    `  zrange ${due}`,
    `  get ${lease}`,
    `  zadd ${due}`,
    `  set ${lease}`,
    `  pexpire ${due}`,
    `  pexpire ${every}`,
    `  zrange ${due}`,
  ]);
  const commits = lines.slice(lines.indexOf(commit) + 1);
  expect(commits.filter((line) => line.startsWith('  ')).slice(0, 9)).toEqual([
    '  time',
    `  zmscore ${due}`,
    `  zmscore ${every}`,
    `  hlen ${failures}`,
    `  set ${row('1')}`,
    `  set ${row('2')}`,
    `  zadd ${due}`,
    `  pexpire ${failures}`,
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

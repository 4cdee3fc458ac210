import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, transcript } from '@mortise/test-kit';
import { QueueKeys } from '../src/keys.js';
import * as scripts from '../src/scripts.gen.js';
import { Bench } from './operate.js';
import { until } from './until.js';

const redis = connect();

/** The transcript, with short names: keys without what all have in common, and no keys behind the name of a script. */
async function commands(prefix: string, action: () => Promise<unknown>): Promise<string[]> {
  const lines = await transcript(redis, { prefix, scripts }, action);
  return lines.map((line) =>
    line
      .replaceAll('queues:{q}:', '')
      .replace('queues:{-%%-1}:', '')
      .replace(/^evalsha(?:_ro)? (\S+) .*/, '$1')
      .replace(/^evalsha(?:_ro)? (\S+)$/, '$1'),
  );
}

/** A queue that has used all the scripts before: the first use on a server sends the text. */
async function newBench(): Promise<Bench> {
  const bench = new Bench({ priorities: ['high', 'low'] }, redis);
  const { queue } = bench;
  await bench.task('ready', 'first');
  await queue.cancel('first');
  await queue.retry('first');
  await queue.promote('first');
  await queue.list('ready');
  await queue.drain();
  await queue.clean('dead');
  await queue.remove('first');
  return bench;
}

test('cancel', async () => {
  const { prefix, queue } = await newBench();
  for (const id of ['a', 'b', 'c']) await queue.enqueue('ok', 1, { id });
  await queue.enqueue('ok', 1, { id: 'later', delayMs: 60_000 });
  expect(await commands(prefix, () => queue.cancel('a'))).toEqual([
    'operator.cancel',
    '  get settings',
    '  time',
    '  hget tasks',
    '  hget attempts',
    '  zrem scheduled:1',
    '  zrem retrying:1',
    '  lpos ready:1',
    '  lrem ready:1',
    '  hset attempts',
    '  zadd cancelled',
    '  zcard cancelled',
    '  exists awaited',
  ]);
  expect(await commands(prefix, () => Promise.all([queue.cancel('b'), queue.cancel('c')]))).toEqual([
    'operator.cancel',
    '  get settings',
    '  time',
    '  hget tasks',
    '  hget attempts',
    '  zrem scheduled:1',
    '  zrem retrying:1',
    '  lpos ready:1',
    '  lrem ready:1',
    '  hset attempts',
    '  zadd cancelled',
    '  hget tasks',
    '  hget attempts',
    '  zrem scheduled:1',
    '  zrem retrying:1',
    '  lpos ready:1',
    '  lrem ready:1',
    '  hset attempts',
    '  zadd cancelled',
    '  zcard cancelled',
    '  exists awaited',
  ]);
  expect(await commands(prefix, () => queue.cancel('later'))).toEqual([
    'operator.cancel',
    '  get settings',
    '  time',
    '  hget tasks',
    '  hget attempts',
    '  zrem scheduled:1',
    '  zrem retrying:1',
    '  hset attempts',
    '  zadd cancelled',
    '  zcard cancelled',
    '  exists awaited',
  ]);
  expect(await commands(prefix, () => queue.cancel('nobody'))).toEqual([
    'operator.cancel',
    '  get settings',
    '  time',
    '  hget tasks',
    '  zcard cancelled',
  ]);
});

test('cancel on a queue that used only the core', async () => {
  const bench = new Bench({}, redis);
  await bench.task('ready', 'a');
  expect(await commands(bench.prefix, () => bench.queue.cancel('a'))).toEqual([
    'shard.configure',
    '  get settings',
    '  set settings',
    '  zrange idle',
    'operator.cancel',
    '  get settings',
    '  time',
    '  hget tasks',
    '  hget attempts',
    '  zrem scheduled:1',
    '  zrem retrying:1',
    '  lpos ready:1',
    '  lrem ready:1',
    '  hset attempts',
    '  zadd cancelled',
    '  zcard cancelled',
    '  exists awaited',
  ]);
});

test('cancel of a running task', async () => {
  const bench = await newBench();
  await bench.work();
  await bench.task('active', 'a');
  await until(async () => (await redis.zcard(bench.keys.of.idle)) === 1);
  const lines = await commands(bench.prefix, () => bench.queue.cancel('a'));
  expect(lines.slice(0, 12)).toEqual([
    'operator.cancel',
    '  get settings',
    '  time',
    '  hget tasks',
    '  hget attempts',
    '  zrem active',
    '  publish active',
    '  hset attempts',
    '  zadd cancelled',
    '  zcard cancelled',
    '  exists awaited',
    '  zpopmin idle',
  ]);
});

test('remove', async () => {
  const { prefix, queue } = await newBench();
  await queue.enqueue('ok', 1, { id: 'a' });
  expect(await commands(prefix, () => queue.remove('a'))).toEqual([
    'operator.remove',
    '  get settings',
    '  time',
    '  hget tasks',
    '  hget attempts',
    '  zrem scheduled:1',
    '  zrem retrying:1',
    '  lpos ready:1',
    '  lrem ready:1',
    '  zrem dedupIds',
    '  hdel tasks',
    '  hdel attempts',
    '  hdel progress',
    '  hdel logs',
    '  exists flows',
    '  exists awaited',
  ]);
});

test('retry, retryAll and promote', async () => {
  const bench = await newBench();
  const { prefix, queue } = bench;
  for (const id of ['a', 'b', 'c']) await bench.task('cancelled', id);
  await queue.enqueue('ok', 1, { id: 'later', delayMs: 60_000 });
  expect(await commands(prefix, () => queue.retry('a'))).toEqual([
    'operator.retry',
    '  get settings',
    '  time',
    '  hget attempts',
    '  hget tasks',
    '  zrem cancelled',
    '  hset tasks',
    '  hset attempts',
    '  zadd retrying:1',
    '  zpopmin idle',
  ]);
  expect(await commands(prefix, () => queue.retryAll({ state: 'cancelled' }))).toEqual([
    'operator.list',
    '  get settings',
    '  time',
    '  zcard cancelled',
    '  zrange cancelled',
    '  hmget tasks',
    '  hmget attempts',
    '  hmget progress',
    'operator.retry',
    '  get settings',
    '  time',
    '  hget attempts',
    '  hget tasks',
    '  zrem cancelled',
    '  hset tasks',
    '  hset attempts',
    '  zadd retrying:1',
    '  hget attempts',
    '  hget tasks',
    '  zrem cancelled',
    '  hset tasks',
    '  hset attempts',
    '  zadd retrying:1',
    '  zpopmin idle',
  ]);
  expect(await commands(prefix, () => queue.promote('later'))).toEqual([
    'operator.promote',
    '  get settings',
    '  time',
    '  zscore scheduled:0',
    '  zscore retrying:0',
    '  zscore scheduled:1',
    '  zadd scheduled:1',
    '  zscore retrying:1',
    '  zpopmin idle',
  ]);
});

test('drain and clean', async () => {
  const bench = await newBench();
  const { prefix, queue } = bench;
  for (const id of ['a', 'b', 'c']) await bench.task('ready', id);
  expect(await commands(prefix, () => queue.drain())).toEqual([
    'operator.drain',
    '  get settings',
    '  time',
    '  exists tombstones',
    '  zrange scheduled:0',
    '  zrange retrying:0',
    '  lrange ready:0',
    '  zrange scheduled:1',
    '  zrange retrying:1',
    '  lrange ready:1',
    '  hmget tasks',
    '  lpop ready:1',
    '  hdel tasks',
    '  hdel attempts',
    '  hdel progress',
    '  hdel logs',
    '  exists flows',
    '  lrange ready:1',
    '  zrange grouped',
    '  exists awaited',
  ]);
  for (const id of ['a', 'b', 'c']) await bench.task('cancelled', id);
  expect(await commands(prefix, () => queue.clean('cancelled'))).toEqual([
    'operator.clean',
    '  get settings',
    '  time',
    '  zrange cancelled',
    '  zrem cancelled',
    '  hdel tasks',
    '  hdel attempts',
    '  hdel progress',
    '  hdel logs',
    '  exists flows',
  ]);
});

test('list', async () => {
  const bench = await newBench();
  const { prefix, queue } = bench;
  for (const id of ['a', 'b', 'c']) await bench.task('ready', id);
  for (const id of ['d', 'e', 'f']) await bench.task('cancelled', id);
  expect(await commands(prefix, () => queue.list('ready', { limit: 2 }))).toEqual([
    'operator.list',
    '  get settings',
    '  time',
    '  zcount scheduled:0',
    '  zcount retrying:0',
    '  exists tombstones',
    '  lrange ready:0',
    '  zcount scheduled:1',
    '  zcount retrying:1',
    '  exists tombstones',
    '  lrange ready:1',
    '  hmget tasks',
    '  hmget attempts',
    '  hmget progress',
    '  lrange ready:1',
  ]);
  // Those of one ms are found by their ids, which takes more commands.
  const { cancelled } = new QueueKeys('q', prefix).of;
  for (const [instant, stored] of (await redis.zrangeBuffer(cancelled, '0', '-1')).entries()) {
    await redis.zadd(cancelled, instant + 1, stored);
  }
  const { cursor } = await queue.list('cancelled', { limit: 2 });
  expect(await commands(prefix, () => queue.list('cancelled', { cursor }))).toEqual([
    'operator.list',
    '  get settings',
    '  time',
    '  zcount cancelled',
    '  zcount cancelled',
    '  zrange cancelled',
    '  zrange cancelled',
    '  hmget tasks',
    '  hmget attempts',
    '  hmget progress',
  ]);
});

test('names', async () => {
  const { prefix } = await newBench();
  expect(await commands(prefix, () => Queue.names(redis, { prefix }))).toEqual(['sscan names']);
  expect(await commands(prefix, () => Queue.pauseAll(redis, { prefix }))).toEqual([
    'sscan names',
    'get settings',
    'shard.configure',
    '  get settings',
    '  set settings',
    '  zrange idle',
  ]);
});

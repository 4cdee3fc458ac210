import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect } from '@mortise/test-kit';
import { QueueKeys } from '../src/keys.js';
import { Bench } from './operate.js';
import { until } from './until.js';
import { commands } from './commands.js';

const redis = connect();

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
  expect(await commands(redis, prefix, () => queue.cancel('a'))).toMatchInlineSnapshot(
    `"operator.move:  get settings · time · hget tasks · hget attempts · zrem scheduled:1 · zrem retrying:1 · lpos ready:1 · lrem ready:1 · hset attempts · zadd cancelled · zcard cancelled · exists awaited"`,
  );
  expect(
    await commands(redis, prefix, () => Promise.all([queue.cancel('b'), queue.cancel('c')])),
  ).toMatchInlineSnapshot(
    `"operator.move:  get settings · time · (hget tasks · hget attempts · zrem scheduled:1 · zrem retrying:1 · lpos ready:1 · lrem ready:1 · hset attempts · zadd cancelled) ×2 · zcard cancelled · exists awaited"`,
  );
  expect(await commands(redis, prefix, () => queue.cancel('later'))).toMatchInlineSnapshot(
    `"operator.move:  get settings · time · hget tasks · hget attempts · zrem scheduled:1 · zrem retrying:1 · hset attempts · zadd cancelled · zcard cancelled · exists awaited"`,
  );
  expect(await commands(redis, prefix, () => queue.cancel('nobody'))).toMatchInlineSnapshot(
    `"operator.move:  get settings · time · hget tasks"`,
  );
});

test('cancel on a queue that used only the core', async () => {
  const bench = new Bench({}, redis);
  await bench.task('ready', 'a');
  expect(await commands(redis, bench.prefix, () => bench.queue.cancel('a'))).toMatchInlineSnapshot(`
"shard.configure:  get settings · set settings · zrange idle
operator.move:  get settings · time · hget tasks · hget attempts · zrem scheduled:1 · zrem retrying:1 · lpos ready:1 · lrem ready:1 · hset attempts · zadd cancelled · zcard cancelled · exists awaited"
`);
});

test('cancel of a running task', async () => {
  const bench = await newBench();
  await bench.work();
  await bench.task('active', 'a');
  await until(async () => (await redis.zcard(bench.keys.of.idle)) === 1);
  const sent = await commands(redis, bench.prefix, () => bench.queue.cancel('a'));
  // The exchange of the worker follows.
  expect(sent.split('\n')[0]).toMatchInlineSnapshot(
    `"operator.move:  get settings · time · hget tasks · hget attempts · publish active · zrem active · hset attempts · zadd cancelled · zcard cancelled · exists awaited · zpopmin idle · publish wake"`,
  );
});

test('remove', async () => {
  const { prefix, queue } = await newBench();
  await queue.enqueue('ok', 1, { id: 'a' });
  expect(await commands(redis, prefix, () => queue.remove('a'))).toMatchInlineSnapshot(
    `"operator.move:  get settings · time · hget tasks · hget attempts · zrem scheduled:1 · zrem retrying:1 · lpos ready:1 · lrem ready:1 · zrem dedupIds · hdel tasks · hdel attempts · hdel progress · hdel logs · exists flows · exists awaited"`,
  );
});

test('retry, retryAll and promote', async () => {
  const bench = await newBench();
  const { prefix, queue } = bench;
  for (const id of ['a', 'b', 'c']) await bench.task('cancelled', id);
  await queue.enqueue('ok', 1, { id: 'later', delayMs: 60_000 });
  expect(await commands(redis, prefix, () => queue.retry('a'))).toMatchInlineSnapshot(
    `"operator.move:  get settings · time · hget tasks · hget attempts · zrem cancelled · hset tasks · hset attempts · zadd retrying:1 · zpopmin idle"`,
  );
  expect(await commands(redis, prefix, () => queue.retryAll({ state: 'cancelled' }))).toMatchInlineSnapshot(`
"queue.list:  get settings · time · zcard cancelled · zrange cancelled · hmget tasks · hmget attempts · hmget progress
operator.move:  get settings · time · (hget tasks · hget attempts · zrem cancelled · hset tasks · hset attempts · zadd retrying:1) ×2 · zpopmin idle"
`);
  expect(await commands(redis, prefix, () => queue.promote('later'))).toMatchInlineSnapshot(
    `"operator.move:  get settings · time · hget tasks · hget attempts · zscore scheduled:1 · zadd scheduled:1 · zpopmin idle"`,
  );
});

test('drain and clean', async () => {
  const bench = await newBench();
  const { prefix, queue } = bench;
  for (const id of ['a', 'b', 'c']) await bench.task('ready', id);
  expect(await commands(redis, prefix, () => queue.drain())).toMatchInlineSnapshot(
    `"operator.drain:  get settings · time · exists tombstones · zrange scheduled:0 · zrange retrying:0 · lrange ready:0 · zrange scheduled:1 · zrange retrying:1 · lrange ready:1 · hmget tasks · lpop ready:1 · hdel tasks · hdel attempts · hdel progress · hdel logs · exists flows · lrange ready:1 · zrange grouped · exists awaited"`,
  );
  for (const id of ['a', 'b', 'c']) await bench.task('cancelled', id);
  expect(await commands(redis, prefix, () => queue.clean('cancelled'))).toMatchInlineSnapshot(
    `"operator.clean:  get settings · time · zrange cancelled · zrem cancelled · hdel tasks · hdel attempts · hdel progress · hdel logs · exists flows"`,
  );
});

test('list', async () => {
  const bench = await newBench();
  const { prefix, queue } = bench;
  for (const id of ['a', 'b', 'c']) await bench.task('ready', id);
  for (const id of ['d', 'e', 'f']) await bench.task('cancelled', id);
  expect(await commands(redis, prefix, () => queue.list('ready', { limit: 2 }))).toMatchInlineSnapshot(
    `"queue.list:  get settings · time · zcount scheduled:0 · zcount retrying:0 · exists tombstones · lrange ready:0 · zcount scheduled:1 · zcount retrying:1 · exists tombstones · lrange ready:1 · hmget tasks · hmget attempts · hmget progress · lrange ready:1"`,
  );
  // Those of one ms are found by their ids, which takes more commands.
  const { cancelled } = new QueueKeys('q', prefix).of;
  for (const [instant, stored] of (await redis.zrangeBuffer(cancelled, '0', '-1')).entries()) {
    await redis.zadd(cancelled, instant + 1, stored);
  }
  const { cursor } = await queue.list('cancelled', { limit: 2 });
  expect(await commands(redis, prefix, () => queue.list('cancelled', { cursor }))).toMatchInlineSnapshot(
    `"queue.list:  get settings · time · zcount cancelled ×2 · zrange cancelled ×2 · hmget tasks · hmget attempts · hmget progress"`,
  );
});

test('names', async () => {
  const { prefix } = await newBench();
  expect(await commands(redis, prefix, () => Queue.names(redis, { prefix }))).toMatchInlineSnapshot(
    `"sscan names"`,
  );
  expect(await commands(redis, prefix, () => Queue.pauseAll(redis, { prefix }))).toMatchInlineSnapshot(`
"sscan names
get settings
shard.configure:  get settings · set settings · zrange idle"
`);
});

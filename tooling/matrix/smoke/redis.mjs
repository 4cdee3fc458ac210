import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import * as redisPackage from '@mortise/redis';
import { MemoryRedis } from '@mortise/redis/testing';
import { Verbs } from './verbs.mjs';

const { Codecs, Merged, Sampled } = redisPackage;
const { Coalescer, ErrorReporter, KeySpace, keySlot, Loop, readEach, readMany, SafeTelemetry, Script } =
  redisPackage;
const { ServerClock, WaiterHub, WakeUp } = redisPackage;

const stockTake = new Script({
  name: 'stock.take',
  isReadOnly: false,
  keys: ['stock'],
  args: ['count'],
  source: `#!lua
local stock, count = KEYS[1], tonumber(ARGV[1])
if tonumber(redis.call('GET', stock) or 0) < count then return nil end
return redis.call('DECRBY', stock, count)
`,
});

const stockRead = new Script({
  name: 'stock.read',
  isReadOnly: true,
  keys: ['stock'],
  args: [],
  source: `#!lua flags=no-writes
local stock = KEYS[1]
return redis.call('GET', stock)
`,
});

const wake = new Script({
  name: 'wake',
  isReadOnly: false,
  keys: ['stock'],
  args: ['publish', 'channel', 'message'],
  source: `#!lua
local stock, publish, channel, message = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
redis.call('SET', stock, 1, 'EX', 60)
return redis.call(publish, channel, message)
`,
});

export async function smoke({ connect, prefix, until }) {
  const verbs = new Verbs(redisPackage);
  const redis = await connect();
  const keys = new KeySpace('matrix', prefix).entity('item:42');
  const stock = keys.key('stock');
  assert.equal(stock, `${prefix}:matrix:{item:42}:stock`);
  assert.equal(keySlot(stock), keySlot('item:42'));

  await redis.call('set', [stock, 10, 'EX', 60]);
  assert.equal(await stockTake.run(redis, { stock }, { count: 7 }), 3);
  assert.equal(await stockTake.runWhole(redis, { stock }, { count: 7 }), null);
  assert.deepEqual(await stockRead.runBuffer(redis, { stock }, {}), Buffer.from('3'));
  assert.deepEqual(await readMany(redis, [['get', stock]]), ['3']);
  assert.deepEqual(await readEach(redis, [['get', stock]]), ['3']);

  await coalescing(redis, stock);
  await waiting(redis, keys, stock);
  await small(until);
  await inMemory();
  await live();
  codecs();
  return verbs;
}

async function coalescing(redis, stock) {
  const takes = new Coalescer(
    (_, counts) => Promise.all(counts.map((count) => stockTake.run(redis, { stock }, { count }))),
    { maxBatch: 10 },
  );
  assert.equal(await takes.submit('item', 1), 2);
  assert.deepEqual(await takes.submitAll('item', [1]), [1]);
  assert.deepEqual((await takes.settleAll('item', [1, 1])).results, [0, null]);
}

async function waiting(redis, keys, stock) {
  const hub = WaiterHub.of(redis);
  const channel = keys.key('wake');
  const id = hub.newId();
  const waiter = await hub.waiter(channel, id);
  let received = 0;
  const stop = await hub.listen(channel, {
    onMessage: () => void (received += 1),
    onResync: () => undefined,
    onClosed: () => undefined,
  });
  const publish = (message) => wake.run(redis, { stock }, { publish: hub.publishCommand, channel, message });
  await publish(`${id}:hello`);
  const woken = await waiter.next({ deadlineAt: performance.now() + 10_000 });
  assert.equal(String(woken.body), 'hello');
  await publish('*:all');
  assert.equal(String((await waiter.next({ deadlineAt: performance.now() + 10_000 })).body), 'all');
  assert.equal(received, 1);
  stop();
  waiter.resync();
  assert.equal((await waiter.next()).type, 'resync');
  waiter[Symbol.dispose]();
  const closed = await hub.waiter(channel, 'w2');
  closed.fail(new Error('enough'));
  await assert.rejects(closed.next(), /enough/);
}

/** Parts that need no server. */
async function small(until) {
  const errors = [];
  const reporter = new ErrorReporter('matrix', (error) => errors.push(error));
  reporter.report(new Error('once'));
  reporter.reportRepeated(new Error('again'));
  assert.equal(errors.length, 2);

  let steps = 0;
  const loop = new Loop('matrix', async () => ((steps += 1), Number.POSITIVE_INFINITY));
  loop.start();
  await until(() => steps === 1, 'the first step');
  loop.wake();
  await until(() => steps === 2, 'the second step');
  assert.equal(loop.isRunning, true);
  await loop.stop();
  await loop[Symbol.asyncDispose]();

  const clock = new ServerClock();
  assert.equal(clock.isKnown, false);
  clock.learn(performance.now(), 1_000_000);
  assert.ok(clock.isKnown && clock.learnedAt > 0);
  // Time passes between the two calls, so the lower bound is read first.
  const now = clock.now();
  assert.ok(clock.latest() >= now);
  assert.ok(clock.earliestLocal(2_000_000) > performance.now());
  clock.forget();
  assert.equal(clock.isKnown, false);

  const wakeUp = new WakeUp();
  wakeUp.wake();
  assert.equal(await wakeUp.wait(0), true);
  wakeUp.reset();
  assert.equal(await wakeUp.wait(1), false);
  const waits = wakeUp.wait(10_000);
  await setTimeout(1);
  wakeUp.close(new Error('enough'));
  await assert.rejects(waits, /enough/);

  telemetry();
}

function telemetry() {
  const seen = [];
  const telemetryOf = SafeTelemetry.of({
    count: ({ name }, value) => seen.push([name, value]),
    record: ({ name }, value) => seen.push([name, value]),
    span: ({ name }) => ({
      traceContext: { traceparent: name },
      run: (act) => act(),
      end: () => seen.push(['end', 1]),
    }),
  });
  telemetryOf.count({ name: 'calls', unit: '1', description: '' }, 2);
  telemetryOf.record({ name: 'time', unit: 'ms', description: '' }, 3);
  assert.equal(telemetryOf.firstAttempt, 'link');
  assert.equal(
    telemetryOf.attempt(() => 4),
    4,
  );
  const span = telemetryOf.span(() => ({ name: 'work', kind: 'producer', attributes: {} }));
  assert.equal(span.traceContext.traceparent, 'work');
  assert.equal(
    span.run(() => 5),
    5,
  );
  span.end({});
  assert.deepEqual(seen, [
    ['calls', 2],
    ['time', 3],
    ['end', 1],
  ]);
}

/** The entry for tests. */
async function inMemory() {
  const own = new MemoryRedis();
  await own.call('set', ['k', 'v', 'PX', 1_000]);
  // As in Redis, a key still exists in the ms of its expiry.
  await own.clock.advance('1s');
  assert.equal(await own.call('exists', ['k']), 1);
  await own.clock.advance(1);
  assert.equal(await own.call('exists', ['k']), 0);
  await own.close();
}

/** Values that several readers follow. */
async function live() {
  const ended = new AbortController();
  let count = 0;
  const sampled = new Sampled(async () => (count += 1), 10, Object.is);
  const merged = new Merged();
  merged.add(sampled.follow(ended.signal));
  const seen = [];
  for await (const value of merged) {
    seen.push(value);
    assert.equal(sampled.isFollowed, true);
    if (seen.length === 2) break;
  }
  ended.abort();
  assert.deepEqual([seen, sampled.isFollowed], [[1, 2], false]);
}

const reverse = (bytes) => Buffer.from(bytes.toReversed());

function codecs() {
  const reversed = { name: 'reversed', encode: reverse, decode: reverse };
  const made = Codecs.of([reversed]);
  const encoded = JSON.parse(made.encode('{"a":1}'));
  assert.equal(encoded.$codec, 'reversed');
  assert.equal(made.decode(encoded), '{"a":1}');
}

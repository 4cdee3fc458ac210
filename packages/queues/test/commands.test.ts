import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix, transcript } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';
import { launch } from './launch.js';
import { until } from './until.js';
import { withoutLooks } from './without-looks.js';

const redis = connect();

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

/** The transcript, with short names: keys without what all have in common, and no keys behind the name of a script. */
async function commands(prefix: string, action: () => Promise<unknown>): Promise<string[]> {
  const lines = await transcript(redis, { prefix, scripts }, action);
  return lines.map((line) =>
    line
      .replaceAll('queues:{q}:', '')
      .replace(/^evalsha(?:_ro)? (\S+) .*/, '$1')
      .replace(/idle wake:\S+/, 'idle')
      .replace(/wake:\S+/, 'wake'),
  );
}

async function newQueue(): Promise<{ prefix: string; queue: Queue<Tasks> }> {
  const prefix = freshPrefix();
  const queue = new Queue<Tasks>(redis, 'q', { prefix, priorities: ['high', 'low'] });
  // The first use of a script on a server sends its text, and the first task stores the priorities.
  await queue.enqueue('t', 0, { id: 'first' });
  await queue.get('first');
  await queue.counts();
  return { prefix, queue };
}

test('enqueue', async () => {
  const { prefix, queue } = await newQueue();
  expect(await commands(prefix, () => queue.enqueue('t', 1))).toEqual([
    'queue.enqueue',
    '  get settings',
    '  time',
    '  hmget tasks',
    '  hlen tasks',
    '  rpush ready:1',
    '  hset tasks',
    '  zpopmin idle',
  ]);
  expect(await commands(prefix, () => queue.enqueue('t', 1, { delayMs: 60_000 }))).toEqual([
    'queue.enqueue',
    '  get settings',
    '  time',
    '  hmget tasks',
    '  hlen tasks',
    '  zadd scheduled:1',
    '  hset tasks',
    '  get timekeeper',
    '  zpopmin idle',
  ]);
  const many = [1, 2, 3].map((payload) => ({ name: 't', payload }));
  const inOneTick = (): Promise<unknown> =>
    Promise.all([queue.enqueueMany(many), queue.enqueue('t', 4, { priority: 'high' })]);
  expect(await commands(prefix, inOneTick)).toEqual([
    'queue.enqueue',
    '  get settings',
    '  time',
    '  hmget tasks',
    '  hlen tasks',
    '  rpush ready:1',
    '  rpush ready:0',
    '  hset tasks',
    '  zpopmin idle',
  ]);
});

test('the first enqueue of an instance that names no priorities', async () => {
  const { prefix } = await newQueue();
  const queue = new Queue<Tasks>(redis, 'q', { prefix });
  const both = (): Promise<unknown> => Promise.all([queue.enqueue('t', 1), queue.enqueue('t', 2)]);
  expect((await commands(prefix, both)).slice(0, 3)).toEqual([
    'get settings',
    'queue.enqueue',
    '  get settings',
  ]);
  expect((await commands(prefix, both))[0]).toBe('queue.enqueue');
});

test('get and counts', async () => {
  const { prefix, queue } = await newQueue();
  expect(await commands(prefix, () => queue.get('first'))).toEqual([
    'queue.get',
    '  get settings',
    '  hget tasks',
    '  hget attempts',
    '  time',
    '  zscore retrying:1',
    '  zscore scheduled:1',
  ]);
  expect(await commands(prefix, () => queue.counts())).toEqual([
    'queue.counts',
    '  get settings',
    '  time',
    '  exists tombstones',
    '  zcard grouped',
    '  zcount scheduled:0',
    '  zcount retrying:0',
    '  llen ready:0',
    '  zcard scheduled:0',
    '  zcard retrying:0',
    '  zcount scheduled:1',
    '  zcount retrying:1',
    '  llen ready:1',
    '  zcard scheduled:1',
    '  zcard retrying:1',
    '  zcard active',
    '  llen succeeded',
    '  zcard dead',
    '  zcard cancelled',
    '  hget flows',
  ]);
});

test('a task that comes to a parked worker: enqueue, take, complete', async () => {
  const { prefix, queue } = await newQueue();
  let isDone = false;
  await launch(redis, 'q', { t: () => void (isDone = true) }, { prefix });
  await until(async () => isDone && (await redis.zcard(`${prefix}:queues:{q}:idle`)) === 1);
  const lines = await commands(prefix, async () => {
    await queue.enqueue('t', 1);
    await until(async () => (await redis.llen(`${prefix}:queues:{q}:succeeded`)) === 2);
  });
  const own = withoutLooks(lines.filter((line) => !line.startsWith('llen')));
  expect(own).toEqual([
    'queue.enqueue',
    '  get settings',
    '  time',
    '  hmget tasks',
    '  hlen tasks',
    '  rpush ready:1',
    '  hset tasks',
    '  zpopmin idle',
    '  publish wake',
    // Takes it, and parks again: other slots are free.
    'worker.exchange',
    '  get settings',
    '  time',
    '  exists scheduled:0 retrying:0 scheduled:1 retrying:1',
    '  lpop ready:0',
    '  lpop ready:1',
    '  hmget tasks',
    '  hset attempts',
    '  zadd active',
    '  zremrangebyscore idle',
    '  zadd idle',
    '  pexpire idle',
    '  zrange active',
    '  get timekeeper',
    '  set timekeeper',
    // Completes it.
    'worker.exchange',
    '  get settings',
    '  time',
    '  hmget attempts',
    '  zrem active',
    '  exists scheduled:0 retrying:0 scheduled:1 retrying:1',
    '  lpop ready:0',
    '  lpop ready:1',
    '  hset attempts',
    '  rpush succeeded',
    '  zremrangebyscore idle',
    '  zadd idle',
    '  pexpire idle',
    '  zrange active',
    '  get timekeeper',
    '  del timekeeper',
  ]);
});

test('the next one that comes to a parked worker comes along with the message that wakes it', async () => {
  const { prefix, queue } = await newQueue();
  const runs: unknown[] = [];
  await launch(redis, 'q', { t: (payload) => void runs.push(payload) }, { prefix });
  const isParked = async (): Promise<boolean> => (await redis.zcard(`${prefix}:queues:{q}:idle`)) === 1;
  await until(async () => runs.length === 1 && isParked());
  // A worker was parked: the keys for it are sent from now on. Handlers are known to be quick after some.
  for (let count = 2; count <= 20; count += 1) {
    await queue.enqueue('t', count);
    await until(async () => runs.length === count && isParked());
  }
  let lines: string[] = [];
  // One handler that the machine held up, and the worker confirms first what it is handed.
  await until(async () => {
    await until(isParked);
    const ended = runs.length + 1;
    lines = await commands(prefix, async () => {
      await queue.enqueue('t', 'handed');
      await until(async () => (await redis.llen(`${prefix}:queues:{q}:succeeded`)) === ended);
    });
    return !lines.includes('worker.renew');
  });
  expect(withoutLooks(lines.filter((line) => !/^(?:llen|zcard)/.test(line)))).toEqual([
    'queue.enqueue',
    '  get settings',
    '  time',
    '  hmget tasks',
    '  hlen tasks',
    '  exists scheduled:1 retrying:1 ready:1 ready:0 scheduled:0 retrying:0',
    '  zpopmin idle',
    '  pubsub wake',
    '  publish wake',
    '  hset attempts',
    '  zadd active',
    '  hset tasks',
    // Completes it, and parks again.
    'worker.exchange',
    '  get settings',
    '  time',
    '  hmget attempts',
    '  zrem active',
    '  exists scheduled:0 retrying:0 scheduled:1 retrying:1',
    '  lpop ready:0',
    '  lpop ready:1',
    '  hset attempts',
    '  rpush succeeded',
    '  zremrangebyscore idle',
    '  zadd idle',
    '  pexpire idle',
    '  zrange active',
    '  get timekeeper',
  ]);
});

test('a full worker completes and takes in one call', async () => {
  const { prefix, queue } = await newQueue();
  let runs = 0;
  let isOver: () => void = () => undefined;
  const last = new Promise<void>((resolve) => {
    isOver = resolve;
  });
  const t = async (): Promise<void> => {
    runs += 1;
    if (runs === 4) await last;
  };
  await queue.enqueueMany([1, 2, 3, 4].map((payload) => ({ name: 't', payload })));
  const lines = await commands(prefix, async () => {
    await launch(redis, 'q', { t }, { prefix, concurrency: 1, keepSucceeded: 1 });
    await until(() => runs === 4);
  });
  isOver();
  const own = withoutLooks(lines);
  const first = own.indexOf('  hmget attempts') - 3;
  expect(own.slice(first, first + 19)).toEqual([
    'worker.exchange',
    '  get settings',
    '  time',
    '  hmget attempts',
    '  zrem active',
    '  exists scheduled:0 retrying:0 scheduled:1 retrying:1',
    '  lpop ready:0',
    '  lpop ready:1',
    '  hmget tasks',
    '  hset attempts',
    '  zadd active',
    '  rpush succeeded',
    '  exists idle',
    'worker.exchange',
    '  get settings',
    '  time',
    '  hmget attempts',
    '  zrem active',
    '  exists scheduled:0 retrying:0 scheduled:1 retrying:1',
  ]);
});

test('every 100 ms an exchange looks for what dead workers held, and for what is too old', async () => {
  const { prefix } = await newQueue();
  const lines = await commands(prefix, async () => {
    await launch(redis, 'q', { t: () => undefined }, { prefix });
    await until(async () => (await redis.zcard(`${prefix}:queues:{q}:idle`)) === 1);
  });
  // It comes with the first call; before it stands one that was refused, since other settings are stored.
  const first = lines.indexOf('worker.exchange') + 2;
  expect(lines.slice(first, first + 15)).toEqual([
    'worker.exchange',
    '  get settings',
    '  time',
    '  zrangebyscore active',
    '  exists scheduled:0 retrying:0 scheduled:1 retrying:1',
    '  lpop ready:0',
    '  lpop ready:1',
    '  hmget tasks',
    '  hset attempts',
    '  hset attempts',
    '  hdel attempts',
    '  hset tasks',
    '  hdel tasks',
    '  zadd active',
    '  lindex succeeded',
  ]);
});

test('renew, from any number of handlers', async () => {
  const { prefix, queue } = await newQueue();
  const renewals: (() => Promise<void>)[] = [];
  let isOver: () => void = () => undefined;
  const last = new Promise<void>((resolve) => {
    isOver = resolve;
  });
  const t = async (_: unknown, context: { renew(): Promise<void> }): Promise<void> => {
    renewals.push(() => context.renew());
    await last;
  };
  await queue.enqueue('t', 1);
  await launch(redis, 'q', { t }, { prefix });
  await until(() => renewals.length === 2);
  await renewals[0]!();
  const all = (): Promise<unknown> => Promise.all(renewals.map((renew) => renew()));
  expect(await commands(prefix, all)).toEqual([
    'worker.renew',
    '  time',
    '  hmget attempts',
    '  zadd active',
  ]);
  isOver();
});

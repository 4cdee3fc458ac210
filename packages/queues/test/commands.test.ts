import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix, transcript } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';
import { launch } from './launch.js';
import { until } from './until.js';
import { withoutMaintenance } from './without-maintenance.js';

const redis = connect();

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

/** The transcript, with short names: keys without what all have in common, and no keys behind the name of a script. */
async function commands(prefix: string, action: () => Promise<unknown>): Promise<string> {
  return (await linesOf(prefix, action)).join('\n');
}

async function linesOf(prefix: string, action: () => Promise<unknown>): Promise<string[]> {
  const lines = await transcript(redis, { prefix, scripts }, action);
  const short = lines.map((line) =>
    line
      .replaceAll('queues:{q}:', '')
      .replace(/^evalsha(?:_ro)? (\S+) .*/, '$1')
      .replace(/idle \d+ \S+wake:\S+/, 'idle')
      .replace(/wake:\S+/, 'wake'),
  );
  // What the test itself looks at.
  return withoutMaintenance(short.filter((line) => !/^(?:llen|zcard)/.test(line)));
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
  expect(await commands(prefix, () => queue.enqueue('t', 1))).toMatchInlineSnapshot(`
"queue.enqueue
  get settings
  time
  hmget tasks
  hlen tasks
  rpush ready:1
  hset tasks
  zpopmin idle"
`);
  expect(await commands(prefix, () => queue.enqueue('t', 1, { delayMs: 60_000 }))).toMatchInlineSnapshot(`
"queue.enqueue
  get settings
  time
  hmget tasks
  hlen tasks
  zadd scheduled:1
  hset tasks
  get timekeeper
  zpopmin idle"
`);
  const many = [1, 2, 3].map((payload) => ({ name: 't', payload }));
  const inOneTick = (): Promise<unknown> =>
    Promise.all([queue.enqueueMany(many), queue.enqueue('t', 4, { priority: 'high' })]);
  expect(await commands(prefix, inOneTick)).toMatchInlineSnapshot(`
"queue.enqueue
  get settings
  time
  hmget tasks
  hlen tasks
  rpush ready:1
  rpush ready:0
  hset tasks
  zpopmin idle"
`);
});

test('the first enqueue of an instance that names no priorities', async () => {
  const { prefix } = await newQueue();
  const queue = new Queue<Tasks>(redis, 'q', { prefix });
  const both = (): Promise<unknown> => Promise.all([queue.enqueue('t', 1), queue.enqueue('t', 2)]);
  expect((await linesOf(prefix, both)).slice(0, 3)).toEqual([
    'get settings',
    'queue.enqueue',
    '  get settings',
  ]);
  expect((await linesOf(prefix, both))[0]).toBe('queue.enqueue');
});

test('get and counts', async () => {
  const { prefix, queue } = await newQueue();
  expect(await commands(prefix, () => queue.get('first'))).toMatchInlineSnapshot(`
"queue.get
  get settings
  hget tasks
  hget attempts
  time
  zscore retrying:1
  zscore scheduled:1"
`);
  expect(await commands(prefix, () => queue.counts())).toMatchInlineSnapshot(`
"queue.counts
  get settings
  time
  exists tombstones
  zcard grouped
  zcount scheduled:0
  zcount retrying:0
  llen ready:0
  zcard scheduled:0
  zcard retrying:0
  zcount scheduled:1
  zcount retrying:1
  llen ready:1
  zcard scheduled:1
  zcard retrying:1
  zcard active
  llen succeeded
  zcard dead
  zcard cancelled
  hget flows"
`);
});

const isIdle = async (prefix: string): Promise<boolean> =>
  (await redis.zcard(`${prefix}:queues:{q}:idle`)) === 1;

test('a task that comes to an idle worker is handed off, unless it has one attempt', async () => {
  const { prefix, queue } = await newQueue();
  const runs: unknown[] = [];
  await launch(redis, 'q', { t: (payload) => void runs.push(payload) }, { prefix });
  const once = async (attempts: number): Promise<string> => {
    await until(() => isIdle(prefix));
    const ended = runs.length + 1;
    return commands(prefix, async () => {
      await queue.enqueue('t', ended, { attempts });
      await until(async () => (await redis.llen(`${prefix}:queues:{q}:succeeded`)) === ended);
    });
  };
  await until(() => runs.length === 1);
  // An enqueue learns whether a worker was idle, for the next one.
  await once(5);
  expect(await once(5)).toMatchInlineSnapshot(`
"queue.enqueue
  get settings
  time
  exists scheduled:1 retrying:1 ready:1 ready:0 scheduled:0 retrying:0
  hsetnx tasks
  zpopmin idle
  pubsub wake
  hset attempts
  zadd active
  publish wake
fetcher.fetch-and-ack
  get settings
  time
  zrem active
  exists ready:0 scheduled:0 retrying:0 ready:1 scheduled:1 retrying:1
  hset attempts
  rpush succeeded
  zadd idle"
`);
  expect(await once(1)).toMatchInlineSnapshot(`
"queue.enqueue
  get settings
  time
  hmget tasks
  hlen tasks
  rpush ready:1
  hset tasks
  zpopmin idle
  publish wake
fetcher.fetch-and-ack
  get settings
  time
  exists ready:0 scheduled:0 retrying:0 ready:1 scheduled:1 retrying:1
  exists scheduled:0 retrying:0 scheduled:1 retrying:1
  lpop ready:0
  lpop ready:1
  hmget tasks
  hset attempts
  zadd active
  zadd idle
fetcher.fetch-and-ack
  get settings
  time
  zrem active
  exists ready:0 scheduled:0 retrying:0 ready:1 scheduled:1 retrying:1
  hset attempts
  rpush succeeded
  zadd idle"
`);
});

test('a full worker acks and fetches in one call', async () => {
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
  const lines = await linesOf(prefix, async () => {
    await launch(redis, 'q', { t }, { prefix, concurrency: 1, keepSucceeded: 1 });
    await until(() => runs === 4);
  });
  isOver();
  const first = lines.indexOf('  zrem active') - 3;
  const second = lines.indexOf('fetcher.fetch-and-ack', first + 1);
  expect(lines.slice(first, second).join('\n')).toMatchInlineSnapshot(`
"fetcher.fetch-and-ack
  get settings
  time
  zrem active
  exists ready:0 scheduled:0 retrying:0 ready:1 scheduled:1 retrying:1
  exists scheduled:0 retrying:0 scheduled:1 retrying:1
  lpop ready:0
  lpop ready:1
  hmget tasks
  hset attempts
  zadd active
  rpush succeeded
  exists idle"
`);
});

test('a worker that starts puts back what a dead worker had, then looks when something falls due', async () => {
  const { prefix, queue } = await newQueue();
  await queue.remove('first');
  const settings = `${prefix}:queues:{q}:settings`;
  await until(async () => (await redis.get(settings)) !== null);
  const lines = await transcript(redis, { prefix, scripts }, async () => {
    await launch(redis, 'q', { t: () => undefined }, { prefix, keepSucceeded: 1 });
    await until(() => isIdle(prefix));
  });
  const calls = lines.filter((line) => line.startsWith('evalsha')).map((line) => line.split(' ')[1]);
  expect(calls.indexOf('maintainer.maintain')).toBeLessThan(calls.indexOf('fetcher.fetch-and-ack'));
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
  expect(await commands(prefix, all)).toMatchInlineSnapshot(`
"heartbeater.renew
  time
  hmget attempts
  zadd active"
`);
  isOver();
});

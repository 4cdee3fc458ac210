/** The commands of each public method, as MONITOR sees them. All scripts and settings are known before, unless a name says so. */
import { expect, test } from '@jest/globals';
import type { TaskContext } from '@mortise/queues';
import { Claims, Overviews, Queue } from '@mortise/queues';
import { ErrorReporter } from '@mortise/redis';
import { commands, commandTable, freshPrefix, gate, until } from '@mortise/test-kit';
import { FlowQueues } from '../src/flow/flow-queues.js';
import { FlowStore } from '../src/flow/flow-store.js';
import { Relay } from '../src/flow/relay.js';
import { QueueKeys } from '../src/keys.js';
import { ScheduleRunner } from '../src/schedule/schedule-runner.js';
import * as scripts from '../src/scripts.gen.js';
import { Shard } from '../src/shard/shard.js';
import { Shards } from '../src/shard/shards.js';
import { launch } from './fixture/launch.js';
import type { Tasks } from './fixture/launch.js';
import { redis } from './fixture/new-queue.js';
import { Bench } from './fixture/bench.js';
import { setDue } from './fixture/set-due.js';
import { withoutMaintenance } from './fixture/without-maintenance.js';

type Action = () => Promise<unknown>;

const NINE = { cron: '0 9 * * *' } as const;
const leaves = (count: number) => Array.from({ length: count }, (_, payload) => ({ name: 'leaf', payload }));
const tasksOf = (...payloads: number[]) => payloads.map((payload) => ({ name: 't', payload }));

/** Without looks of the test itself, maintenance, and the ids of workers. */
const scopeOf = (prefix: string) => ({
  prefix,
  scripts,
  edit: (lines: readonly string[]) =>
    withoutMaintenance(
      lines
        .filter((line) => !/^(?:llen|zcard)/.test(line))
        .map((line) => line.replace(/idle \d+ \S+wake:\S+/, 'idle').replace(/wake:\S+/, 'wake')),
    ),
});

const table = (prefix: string, steps: Readonly<Record<string, Action>>) =>
  commandTable(redis, scopeOf(prefix), steps);

/** Without what scripts call. */
const calls = (prefix: string, steps: Readonly<Record<string, Action>>) =>
  commandTable(redis, { ...scopeOf(prefix), show: 'outside' }, steps);

/** The first use of a script on a server sends its text, and the first task stores the priorities. */
async function newBench(): Promise<Bench> {
  const bench = new Bench({ priorities: ['high', 'low'] });
  const { queue } = bench;
  await queue.enqueue('ok', 0, { id: 'first' });
  await queue.get('first');
  await queue.counts();
  await new Overviews(redis, { prefix: bench.prefix }).read(['q']);
  return bench;
}

const idle = (prefix: string) =>
  until('an idle worker', async () => (await redis.zcard(`${prefix}:queues:{q}:idle`)) === 1);

test('enqueue, get, counts', async () => {
  const { prefix, queue } = await newBench();
  const another = new Queue<Tasks>(redis, 'q', { prefix });
  const both: Action = () => Promise.all([another.enqueue('t', 1), another.enqueue('t', 2)]);
  // The server knows the script from now on.
  await queue.children('first');
  const third = new Queue<Tasks>(redis, 'q', { prefix });
  const delayed = { delayMs: 60_000 };
  // One with a delay: all of them wait until the time is known.
  const withDelay: Action = () =>
    Promise.all([third.enqueue('t', 1), third.enqueue('t', 2, delayed), third.enqueue('t', 3, delayed)]);
  expect(
    await table(prefix, {
      enqueue: () => queue.enqueue('t', 1),
      delayed: () => queue.enqueue('t', 1, { delayMs: 60_000 }),
      'in one tick': () =>
        Promise.all([queue.enqueueMany(tasksOf(1, 2, 3)), queue.enqueue('t', 4, { priority: 'high' })]),
      'the first calls of an instance': both,
      'its next calls': both,
      'the first calls of an instance, with a delay': withDelay,
      'its next calls, with a delay': withDelay,
      get: () => queue.get('first'),
      summary: () => queue.summary('first'),
      children: () => queue.children('first'),
      counts: () => queue.counts(),
    }),
  ).toMatchInlineSnapshot(`
"enqueue → queue.enqueue:  time · get settings · hmget tasks · hlen tasks · rpush ready:1 · hset tasks · zpopmin idle
delayed → queue.enqueue:  time · get settings · hmget tasks · hlen tasks · zadd scheduled:1 · hset tasks · get timekeeper · zpopmin idle
in one tick → queue.enqueue:  time · get settings · hmget tasks · hlen tasks · rpush ready:1 · rpush ready:0 · hset tasks · zpopmin idle
the first calls of an instance → get settings | queue.enqueue:  time · get settings · hmget tasks · hlen tasks · rpush ready:1 · hset tasks · zpopmin idle
its next calls → queue.enqueue:  time · get settings · hmget tasks · hlen tasks · rpush ready:1 · hset tasks · zpopmin idle
the first calls of an instance, with a delay → get settings | time | queue.enqueue:  time · get settings · hmget tasks · hlen tasks · rpush ready:1 · zadd scheduled:1 · hset tasks · zpopmin idle · get timekeeper · zpopmin idle
its next calls, with a delay → queue.enqueue:  time · get settings · hmget tasks · hlen tasks · rpush ready:1 · zadd scheduled:1 · hset tasks · zpopmin idle · get timekeeper · zpopmin idle
get → queue.get:  get settings · hget tasks · hget attempts · time · zscore retrying:1 · zscore scheduled:1
summary → queue.get:  get settings · hget tasks · hget attempts · time · zscore retrying:1 · zscore scheduled:1
children → flow.children:  hget tasks · hget flows
counts → queue.counts:  get settings · time · exists tombstones · zcard grouped · zcount scheduled:0 · zcount retrying:0 · llen ready:0 · zcard scheduled:0 · zcard retrying:0 · zcount scheduled:1 · zcount retrying:1 · llen ready:1 · zcard scheduled:1 · zcard retrying:1 · zcard active · llen succeeded · zcard dead · zcard cancelled · hget flows"
`);
});

test('an idle worker is handed a task, unless that has one attempt', async () => {
  const { prefix, queue } = await newBench();
  await queue.drain();
  let runs = 0;
  await launch(redis, 'q', { t: () => void (runs += 1) }, { prefix });
  const once =
    (attempts: number): Action =>
    async () => {
      const before = runs;
      await queue.enqueue('t', 1, { attempts });
      await until('the end', async () => (await redis.llen(`${prefix}:queues:{q}:succeeded`)) === before + 1);
    };
  // An enqueue learns whether a worker was idle, for the next one.
  await idle(prefix);
  await once(5)();
  await idle(prefix);
  const many = await table(prefix, { 'five attempts': once(5) });
  await idle(prefix);
  expect(`${many}\n${await table(prefix, { 'one attempt': once(1) })}`).toMatchInlineSnapshot(`
"five attempts → queue.enqueue:  time · exists settings features scheduled:1 retrying:1 ready:1 ready:0 scheduled:0 retrying:0 · zpopmin idle · hsetnx tasks · pubsub wake · hset attempts · zadd active · publish wake | fetcher.fetch-and-ack:  time · exists ready:0 scheduled:0 retrying:0 ready:1 scheduled:1 retrying:1 features · zrem active · hset attempts · rpush succeeded · zadd idle
one attempt → queue.enqueue:  time · get settings · hmget tasks · hlen tasks · rpush ready:1 · hset tasks · zpopmin idle · publish wake | fetcher.fetch-and-ack:  time · get settings · exists ready:0 scheduled:0 retrying:0 ready:1 scheduled:1 retrying:1 · exists scheduled:0 retrying:0 scheduled:1 retrying:1 · lpop ready:0 · lpop ready:1 · hmget tasks · hset attempts · zadd active · zadd idle | fetcher.fetch-and-ack:  time · exists ready:0 scheduled:0 retrying:0 ready:1 scheduled:1 retrying:1 features · zrem active · hset attempts · rpush succeeded · zadd idle"
`);
});

test('a full worker acks and fetches in one call', async () => {
  const { prefix, queue } = await newBench();
  await queue.drain();
  const end = gate();
  let runs = 0;
  const t = async (): Promise<void> => {
    runs += 1;
    if (runs === 4) await end.passed;
  };
  await queue.enqueueMany(tasksOf(1, 2, 3, 4));
  const sent = await commands(redis, scopeOf(prefix), async () => {
    await launch(redis, 'q', { t }, { prefix, concurrency: 1, keepSucceeded: 1 });
    await until('the last task', () => runs === 4);
  });
  end.open();
  expect(sent.split('\n').find((line) => line.includes('zrem active'))).toMatchInlineSnapshot(
    `"fetcher.fetch-and-ack:  time · exists ready:0 scheduled:0 retrying:0 ready:1 scheduled:1 retrying:1 features · get settings · zrem active · exists scheduled:0 retrying:0 scheduled:1 retrying:1 · lpop ready:0 · lpop ready:1 · hmget tasks · hset attempts · zadd active · rpush succeeded · exists idle"`,
  );
});

test('a worker that starts puts back the tasks of a dead worker, then fetches', async () => {
  const { prefix } = await newBench();
  const sent = await commands(redis, { prefix, scripts, show: 'outside' }, async () => {
    await launch(redis, 'q', { ok: () => undefined }, { prefix, keepSucceeded: 1 });
    await idle(prefix);
  });
  const order = ['maintainer.maintain', 'fetcher.fetch-and-ack'].map((script) => sent.indexOf(script));
  expect(order).toEqual([expect.any(Number), expect.any(Number)]);
  expect(order[0]).toBeLessThan(order[1]!);
});

test('renew, of any number of handlers', async () => {
  const { prefix, queue } = await newBench();
  const end = gate();
  const contexts: TaskContext[] = [];
  const t = async (_: unknown, context: TaskContext): Promise<void> => {
    contexts.push(context);
    await end.passed;
  };
  await queue.enqueueMany(tasksOf(1, 2));
  await launch(redis, 'q', { t, ok: () => undefined }, { prefix });
  await until('both tasks', () => contexts.length === 2);
  const renew: Action = () => Promise.all(contexts.map((context) => context.renew()));
  await renew();
  expect(await table(prefix, { renew })).toMatchInlineSnapshot(
    `"renew → heartbeater.renew:  time · hmget attempts · zadd active"`,
  );
  end.open();
});

test('claims', async () => {
  const prefix = freshPrefix();
  const queue = new Queue(redis, 'q', { prefix, priorities: ['one'] });
  const claims = new Claims(redis, 'q', { prefix });
  await queue.enqueueMany(tasksOf(1, 2, 3));
  const warm = (await claims.claim())[0]!;
  await claims.heartbeat(warm.id, warm.lease);
  await claims.fail(warm.id, warm.lease, { error: 'x', retry: false });
  let task = warm;
  const claim: Action = async () => {
    task = (await claims.claim())[0]!;
  };
  const first = await table(prefix, {
    claim,
    heartbeat: () => claims.heartbeat(task.id, task.lease),
    complete: () => claims.complete(task.id, task.lease),
  });
  await claim();
  const second = await table(prefix, {
    fail: () => claims.fail(task.id, task.lease, { error: 'x', retry: false }),
    'nothing to claim': async () => {
      await claims.claim();
      await until('no idle worker', async () => (await redis.zcard(`${prefix}:queues:{q}:idle`)) === 0);
    },
  });
  expect(`${first}\n${second}`).toMatchInlineSnapshot(`
"claim → fetcher.fetch-and-ack:  time · get settings · exists ready:0 scheduled:0 retrying:0 · exists scheduled:0 retrying:0 · lpop ready:0 · hmget tasks · hset attempts · zadd active · exists idle
heartbeat → heartbeater.renew:  time · hmget attempts · zadd active
complete → fetcher.fetch-and-ack:  time · get settings · hmget attempts · zrem active · exists ready:0 scheduled:0 retrying:0 · exists scheduled:0 retrying:0 · hset attempts · rpush succeeded · exists idle
fail → queue.get:  get settings · hget tasks · hget attempts · hget progress · hget logs · hget steps · zscore active | fetcher.fetch-and-ack:  time · get settings · hmget attempts · zrem active · zadd dead · exists ready:0 scheduled:0 retrying:0 · hset attempts · zcard dead · exists idle
nothing to claim → fetcher.fetch-and-ack:  time · get settings · exists ready:0 scheduled:0 retrying:0 · zadd idle · zcard idle | fetcher.fetch-and-ack:  time · get settings · exists ready:0 scheduled:0 retrying:0 · exists idle · zrem idle · zrange active · get timekeeper · exists ready:0"
`);
  await claims.stop();
});

test('cancel, remove, retry, promote, drain, clean, list', async () => {
  const bench = await newBench();
  const { prefix, queue, keys } = bench;
  await queue.cancel('first');
  await queue.retryAll({ state: 'cancelled' });
  await queue.promote('first');
  await queue.drain();
  await queue.clean('dead');
  for (const id of ['a', 'b', 'c', 'd']) await bench.task('ready', id);
  for (const id of ['later', 'sooner']) await bench.task('scheduled', id);
  await queue.setPayload('nobody', 1);
  await queue.deliver('nobody', 'e');
  const moves = await table(prefix, {
    cancel: () => queue.cancel('a'),
    'cancel two': () => Promise.all([queue.cancel('b'), queue.cancel('c')]),
    'cancel a scheduled task': () => queue.cancel('later'),
    'cancel an unknown task': () => queue.cancel('nobody'),
    remove: () => queue.remove('d'),
    retry: () => queue.retry('a'),
    retryAll: () => queue.retryAll({ state: 'cancelled' }),
    promote: () => queue.promote('sooner'),
    reschedule: () => queue.reschedule('sooner', { delayMs: 3_600_000 }),
    deliver: () => queue.deliver('sooner', 'e', 1),
    setPriority: () => queue.setPriority('sooner', 'high'),
    setPayload: () => queue.setPayload('sooner', 2),
    'a key': () => queue.enqueue('ok', 1, { dedupKey: 'k' }),
    'the same key': () => queue.enqueue('ok', 2, { dedupKey: 'k', onDuplicate: 'latest', delayMs: 60_000 }),
  });
  await queue.drain({ scheduled: true });
  for (const id of ['a', 'b', 'c']) await bench.task('ready', id);
  for (const id of ['d', 'e', 'f']) await bench.task('cancelled', id);
  // Tasks that ended in one millisecond are found by their ids, with more commands.
  for (const [instant, stored] of (await redis.zrangeBuffer(keys.of.cancelled, '0', '-1')).entries()) {
    await redis.zadd(keys.of.cancelled, instant + 1, stored);
  }
  const { cursor } = await queue.list('cancelled', { limit: 2 });
  const rest = await table(prefix, {
    list: () => queue.list('ready', { limit: 2 }),
    'the second page': () => queue.list('cancelled', { cursor }),
    drain: () => queue.drain(),
    clean: () => queue.clean('cancelled'),
  });
  expect(`${moves}\n${rest}`).toMatchInlineSnapshot(`
"cancel → operator.move:  get settings · time · hget tasks · hget attempts · zrem scheduled:1 · zrem retrying:1 · lpos ready:1 · lrem ready:1 · hset attempts · zadd cancelled · zcard cancelled · exists awaited
cancel two → operator.move:  get settings · time · (hget tasks · hget attempts · zrem scheduled:1 · zrem retrying:1 · lpos ready:1 · lrem ready:1 · hset attempts · zadd cancelled) ×2 · zcard cancelled · exists awaited
cancel a scheduled task → operator.move:  get settings · time · hget tasks · hget attempts · zrem scheduled:1 · zrem retrying:1 · hset attempts · zadd cancelled · zcard cancelled · exists awaited
cancel an unknown task → operator.move:  get settings · time · hget tasks
remove → operator.move:  get settings · time · hget tasks · hget attempts · zrem scheduled:1 · zrem retrying:1 · lpos ready:1 · lrem ready:1 · zrem dedupIds · hdel tasks · hdel attempts · hdel progress · hdel logs · exists dedupKeys · exists steps · exists flows · exists awaited
retry → operator.move:  get settings · time · hget tasks · hget attempts · zrem cancelled · hset tasks · hset attempts · zadd retrying:1 · zpopmin idle
retryAll → queue.list:  get settings · time · zcard cancelled · zrange cancelled · (hstrlen tasks · hstrlen attempts) ×3 · hmget tasks · hmget attempts · hmget progress | operator.move:  get settings · time · (hget tasks · hget attempts · zrem cancelled · hset tasks · hset attempts · zadd retrying:1) ×3 · zpopmin idle
promote → operator.move:  get settings · time · hget tasks · hget attempts · zscore scheduled:1 · zadd scheduled:1 · zpopmin idle
reschedule → operator.move:  get settings · time · hget tasks · hget attempts · zscore scheduled:1 · zadd scheduled:1 · get timekeeper · zpopmin idle
deliver → operator.deliver:  get settings · time · hget tasks · hget attempts · hget steps · hsetnx steps · hset steps
setPriority → operator.move:  get settings · time · hget tasks · hget attempts · zscore scheduled:1 · zrem scheduled:1 · zadd scheduled:0 · hset tasks
setPayload → queue.merge:  get settings · time · hlen tasks · hget tasks · hget attempts · hset tasks · hget dedupKeys
a key → queue.merge:  get settings · time · hlen tasks · hexists tasks · hget dedupKeys ×2 · hset tasks · hset dedupKeys · rpush ready:1 · zpopmin idle
the same key → queue.merge:  get settings · time · hlen tasks · hexists tasks · hget dedupKeys · hget tasks · hget attempts · hset tasks · hset dedupKeys · zscore scheduled:1 · zscore retrying:1 · zscore scheduled:1 · lpos ready:1 · lrem ready:1 · zadd scheduled:1 · get timekeeper · zpopmin idle
list → queue.list:  get settings · time · zcount scheduled:0 · zcount retrying:0 · exists tombstones · lrange ready:0 · zcount scheduled:1 · zcount retrying:1 · exists tombstones · lrange ready:1 · (hstrlen tasks · hstrlen attempts) ×2 · hmget tasks · hmget attempts · hmget progress · lrange ready:1
the second page → queue.list:  get settings · time · zcount cancelled ×2 · zrange cancelled ×2 · hstrlen tasks · hstrlen attempts · hmget tasks · hmget attempts · hmget progress
drain → operator.drain:  get settings · time · exists tombstones · zrange scheduled:0 · zrange retrying:0 · lrange ready:0 · zrange scheduled:1 · zrange retrying:1 · lrange ready:1 · hmget tasks · lpop ready:1 · hdel tasks · hdel attempts · hdel progress · hdel logs · exists dedupKeys · exists steps · exists flows · lrange ready:1 · zrange grouped · exists awaited
clean → operator.clean:  get settings · time · zrange cancelled · zrem cancelled · hdel tasks · hdel attempts · hdel progress · hdel logs · exists dedupKeys · exists steps · exists flows"
`);
});

test('cancel of a running task', async () => {
  const bench = await newBench();
  await bench.queue.cancel('first');
  await bench.work();
  await bench.task('active', 'a');
  await idle(bench.prefix);
  const sent = await commands(redis, scopeOf(bench.prefix), () => bench.queue.cancel('a'));
  // The call of the worker follows.
  expect(sent.split('\n')[0]).toMatchInlineSnapshot(
    `"operator.move:  get settings · time · hget tasks · hget attempts · publish active · zrem active · hset attempts · zadd cancelled · zcard cancelled · exists awaited · zpopmin idle · publish wake"`,
  );
});

test('the first cancel of a queue; names', async () => {
  const { prefix, queue } = await newBench();
  const overviews = new Overviews(redis, { prefix });
  await overviews.read(['q']);
  expect(
    await table(prefix, {
      overview: () => overviews.read(['q']),
      cancel: () => queue.cancel('first'),
      names: () => Queue.names(redis, { prefix }),
      pauseAll: () => Queue.pauseAll(redis, { prefix }),
    }),
  ).toMatchInlineSnapshot(`
"overview → queue.overview:  time · get settings · exists tombstones · zcount scheduled:0 · zcount retrying:0 · llen ready:0 · zcard scheduled:0 · zcard retrying:0 · zcount scheduled:1 · zcount retrying:1 · llen ready:1 · lindex ready:1 · zcard scheduled:1 · zcard retrying:1 · zcard grouped · hget tasks · zcard active · llen succeeded · zcard dead · zcard cancelled · hget flows
cancel → shard.configure:  get settings · set settings · set features · zrange idle · unlink idle | operator.move:  get settings · time · hget tasks · hget attempts · zrem scheduled:1 · zrem retrying:1 · lpos ready:1 · lrem ready:1 · hset attempts · zadd cancelled · zcard cancelled · exists awaited
names → sscan names
pauseAll → sscan names | get settings | shard.configure:  get settings · set settings · set features · zrange idle · unlink idle"
`);
});

test('schedules', async () => {
  const { prefix, queue } = await newBench();
  const keys = new QueueKeys('q', prefix);
  const reporter = new ErrorReporter('test', console.error, redis);
  const runner = new ScheduleRunner(redis, 'q', new Shards(redis, 'q', prefix), reporter);
  await queue.schedule('first', { everyMs: 1_000 }, 't', 1);
  await setDue(redis, keys, 'first', 1_000);
  await runner.run();
  await queue.unschedule('first');
  const schedule: Action = () => queue.schedule('daily', NINE, 't', 1);
  const sent = await table(prefix, {
    schedule,
    'schedule at the next start of the process': schedule,
    schedules: () => queue.schedules(),
    unschedule: () => queue.unschedule('daily'),
  });
  for (const key of ['a', 'b', 'c']) {
    await queue.schedule(key, { everyMs: 3_600_000 }, 't', 1);
    await setDue(redis, keys, key, 1_000);
  }
  const run = await table(prefix, { 'three that are due': () => runner.run() });
  expect(`${sent}\n${run.replace(/queue\.enqueue:[^|]*/, 'queue.enqueue ')}`).toMatchInlineSnapshot(`
"schedule → schedule.read:  time · hget schedules | schedule.set:  get settings · time · hget schedules · hlen schedules · hset schedules · zadd dueSchedules · get timekeeper · zpopmin idle
schedule at the next start of the process → schedule.read:  time · hget schedules
schedules → hscan schedules
unschedule → schedule.remove:  zrem dueSchedules · hdel schedules
three that are due → schedule.lease:  time · zrange dueSchedules · (hget schedules · zadd dueSchedules) ×3 | queue.enqueue | schedule.fire:  time · (hget schedules · hset schedules · zadd dueSchedules) ×3 | schedule.lease:  time · zrange dueSchedules"
`);
});

test('flows, results, events', async () => {
  const { prefix, queue } = await newBench();
  const newRelay = () =>
    new Relay(new Shard(redis, 'q', prefix), new FlowStore(redis, new FlowQueues(redis, prefix)));
  const { id, children } = await queue.enqueueFlow({ name: 'sum', payload: 0, children: leaves(1) });
  await queue.cancel(children[0]!.id);
  await newRelay().run();
  await queue.result(id, { waitMs: 0 }).catch(() => undefined);
  await queue.configure({ keepEvents: 5 });
  await queue.enqueueMany(tasksOf(0, 1));
  await queue.events({ after: 'oldest' }).next();
  const sums = (count: number, size: number) =>
    Array.from({ length: count }, () => ({ name: 'sum', payload: 0, children: leaves(size) }));
  const ids = (await queue.enqueueMany(tasksOf(...Array.from({ length: 20 }, (_, n) => n)))).map(
    (stored) => stored.id,
  );
  await using events = queue.events({ after: 'oldest' });
  const sent = await calls(prefix, {
    'enqueueFlow with 50 children': () => queue.enqueueFlow(sums(1, 50)[0]!),
    'twenty flows': () => Promise.all(sums(20, 3).map((flow) => queue.enqueueFlow(flow))),
    'results of one tick': () => Promise.allSettled(ids.map((one) => queue.result(one, { waitMs: 0 }))),
    'the first event': () => events.next(),
    'the next event': () => events.next(),
  });
  const flow = await queue.enqueueFlow(sums(1, 50)[0]!);
  await Promise.all(flow.children.map((child) => queue.cancel(child.id)));
  const relay = newRelay();
  const relayed = await calls(prefix, {
    'fifty children that have ended': () => relay.run(),
    'nothing to relay': () => relay.run(),
  });
  expect(`${sent}\n${relayed}`).toMatchInlineSnapshot(`
"enqueueFlow with 50 children → flow.open | queue.enqueue | flow.stored
twenty flows → flow.open | queue.enqueue | flow.stored ×20
results of one tick → result.wait
the first event → events.open | events.read ×2
the next event → nothing
fifty children that have ended → flow.relay | get settings | flow.report | flow.relay
nothing to relay → flow.relay"
`);
});

import { describe, expect, jest, test } from '@jest/globals';
import type { QueueOptions, ScheduleRule } from '@mortise/queues';
import { connect, gate } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { QueueKeys } from '../../src/keys.js';
import { ScheduleRunner } from '../../src/schedule/schedule-runner.js';
import { scheduleLease } from '../../src/scripts.gen.js';
import { Shards } from '../../src/shard/shards.js';
import { ErrorReporter } from '@mortise/redis';
import { serverNow, setDue } from '../fixture/set-due.js';
import { heldRechecks } from '../fixture/paused-timers.js';
import { launch } from '../fixture/launch.js';
import type { NewQueue } from '../fixture/new-queue.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import { counted, until } from '../fixture/until.js';

const EVERY_SECOND = { everyMs: 1_000 } as const;
/** For tests that must not see a second instant, however slow the machine is. */
/** A year: no instant but the one that is set falls into a test. */
const SELDOM = { everyMs: 31_536_000_000 } as const;

interface Bench extends NewQueue {
  readonly errors: unknown[];
  /** The step of a worker when the fetch script reports a due schedule. */
  readonly newRunner: (client?: Redis) => ScheduleRunner;
  /** Makes a schedule fall due at this instant. */
  readonly makeDue: (key: string, dueAt: number) => Promise<void>;
  /** The instants of all tasks that are stored, of all shards. */
  readonly fired: (key: string) => Promise<number[]>;
}

function newBench(options: QueueOptions = {}): Bench {
  const given = newQueue(options);
  const { prefix, keys } = given;
  const errors: unknown[] = [];
  return {
    ...given,
    errors,
    newRunner: (client = redis) =>
      new ScheduleRunner(
        client,
        'q',
        new Shards(client, 'q', prefix),
        new ErrorReporter('test', (error) => errors.push(error), client),
      ),
    makeDue: (key, dueAt) => setDue(redis, keys, key, dueAt),
    fired: async (key) => {
      const found: string[] = [];
      for (let shard = 0; shard < (options.shards ?? 1); shard += 1) {
        found.push(...(await redis.hkeys(new QueueKeys('q', prefix, shard).of.tasks)));
      }
      const ids = found.map((id) => id.replace(/^[^\w]+/, '')).filter((id) => id.startsWith(`${key}@`));
      return ids.map((id) => Date.parse(id.slice(key.length + 1))).toSorted((a, b) => a - b);
    },
  };
}

/** The second that began that time ago. */
async function secondsAgo(seconds: number): Promise<number> {
  return (Math.floor((await serverNow(redis)) / 1_000) - seconds) * 1_000;
}

/** A queue whose schedule `tick` has been due for some seconds. */
async function newDue(rule: ScheduleRule = SELDOM, seconds = 3): Promise<Bench & { readonly dueAt: number }> {
  const bench = newBench();
  const dueAt = await secondsAgo(seconds);
  await bench.queue.schedule('tick', rule, 't', 1);
  await bench.makeDue('tick', dueAt);
  return { ...bench, dueAt };
}

/** Such a queue, and a worker that gets the reply to its first lease late. */
async function newHeldUp() {
  const due = await newDue();
  const client = connect();
  const call = client.callBuffer.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const leased = gate();
  const going = gate();
  client.callBuffer = async (...args: unknown[]) => {
    const reply = await call(...args);
    leased.open();
    await going.passed;
    return reply;
  };
  const running = due.newRunner(client).run();
  await leased.passed;
  const goOn = (): Promise<void> => {
    going.open();
    return running;
  };
  return { ...due, goOn };
}

describe('run', () => {
  test('makes the task of the instant, which knows it, and sets the next one', async () => {
    const { queue, newRunner, makeDue, errors } = newBench();
    await queue.schedule('tick', EVERY_SECOND, 't', { a: 1 }, { priority: 'low', headers: { own: 'x' } });
    const dueAt = await secondsAgo(0);
    await makeDue('tick', dueAt);
    await newRunner().run();
    const instant = new Date(dueAt).toISOString();
    expect(await queue.get(`tick@${instant}`)).toMatchObject({
      name: 't',
      payload: { a: 1 },
      priority: 'low',
      state: 'ready',
      headers: { own: 'x', 'schedule-key': 'tick', 'schedule-instant': instant },
    });
    const [schedule] = await queue.schedules();
    expect(schedule).toMatchObject({ lastAt: dueAt, runs: 1 });
    expect(schedule!.nextAt).toBeGreaterThan(dueAt);
    expect(errors).toEqual([]);
  });

  test('does nothing before the instant', async () => {
    const { queue, newRunner, fired } = newBench();
    await queue.schedule('tick', { everyMs: 1_000, startAt: (await serverNow(redis)) + 60_000 }, 't', 1);
    await newRunner().run();
    expect(await fired('tick')).toEqual([]);
  });

  test.each([1, 3])('many workers at once make each task once, in %i shards', async (shards) => {
    const { queue, newRunner, makeDue, fired, errors } = newBench({ shards });
    const dueAt = await secondsAgo(5);
    const keys = Array.from({ length: 120 }, (_, index) => `s${index}`);
    for (const key of keys) {
      await queue.schedule(key, { everyMs: 1_000, missed: 'all' }, 't', key);
      await makeDue(key, dueAt);
    }
    await Promise.all(Array.from({ length: 8 }, () => newRunner().run()));
    // The last one may have found the leases of the others.
    const schedules = await queue.schedules();
    for (const { key, runs, lastAt } of schedules) {
      const instants = await fired(key);
      expect(instants).toEqual(instants.map((_, index) => dueAt + 1_000 * index));
      expect(instants.length).toBeGreaterThanOrEqual(5);
      expect([runs, lastAt]).toEqual([instants.length, instants.at(-1)]);
    }
    expect(schedules).toHaveLength(120);
    expect(errors).toEqual([]);
  });

  test('a worker that died after its lease loses nothing: the next one has it when the lease ends', async () => {
    const { keys, newRunner, fired, dueAt } = await newDue();
    const { schedules, dueSchedules } = keys.of;
    const lease = () => scheduleLease.run(redis, { schedules, dueSchedules }, { leaseMs: 60_000, most: 10 });
    expect(await lease()).toHaveLength(3);
    expect(await lease()).toHaveLength(1);
    await newRunner().run();
    expect(await fired('tick')).toEqual([]);
    expect(Number(await redis.zscore(dueSchedules, 'tick'))).toBeGreaterThan(await serverNow(redis));
    // As if that had ended.
    await redis.zadd(dueSchedules, await serverNow(redis), 'tick');
    await newRunner().run();
    expect(await fired('tick')).toEqual([dueAt]);
  });

  test.each<[string, (keys: QueueKeys) => Promise<unknown>, boolean]>([
    ['is there', async () => undefined, true],
    ['has ended and is forgotten', (keys) => redis.del(keys.of.tasks, keys.priorityKeys(3)[3]!), false],
    ['is remembered by nothing but itself', ({ of }) => redis.del(of.dedupIds), true],
  ])(
    'a worker that died between enqueue and commit costs no second task: the first one %s',
    async (_, change, isThere) => {
      const { queue, keys, newRunner, fired, errors, dueAt } = await newDue(SELDOM);
      const before = (await redis.hgetBuffer(keys.of.schedules, 'tick'))!;
      await newRunner().run();
      await change(keys);
      // The schedule says that it is due, as that worker left it. The payload has changed since.
      await redis.hset(keys.of.schedules, 'tick', before);
      await redis.zadd(keys.of.dueSchedules, dueAt, 'tick');
      await queue.schedule('tick', SELDOM, 't', 2);
      await newRunner().run();
      expect(await fired('tick')).toEqual(isThere ? [dueAt] : []);
      expect(await queue.schedules()).toMatchObject([{ runs: 1, lastAt: dueAt, payload: 2 }]);
      expect(errors).toEqual([]);
    },
  );

  test('a delayed worker does not undo changes after its lease', async () => {
    const { queue, keys, newRunner, fired, errors, dueAt, goOn } = await newHeldUp();
    // Its lease ends, and another one fires.
    await redis.zadd(keys.of.dueSchedules, dueAt, 'tick');
    await newRunner().run();
    const schedules = await queue.schedules();
    await goOn();
    expect(await fired('tick')).toEqual([dueAt]);
    expect(schedules).toMatchObject([{ runs: 1 }]);
    expect(await queue.schedules()).toEqual(schedules);
    expect(errors).toEqual([]);
  });

  test('nor a definition that was replaced meanwhile', async () => {
    const { queue, keys, goOn } = await newHeldUp();
    await queue.unschedule('tick');
    const { nextAt } = await queue.schedule('tick', { cron: '0 0 1 1 *' }, 't', 2);
    await goOn();
    expect(await queue.schedules()).toMatchObject([{ nextAt, payload: 2, runs: 0 }]);
    expect(Number(await redis.zscore(keys.of.dueSchedules, 'tick'))).toBe(nextAt);
  });

  test('when its lease has ended, it makes no task at all', async () => {
    const { fired, errors, goOn } = await newHeldUp();
    const late = jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 6_000);
    await goOn();
    late.mockRestore();
    expect(await fired('tick')).toEqual([]);
    expect(errors).toEqual([]);
  });

  test('the clock of the client does not matter', async () => {
    const { queue, newRunner, fired, dueAt } = await newDue({ everyMs: 60_000, missed: 'skip' }, 1);
    const skewed = jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 86_400_000);
    await newRunner().run();
    skewed.mockRestore();
    expect(await fired('tick')).toEqual([dueAt]);
    const [{ nextAt }] = (await queue.schedules()) as unknown as [{ nextAt: number }];
    expect(Math.abs(nextAt - (await serverNow(redis)))).toBeLessThan(61_000);
  });
});

describe('missed instants', () => {
  test.each([
    ['once', 1, 1],
    ['skip', 0, 0],
    // A few seconds may pass meanwhile.
    ['all', 250, 260],
  ] as const)('%s', async (missed, least, most) => {
    const { queue, newRunner, fired, dueAt } = await newDue({ everyMs: 1_000, missed }, 249);
    await newRunner().run();
    const instants = await fired('tick');
    expect(instants.length).toBeGreaterThanOrEqual(least);
    expect(instants.length).toBeLessThanOrEqual(most);
    expect(instants).toEqual(instants.map((_, index) => dueAt + 1_000 * index));
    const [{ nextAt }] = (await queue.schedules()) as unknown as [{ nextAt: number }];
    expect(nextAt).toBeGreaterThan(dueAt + 248_000);
  });
});

describe('limit and until', () => {
  test('it fires so often and has ended; the same definition does not begin it anew', async () => {
    const rule = { everyMs: 1_000, missed: 'all', maxRuns: 3 } as const;
    const { queue, newRunner, fired } = await newDue(rule, 10);
    await newRunner().run();
    expect(await fired('tick')).toHaveLength(3);
    const [schedule] = await queue.schedules();
    expect(schedule).toMatchObject({ runs: 3 });
    expect(schedule).not.toHaveProperty('nextAt');
    expect(await queue.schedule('tick', rule, 't', 1)).toEqual({ key: 'tick', isChanged: false });
    // A higher limit goes on; a payload alone does not.
    expect(await queue.schedule('tick', rule, 't', 2)).toEqual({ key: 'tick', isChanged: true });
    const more = await queue.schedule('tick', { ...rule, maxRuns: 4 }, 't', 2);
    expect(more.nextAt).toBeGreaterThan(0);
    expect(await queue.schedules()).toMatchObject([{ runs: 3 }]);
  });

  test('an ended one is removed when it is no longer remembered', async () => {
    const { queue, keys, newRunner } = newBench();
    await queue.schedule('tick', { everyMs: 1_000, until: 1 }, 't', 1);
    await redis.zadd(keys.of.dueSchedules, 1, 'tick');
    await newRunner().run();
    expect(await queue.schedules()).toEqual([]);
    expect(await redis.exists(keys.of.schedules, keys.of.dueSchedules)).toBe(0);
  });
});

describe('overlap: skip', () => {
  test('drops instants while the last task has not ended, and goes on by itself', async () => {
    const due = await newDue({ everyMs: 1_000, overlap: 'skip' }, 9);
    const { queue, keys, newRunner, makeDue, fired, dueAt: first } = due;
    await newRunner().run();
    await makeDue('tick', first + 1_000);
    await newRunner().run();
    expect(await fired('tick')).toEqual([first]);
    expect(await queue.schedules()).toMatchObject([{ runs: 1, lastAt: first }]);
    const [id] = (await redis.hkeysBuffer(keys.of.tasks)) as [Buffer];
    await redis.hset(keys.of.attempts, id, Buffer.concat([Buffer.from('S'), Buffer.alloc(10)]));
    await makeDue('tick', first + 2_000);
    await newRunner().run();
    expect(await fired('tick')).toEqual([first, first + 2_000]);
  });
});

describe('schedules that cannot run', () => {
  test.each([
    ['a newer version', JSON.stringify({ version: 2 })],
    ['no JSON', '{'],
    ['a JSON that is no object', 'null'],
    ['a rule that is none', JSON.stringify({ version: 1, rule: { cron: 'x' }, name: 't', payload: 1 })],
    ['no name', JSON.stringify({ version: 1, rule: EVERY_SECOND, payload: 1 })],
    ['no payload', JSON.stringify({ version: 1, rule: EVERY_SECOND, name: 't' })],
    [
      'a priority that the queue does not have',
      JSON.stringify({ version: 1, rule: EVERY_SECOND, name: 't', payload: 1, options: { priority: 'x' } }),
    ],
  ])('%s is reported once, put off for an hour, and delays no other schedule', async (_, definition) => {
    const { queue, keys, newRunner, makeDue, fired, errors } = newBench();
    for (const key of ['bad', 'good']) {
      await queue.schedule(key, EVERY_SECOND, 't', 1);
      const head = (await redis.hgetBuffer(keys.of.schedules, key))!.subarray(0, 32);
      if (key === 'bad')
        await redis.hset(keys.of.schedules, key, Buffer.concat([head, Buffer.from(definition)]));
      await makeDue(key, await secondsAgo(1));
    }
    await newRunner().run();
    await newRunner().run();
    expect(errors).toMatchObject([{ code: 'ERR_INVALID_SCHEDULE', key: 'bad' }]);
    expect((await fired('good')).length).toBeGreaterThan(0);
    expect(await fired('bad')).toEqual([]);
    const offMs = Number(await redis.zscore(keys.of.dueSchedules, 'bad')) - (await serverNow(redis));
    expect(offMs).toBeGreaterThan(3_500_000);
  });

  test('neither does one without a head', async () => {
    const { queue, keys, newRunner, errors } = newBench();
    await queue.schedule('bad', EVERY_SECOND, 't', 1);
    await redis.hset(keys.of.schedules, 'bad', 'x');
    await redis.zadd(keys.of.dueSchedules, 1, 'bad');
    await newRunner().run();
    expect(errors).toMatchObject([{ code: 'ERR_INVALID_SCHEDULE' }]);
    expect(Number(await redis.zscore(keys.of.dueSchedules, 'bad'))).toBeGreaterThan(await serverNow(redis));
  });

  test('keys of another type: it is reported, and not tried again at once', async () => {
    const { keys, newRunner, errors } = await newDue();
    await redis.set(keys.of.schedules, 'x');
    const startedAt = performance.now();
    await newRunner().run();
    expect(performance.now() - startedAt).toBeGreaterThan(900);
    expect(errors.map(String)).toEqual([expect.stringContaining('WRONGTYPE')]);
  });

  test('a full queue: it is reported, nothing is lost, and the instant comes again', async () => {
    const { queue, keys, newRunner, fired, errors, dueAt } = await newDue();
    await queue.configure({ maxTasks: 1 });
    await queue.enqueue('t', 1, { id: 'only' });
    await newRunner().run();
    expect(errors).toMatchObject([{ code: 'ERR_QUEUE_FULL' }]);
    expect(await queue.schedules()).toMatchObject([{ nextAt: dueAt, runs: 0 }]);
    await queue.configure({ maxTasks: null });
    await redis.zadd(keys.of.dueSchedules, dueAt, 'tick');
    await newRunner().run();
    expect(await fired('tick')).toEqual([dueAt]);
  });
});

/** Makes a schedule that begins in a second, at the instant that is returned; anew, if it was made too late for that. */
async function startSoon(schedule: (startAt: number) => Promise<{ nextAt?: number }>): Promise<number> {
  for (;;) {
    const startAt = (await serverNow(redis)) + 1_000;
    const { nextAt } = await schedule(startAt);
    if (nextAt === startAt) return startAt;
  }
}

describe('workers and schedules', () => {
  heldRechecks();

  test.each([1, 3])('each instant runs once across several workers, in %i shards', async (shards) => {
    const { queue, prefix } = newQueue({ shards });
    const run: string[] = [];
    const t = (_: unknown, { headers }: { headers: Readonly<Record<string, string>> }): void =>
      void run.push(headers['schedule-instant']!);
    for (let n = 0; n < 4; n += 1) await launch(connect(), 'q', { t }, { prefix });
    const startAt = await startSoon((at) =>
      queue.schedule('tick', { everyMs: 1_000, startAt: at, maxRuns: 3, missed: 'all' }, 't', 1),
    );
    await until(() => run.length >= 3);
    await until(async () => (await queue.schedules())[0]!.nextAt === undefined);
    const instants = [0, 1, 2].map((index) => new Date(startAt + 1_000 * index).toISOString());
    expect(run.toSorted()).toEqual(instants);
    for (const instant of instants) {
      expect(await queue.get(`tick@${instant}`)).toMatchObject({ state: 'succeeded' });
    }
  });

  test('an idle worker is woken for a schedule before its timer', async () => {
    const { queue, keys, work } = newQueue();
    const run: number[] = [];
    await work({ t: async () => void run.push(await serverNow(redis)) });
    await queue.schedule('later', { everyMs: 1_000, startAt: (await serverNow(redis)) + 3_600_000 }, 't', 1);
    await until(async () => (await redis.get(keys.of.timekeeper)) !== null);
    const startAt = await startSoon((at) =>
      queue.schedule('sooner', { everyMs: 3_600_000, startAt: at }, 't', 1),
    );
    await until(() => run.length === 1);
    expect(run[0]).toBeGreaterThanOrEqual(startAt);
  });

  test('the next instant does not wait for the present run, nor for its success', async () => {
    const { queue, work } = newQueue();
    const going = gate();
    const begun: string[] = [];
    const t = async (_: unknown, { id }: { id: string }): Promise<void> => {
      begun.push(id);
      await going.passed;
      throw new Error('always');
    };
    await work({ t });
    const startAt = (await serverNow(redis)) + 200;
    await queue.schedule('tick', { everyMs: 1_000, startAt, maxRuns: 2 }, 't', 1, { attempts: 1 });
    await until(() => begun.length === 2);
    going.open();
    await counted(queue, { dead: 2 });
    expect(new Set(begun).size).toBe(2);
  });

  test('a busy worker fires as well', async () => {
    const { queue, work } = newQueue();
    let isFired = false;
    const handlers = { t: () => void (isFired = true), busy: () => (isFired ? undefined : again()) };
    const again = async (): Promise<void> => void (await queue.enqueue('busy', 1));
    await work(handlers, { concurrency: 2 });
    for (let n = 0; n < 50; n += 1) await again();
    await queue.schedule('tick', { everyMs: 1_000, maxRuns: 1 }, 't', 1);
    await until(() => isFired);
    expect(await queue.schedules()).toMatchObject([{ runs: 1 }]);
  });

  test('a paused queue keeps the tasks of its schedules', async () => {
    const { queue, work } = newQueue();
    const run: unknown[] = [];
    await queue.pause();
    await work({ t: (payload) => void run.push(payload) });
    await queue.schedule('tick', { everyMs: 1_000, maxRuns: 1 }, 't', 'paused');
    await counted(queue, { ready: 1 });
    expect(run).toEqual([]);
    await queue.resume();
    await until(() => run.length === 1);
    expect(run).toEqual(['paused']);
  });
});

test('a worker whose slots are all taken fires as well, also schedules that come meanwhile', async () => {
  const { queue, work } = newQueue();
  const held = gate();
  await work({ slow: () => held.passed, quick: () => undefined }, { concurrency: 1 });
  await queue.enqueue('slow', 1);
  await counted(queue, { active: 1 });
  await queue.schedule('tick', { everyMs: 1_000 }, 'quick', 1);
  await until(async () => (await queue.counts()).ready >= 2);
  expect(await queue.counts()).toMatchObject({ active: 1 });
  held.open();
  await until(async () => (await queue.counts()).succeeded >= 3);
});

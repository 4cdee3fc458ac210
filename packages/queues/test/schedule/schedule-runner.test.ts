import { describe, expect, jest, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import type { QueueOptions } from '@mortise/queues';
import { connect, freshPrefix, gate } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { QueueKeys } from '../../src/keys.js';
import { ScheduleRunner } from '../../src/schedule/schedule-runner.js';
import { scheduleLease } from '../../src/scripts.gen.js';
import { Shards } from '../../src/shard/shards.js';
import { ErrorReporter } from '@mortise/redis';
import { serverNow, setDue } from '../fixture/set-due.js';

const redis = connect();

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

interface Bench {
  readonly queue: Queue<Tasks>;
  readonly keys: QueueKeys;
  readonly errors: unknown[];
  /** The step of a worker when the fetch script reports a due schedule. */
  readonly newRunner: (client?: Redis) => ScheduleRunner;
  /** Makes a schedule fall due at this instant. */
  readonly makeDue: (key: string, dueAt: number) => Promise<void>;
  /** The instants of all tasks that are stored, of all shards. */
  readonly fired: (key: string) => Promise<number[]>;
}

function newBench(options: QueueOptions = {}): Bench {
  const prefix = freshPrefix();
  const errors: unknown[] = [];
  const keys = new QueueKeys('q', prefix);
  return {
    queue: new Queue<Tasks>(redis, 'q', { prefix, ...options }),
    keys,
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

/** A client whose worker is held up when the server has answered its first lease. */
function heldUp(): { client: Redis; hasLeased: Promise<void>; goOn: () => void } {
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
  return { client, hasLeased: leased.passed, goOn: () => going.open() };
}

const EVERY_SECOND = { everyMs: 1_000 } as const;

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
    const { queue, keys, newRunner, makeDue, fired } = newBench();
    await queue.schedule('tick', EVERY_SECOND, 't', 1);
    const dueAt = await secondsAgo(3);
    await makeDue('tick', dueAt);
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

  test('a worker that died between enqueue and commit costs no second task', async () => {
    const { queue, keys, newRunner, makeDue, fired, errors } = newBench();
    await queue.schedule('tick', EVERY_SECOND, 't', 1);
    const dueAt = await secondsAgo(3);
    await makeDue('tick', dueAt);
    const before = (await redis.hgetBuffer(keys.of.schedules, 'tick'))!;
    await newRunner().run();
    // The task is there, the schedule says that it is due: as that worker left it. The payload has changed since.
    await redis.hset(keys.of.schedules, 'tick', before);
    await redis.zadd(keys.of.dueSchedules, dueAt, 'tick');
    await queue.schedule('tick', EVERY_SECOND, 't', 2);
    await newRunner().run();
    expect(await fired('tick')).toEqual([dueAt]);
    expect(await queue.schedules()).toMatchObject([{ runs: 1, lastAt: dueAt, payload: 2 }]);
    expect(errors).toEqual([]);
  });

  test('nor when the task has ended and is forgotten', async () => {
    const { queue, keys, newRunner, makeDue, fired } = newBench();
    await queue.schedule('tick', EVERY_SECOND, 't', 1);
    const dueAt = await secondsAgo(3);
    await makeDue('tick', dueAt);
    const before = (await redis.hgetBuffer(keys.of.schedules, 'tick'))!;
    await newRunner().run();
    await redis.del(keys.of.tasks, keys.priorityKeys(3)[3]!);
    await redis.hset(keys.of.schedules, 'tick', before);
    await redis.zadd(keys.of.dueSchedules, dueAt, 'tick');
    await newRunner().run();
    expect(await fired('tick')).toEqual([]);
    expect(await queue.schedules()).toMatchObject([{ runs: 1, lastAt: dueAt }]);
  });

  test('nor when it is remembered by nothing but the task itself', async () => {
    const { queue, keys, newRunner, makeDue, fired, errors } = newBench();
    await queue.schedule('tick', EVERY_SECOND, 't', 1);
    const dueAt = await secondsAgo(3);
    await makeDue('tick', dueAt);
    const before = (await redis.hgetBuffer(keys.of.schedules, 'tick'))!;
    await newRunner().run();
    await redis.del(keys.of.dedupIds);
    await redis.hset(keys.of.schedules, 'tick', before);
    await redis.zadd(keys.of.dueSchedules, dueAt, 'tick');
    await queue.schedule('tick', EVERY_SECOND, 't', 'another payload');
    await newRunner().run();
    expect(await fired('tick')).toEqual([dueAt]);
    expect(await queue.schedules()).toMatchObject([{ runs: 1, lastAt: dueAt }]);
    expect(errors).toEqual([]);
  });

  test('a delayed worker does not undo changes after its lease', async () => {
    const { queue, keys, newRunner, makeDue, fired, errors } = newBench();
    await queue.schedule('tick', EVERY_SECOND, 't', 1);
    const dueAt = await secondsAgo(3);
    await makeDue('tick', dueAt);
    const { client, hasLeased, goOn } = heldUp();
    const running = newRunner(client).run();
    await hasLeased;
    // Its lease ends, and another one fires.
    await redis.zadd(keys.of.dueSchedules, dueAt, 'tick');
    await newRunner().run();
    const schedules = await queue.schedules();
    goOn();
    await running;
    expect(await fired('tick')).toEqual([dueAt]);
    expect(schedules).toMatchObject([{ runs: 1 }]);
    expect(await queue.schedules()).toEqual(schedules);
    expect(errors).toEqual([]);
  });

  test('nor a definition that was replaced meanwhile', async () => {
    const { queue, keys, newRunner, makeDue } = newBench();
    await queue.schedule('tick', EVERY_SECOND, 't', 1);
    await makeDue('tick', await secondsAgo(3));
    const { client, hasLeased, goOn } = heldUp();
    const running = newRunner(client).run();
    await hasLeased;
    await queue.unschedule('tick');
    const { nextAt } = await queue.schedule('tick', { cron: '0 0 1 1 *' }, 't', 2);
    goOn();
    await running;
    expect(await queue.schedules()).toMatchObject([{ nextAt, payload: 2, runs: 0 }]);
    expect(Number(await redis.zscore(keys.of.dueSchedules, 'tick'))).toBe(nextAt);
  });

  test('when its lease has ended, it makes no task at all', async () => {
    const { queue, newRunner, makeDue, fired, errors } = newBench();
    await queue.schedule('tick', EVERY_SECOND, 't', 1);
    await makeDue('tick', await secondsAgo(3));
    const { client, hasLeased, goOn } = heldUp();
    const running = newRunner(client).run();
    await hasLeased;
    const late = jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 6_000);
    goOn();
    await running;
    late.mockRestore();
    expect(await fired('tick')).toEqual([]);
    expect(errors).toEqual([]);
  });

  test('the clock of the client does not matter', async () => {
    const { queue, newRunner, makeDue, fired } = newBench();
    await queue.schedule('tick', { everyMs: 60_000, missed: 'skip' }, 't', 1);
    const dueAt = await secondsAgo(1);
    await makeDue('tick', dueAt);
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
    const { queue, newRunner, makeDue, fired } = newBench();
    const dueAt = await secondsAgo(249);
    await queue.schedule('tick', { everyMs: 1_000, missed }, 't', 1);
    await makeDue('tick', dueAt);
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
    const { queue, newRunner, makeDue, fired } = newBench();
    const rule = { everyMs: 1_000, missed: 'all', maxRuns: 3 } as const;
    await queue.schedule('tick', rule, 't', 1);
    await makeDue('tick', await secondsAgo(10));
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
    const { queue, keys, newRunner, makeDue, fired } = newBench();
    await queue.schedule('tick', { everyMs: 1_000, overlap: 'skip' }, 't', 1);
    const first = await secondsAgo(9);
    await makeDue('tick', first);
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
    const { queue, keys, newRunner, makeDue, errors } = newBench();
    await queue.schedule('tick', EVERY_SECOND, 't', 1);
    await makeDue('tick', await secondsAgo(2));
    await redis.set(keys.of.schedules, 'x');
    const startedAt = performance.now();
    await newRunner().run();
    expect(performance.now() - startedAt).toBeGreaterThan(900);
    expect(errors.map(String)).toEqual([expect.stringContaining('WRONGTYPE')]);
  });

  test('a full queue: it is reported, nothing is lost, and the instant comes again', async () => {
    const { queue, keys, newRunner, makeDue, fired, errors } = newBench();
    await queue.configure({ maxTasks: 1 });
    await queue.enqueue('t', 1, { id: 'only' });
    await queue.schedule('tick', EVERY_SECOND, 't', 1);
    const dueAt = await secondsAgo(2);
    await makeDue('tick', dueAt);
    await newRunner().run();
    expect(errors).toMatchObject([{ code: 'ERR_QUEUE_FULL' }]);
    expect(await queue.schedules()).toMatchObject([{ nextAt: dueAt, runs: 0 }]);
    await queue.configure({ maxTasks: null });
    await redis.zadd(keys.of.dueSchedules, dueAt, 'tick');
    await newRunner().run();
    expect(await fired('tick')).toEqual([dueAt]);
  });
});

import { describe, expect, jest, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import type { ScheduledTaskOptions, ScheduleRule } from '@mortise/queues';
import { serverNow, setDue } from '../fixture/set-due.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import type { Tasks } from '../fixture/launch.js';

const unfit = () => ({ issues: [{ message: 'no' }] });
const NINE: ScheduleRule = { cron: '0 9 * * *', timezone: 'Europe/Berlin' };

describe('schedule', () => {
  test('stores a definition, and when it falls due by the clock of the server', async () => {
    const { queue, keys } = newQueue();
    const before = await serverNow(redis);
    const { nextAt, ...rest } = await queue.schedule(
      'tick',
      { everyMs: 60_000 },
      't',
      { a: 1 },
      { priority: 'high' },
    );
    expect(rest).toEqual({ key: 'tick', isChanged: true });
    expect(nextAt! % 60_000).toBe(0);
    expect(nextAt! - before).toBeGreaterThan(0);
    expect(nextAt! - before).toBeLessThanOrEqual(60_000);
    const [schedule, ...others] = await queue.schedules();
    expect(others).toEqual([]);
    expect(schedule).toEqual({
      key: 'tick',
      rule: { everyMs: 60_000, missed: 'once', overlap: 'allow' },
      name: 't',
      payload: { a: 1 },
      options: { priority: 'high' },
      nextAt,
      runs: 0,
      definedAt: expect.any(Number),
    });
    expect(Number(await redis.zscore(keys.of.dueSchedules, 'tick'))).toBe(nextAt);
  });

  test('does not look at the clock of the client', async () => {
    const { queue } = newQueue();
    const now = await serverNow(redis);
    const skewed = jest.spyOn(Date, 'now').mockReturnValue(now + 86_400_000 * 365);
    const { nextAt } = await queue.schedule('tick', { everyMs: 60_000 }, 't', 1);
    skewed.mockRestore();
    expect(Math.abs(nextAt! - now)).toBeLessThan(61_000);
  });

  test('the same definition again changes nothing, also from many processes at once', async () => {
    const { queue, keys, prefix } = newQueue();
    const first = await queue.schedule('daily', NINE, 't', { a: 1 });
    const stored = await redis.hgetBuffer(keys.of.schedules, 'daily');
    const again = await Promise.all(
      Array.from({ length: 10 }, () =>
        new Queue<Tasks>(redis, 'q', { prefix }).schedule('daily', { ...NINE }, 't', { a: 1 }),
      ),
    );
    expect(again).toEqual(Array.from({ length: 10 }, () => ({ ...first, isChanged: false })));
    expect(await redis.hgetBuffer(keys.of.schedules, 'daily')).toEqual(stored);
  });

  test('new ones from many processes at once: one of them stores it', async () => {
    const { queue, prefix } = newQueue();
    const results = await Promise.all(
      Array.from({ length: 10 }, () =>
        new Queue<Tasks>(redis, 'q', { prefix }).schedule('daily', NINE, 't', { a: 1 }),
      ),
    );
    expect(results.filter(({ isChanged }) => isChanged)).toHaveLength(1);
    expect(await queue.schedules()).toHaveLength(1);
  });

  test('another payload keeps the phase, and an instant that was missed', async () => {
    const { queue, keys } = newQueue();
    await queue.schedule('daily', NINE, 't', 1);
    const dueAt = (await serverNow(redis)) - 7_200_000;
    await setDue(redis, keys, 'daily', dueAt);
    const changed = await queue.schedule('daily', { ...NINE, missed: 'all' }, 'u', 2);
    expect(changed).toEqual({ key: 'daily', nextAt: dueAt, isChanged: true });
    expect(await queue.schedules()).toMatchObject([{ name: 'u', payload: 2, nextAt: dueAt }]);
  });

  test('other instants begin anew', async () => {
    const { queue, keys } = newQueue();
    await queue.schedule('daily', NINE, 't', 1);
    const now = await serverNow(redis);
    await setDue(redis, keys, 'daily', now - 7_200_000);
    const { nextAt } = await queue.schedule('daily', { ...NINE, cron: '0 10 * * *' }, 't', 1);
    expect(nextAt).toBeGreaterThan(now);
  });

  test('an end in the past: it never fires, and is remembered as ended', async () => {
    const { queue, keys } = newQueue();
    const rule = { everyMs: 1_000, until: 1 };
    expect(await queue.schedule('old', rule, 't', 1)).toEqual({ key: 'old', isChanged: true });
    expect(await queue.schedule('old', rule, 't', 1)).toEqual({ key: 'old', isChanged: false });
    const [schedule] = await queue.schedules();
    expect(schedule).not.toHaveProperty('nextAt');
    const forgetIn = Number(await redis.zscore(keys.of.dueSchedules, 'old')) - (await serverNow(redis));
    expect(forgetIn).toBeGreaterThan(29 * 86_400_000);
    const { nextAt } = await queue.schedule('old', { everyMs: 1_000 }, 't', 1);
    expect(nextAt).toBeGreaterThan(0);
  });

  test('an unreadable schedule is replaced', async () => {
    const { queue, keys } = newQueue();
    await queue.schedule('x', NINE, 't', 1);
    for (const damage of ['', 'short', Buffer.alloc(40, 1)]) {
      await redis.hset(keys.of.schedules, 'x', damage);
      expect(await queue.schedules()).toMatchObject([{ key: 'x', name: '', problem: expect.any(String) }]);
      expect(await queue.schedule('x', NINE, 't', 1)).toMatchObject({ isChanged: true });
    }
    expect(await queue.schedules()).toMatchObject([{ key: 'x', name: 't' }]);
  });

  test('keys and payloads of all kinds come back as they were', async () => {
    const { queue } = newQueue();
    const keys = ['}x', '{}', '%', 'a@b', '🙂', 'new\nline', '\0', 'x'.repeat(900), '__proto__'];
    for (const key of keys)
      await queue.schedule(key, NINE, 't', { key, nested: [[], {}, null, '9007199254740993'] });
    const found = await queue.schedules();
    expect(found.map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
    for (const { key, payload } of found) {
      expect(payload).toEqual({ key, nested: [[], {}, null, '9007199254740993'] });
    }
    for (const key of keys) expect(await queue.unschedule(key)).toBe(true);
    expect(await queue.schedules()).toEqual([]);
  });

  test.each<[string, () => unknown[], object]>([
    ['a key that is too long', () => ['x'.repeat(901), NINE, 't', 1], { name: 'RangeError' }],
    ['an empty key', () => ['', NINE, 't', 1], { name: 'RangeError' }],
    ['a key with a lone surrogate', () => ['\ud800', NINE, 't', 1], { name: 'TypeError' }],
    ['a malformed cron', () => ['k', { cron: 'no' }, 't', 1], { code: 'ERR_INVALID_SCHEDULE' }],
    ['a period that is too short', () => ['k', { everyMs: 1 }, 't', 1], { code: 'ERR_INVALID_SCHEDULE' }],
    [
      "another library's field",
      () => ['k', { ...NINE, tz: 'Europe/Berlin' }, 't', 1],
      {
        code: 'ERR_INVALID_ARG',
        message: expect.stringMatching(/^the rule has no option "tz"; there are cron, /),
      },
    ],
    ['a payload that is no JSON', () => ['k', NINE, 't', 1n], { code: 'ERR_INVALID_PAYLOAD' }],
    ['no payload', () => ['k', NINE, 't', undefined], { code: 'ERR_INVALID_PAYLOAD' }],
    ['a large payload', () => ['k', NINE, 't', 'x'.repeat(300_000)], { code: 'ERR_PAYLOAD_TOO_LARGE' }],
    ['no name', () => ['k', NINE, '', 1], { name: 'RangeError' }],
    ['an unknown priority', () => ['k', NINE, 't', 1, { priority: 'highest' }], { name: 'RangeError' }],
    ['an id', () => ['k', NINE, 't', 1, { id: 'x' }], { code: 'ERR_INVALID_ARG' }],
    ['a delay', () => ['k', NINE, 't', 1, { delayMs: 0 }], { code: 'ERR_INVALID_ARG' }],
    ['headers that are a string', () => ['k', NINE, 't', 1, { headers: 'abc' }], { name: 'TypeError' }],
    ['attempts that are no number', () => ['k', NINE, 't', 1, { attempts: NaN }], { name: 'RangeError' }],
    [
      'options that are no JSON',
      () => ['k', NINE, 't', 1, { attempts: 1n }],
      { code: 'ERR_INVALID_SCHEDULE' },
    ],
    ['options that are null', () => ['k', NINE, 't', 1, null], { code: 'ERR_INVALID_ARG' }],
  ])('%s is refused, and nothing is stored', async (_, args, expected) => {
    const { queue, keys } = newQueue();
    const [key, rule, name, payload, options] = args() as [
      string,
      ScheduleRule,
      string,
      unknown,
      ScheduledTaskOptions,
    ];
    const refusal = queue.schedule(key, rule, name, payload, options);
    await expect(refusal).rejects.toMatchObject(expected);
    expect(await redis.exists(keys.of.schedules, keys.of.dueSchedules, keys.of.settings)).toBe(0);
  });

  test('a payload that does not fit its schema is refused, also by a schema that is asynchronous', async () => {
    for (const validate of [unfit, async () => unfit()]) {
      const { queue, keys } = newQueue({
        schemas: { t: { '~standard': { version: 1, vendor: 'test', validate } } },
      });
      await expect(queue.schedule('k', NINE, 't', 1)).rejects.toMatchObject({ code: 'ERR_INVALID_PAYLOAD' });
      expect(await redis.exists(keys.of.schedules)).toBe(0);
    }
  });

  test('more than 10,000 are refused', async () => {
    const { queue, keys } = newQueue();
    await queue.schedule('first', NINE, 't', 1);
    const fields = Array.from({ length: 9_999 }, (_, index) => [String(index), '']);
    await redis.hset(keys.of.schedules, Object.fromEntries(fields));
    await expect(queue.schedule('next', NINE, 't', 1)).rejects.toMatchObject({
      code: 'ERR_TOO_MANY_SCHEDULES',
    });
    await queue.schedule('first', NINE, 't', 2);
    expect(await queue.unschedule('7')).toBe(true);
    await queue.schedule('next', NINE, 't', 1);
    expect(await queue.schedules()).toHaveLength(10_000);
  });
});

describe('unschedule', () => {
  test('tells whether there was one, and leaves nothing', async () => {
    const { queue, keys } = newQueue();
    expect(await queue.unschedule('x')).toBe(false);
    await queue.schedule('x', NINE, 't', 1);
    expect(await queue.unschedule('x')).toBe(true);
    expect(await queue.unschedule('x')).toBe(false);
    expect(await redis.exists(keys.of.schedules, keys.of.dueSchedules)).toBe(0);
  });
});

describe('schedules', () => {
  test('come in the order in which they fall due, ended ones last', async () => {
    const { queue } = newQueue();
    const now = await serverNow(redis);
    await queue.schedule('ended', { everyMs: 1_000, until: 1 }, 't', 1);
    await queue.schedule('later', { everyMs: 1_000, startAt: now + 9e6 }, 't', 1);
    await queue.schedule('sooner', { everyMs: 1_000, startAt: now + 8e6 }, 't', 1);
    expect((await queue.schedules()).map(({ key }) => key)).toEqual(['sooner', 'later', 'ended']);
  });

  test('of a queue without any are none', async () => {
    expect(await newQueue().queue.schedules()).toEqual([]);
  });
});

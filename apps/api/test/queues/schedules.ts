/** Schedules and results over HTTP. */
import { describe, expect, test } from '@jest/globals';

import { resultSchema, scheduledSchema, schedulesSchema } from '../../src/queues/schedule-schemas.js';
import { ask, queueOf, slugOf } from './api.js';

const HOURLY = { cron: '0 * * * *', name: 'report', payload: { day: 1 } };

describe('a schedule', () => {
  test('is stored once however often it is said, listed, changed and ended', async () => {
    const rule = {
      ...HOURLY,
      timezone: 'Europe/Berlin',
      missed: 'skip',
      maxRuns: 5,
      priority: 'high',
      attempts: 1,
    };
    const made = await ask('PUT', '/timed/schedules/hourly', rule);
    expect([made.status, scheduledSchema.parse(made.json)]).toEqual([
      200,
      { key: 'hourly', nextAt: expect.any(Number), isChanged: true },
    ]);
    const again = await ask('PUT', '/timed/schedules/hourly', rule);
    expect(again.json).toEqual({ ...made.json, isChanged: false });
    // As programs that use the package see it.
    expect(await queueOf('timed').schedules()).toMatchObject([
      {
        key: 'hourly',
        rule: { cron: '0 * * * *', timezone: 'Europe/Berlin', missed: 'skip', maxRuns: 5 },
        payload: { day: 1 },
        options: { priority: 'high', attempts: 1 },
      },
    ]);
    const later = await ask('PUT', '/timed/schedules/hourly', {
      everyMs: 60_000,
      name: 'beat',
      payload: null,
    });
    expect(later.json.isChanged).toBe(true);
    const { json } = await ask('GET', '/timed/schedules');
    expect(schedulesSchema.parse(json)).toEqual(json);
    expect(json.items).toMatchObject([
      { key: 'hourly', everyMs: 60_000, name: 'beat', runs: 0, overlap: 'allow', nextAt: later.json.nextAt },
    ]);
    expect(Object.keys(json.items[0])).not.toContain('payload');
    expect((await ask('DELETE', '/timed/schedules/hourly')).status).toBe(204);
    expect(slugOf(await ask('DELETE', '/timed/schedules/hourly'))).toEqual([404, 'unknown-schedule']);
    expect((await ask('GET', '/timed/schedules')).json).toEqual({ items: [] });
  });

  test('makes tasks while a claim waits', async () => {
    await ask('PUT', '/fired/schedules/beat', { everyMs: 1_000, maxRuns: 1, name: 't', payload: 'now' });
    const { json } = await ask('POST', '/fired/claims', { waitMs: 30_000 });
    expect(json.items).toMatchObject([{ name: 't', payload: 'now', id: expect.stringMatching(/^beat@/) }]);
  });

  test.each<[string, object]>([
    ['invalid-schedule', { ...HOURLY, cron: 'at nine' }],
    ['invalid-schedule', { ...HOURLY, cron: '0 0 31 2 *' }],
    ['invalid-schedule', { ...HOURLY, timezone: 'Mars/Olympus' }],
    ['invalid-schedule', { ...HOURLY, missed: 'all', overlap: 'skip' }],
    ['invalid-body', { ...HOURLY, everyMs: 1_000 }],
    ['invalid-body', { name: 't', payload: 1 }],
    ['invalid-body', { everyMs: 999, name: 't', payload: 1 }],
    ['invalid-body', { everyMs: 1e13, name: 't', payload: 1 }],
    ['invalid-body', { ...HOURLY, tz: 'Europe/Berlin' }],
    ['invalid-body', { ...HOURLY, id: 'x' }],
    ['invalid-body', { ...HOURLY, maxRuns: 0 }],
    ['invalid-body', { ...HOURLY, priority: 'urgent' }],
    ['invalid-body', { cron: '0 * * * *', name: 't' }],
  ])('is refused as %s: %j', async (slug, body) => {
    expect(slugOf(await ask('PUT', '/wrong/schedules/k', body))).toEqual([400, slug]);
    expect(await queueOf('wrong').schedules()).toEqual([]);
  });

  test('of a queue or under a key that cannot be', async () => {
    expect(slugOf(await ask('GET', '/none/schedules'))).toEqual([404, 'unknown-queue']);
    expect(slugOf(await ask('DELETE', '/none/schedules/k'))).toEqual([404, 'unknown-queue']);
    for (const key of ['%2e', 'x'.repeat(901)]) {
      expect(slugOf(await ask('PUT', `/timed/schedules/${key}`, HOURLY))).toEqual([400, 'invalid-id']);
    }
  });
});

describe('a result', () => {
  test('is waited for, and is there afterwards', async () => {
    await ask('POST', '/results/tasks', { name: 't', payload: 1, id: 'a' });
    expect(slugOf(await ask('GET', '/results/tasks/a/result'))).toEqual([409, 'result-timeout']);
    const waiting = ask('GET', '/results/tasks/a/result?waitMs=30000');
    const [task] = (await ask('POST', '/results/claims', {})).json.items;
    await ask('POST', '/results/tasks/a/complete', { lease: task.lease, result: { total: [1, null] } });
    const answer = await waiting;
    expect([answer.status, resultSchema.parse(answer.json)]).toEqual([200, { result: { total: [1, null] } }]);
    expect((await ask('GET', '/results/tasks/a/result')).json).toEqual(answer.json);
  });

  test('that is nothing is left out', async () => {
    await ask('POST', '/nothing/tasks', { name: 't', payload: 1, id: 'a' });
    const [task] = (await ask('POST', '/nothing/claims', {})).json.items;
    await ask('POST', '/nothing/tasks/a/complete', { lease: task.lease });
    expect(await ask('GET', '/nothing/tasks/a/result')).toMatchObject({ status: 200, json: {} });
  });

  test('that does not come: the reason', async () => {
    for (const id of ['dead', 'cancelled']) await ask('POST', '/ends/tasks', { name: 't', payload: 1, id });
    const [task] = (await ask('POST', '/ends/claims', {})).json.items;
    await ask('POST', '/ends/tasks/dead/fail', { lease: task.lease, error: 'no ink', isRetried: false });
    await ask('POST', '/ends/tasks/cancelled/cancel', {});
    const dead = await ask('GET', '/ends/tasks/dead/result');
    expect([...slugOf(dead), dead.json.reason, dead.json.taskId]).toEqual([
      409,
      'task-dead',
      'no ink',
      'dead',
    ]);
    expect(slugOf(await ask('GET', '/ends/tasks/cancelled/result'))).toEqual([409, 'task-cancelled']);
    expect(slugOf(await ask('GET', '/ends/tasks/other/result'))).toEqual([404, 'unknown-task']);
    expect(slugOf(await ask('GET', '/none/tasks/a/result'))).toEqual([404, 'unknown-queue']);
    for (const waitMs of ['-1', '1e3', '30001', 'x', '1.5']) {
      const asked = await ask('GET', `/ends/tasks/dead/result?waitMs=${waitMs}`);
      expect(slugOf(asked)).toEqual([400, 'invalid-query']);
      const message = 'must be a whole number from 0 to 30000 in decimal digits';
      expect(asked).toMatchObject({ json: { errors: [{ message }] } });
    }
  });
});

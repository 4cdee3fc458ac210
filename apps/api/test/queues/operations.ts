/** Lists of tasks by a member of their payload, and operations on them. */
import { describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';

import type { Answer } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import { api, get, post, prefix, queueOf, redis, slugOf } from './api.js';

const find = async (id: string, at = api): Promise<Answer> => at.send({ path: `/v1/operations/${id}` });
const ended = async (id: string): Promise<Answer['json']> =>
  until('the end of an operation', async () => {
    const { json } = await find(id);
    return json.status !== 'running' && json;
  });
const many = (count: number, user: (n: number) => unknown): object[] =>
  Array.from({ length: count }, (_, n) => ({ name: 't', payload: { user: { id: user(n) } }, id: `t${n}` }));

describe('the tasks of a list', () => {
  test('are those with the member of the payload, and a page of few says that it is capped', async () => {
    await post('/fields/task-batches', { tasks: many(1_000, (n) => n % 250) });
    await post('/fields/task-batches', {
      tasks: [{ name: 't', payload: { user: { id: 7 } }, id: 'last' }],
    });
    const first = (await get('/fields/tasks?state=ready&field=user.id&equals=7')).json;
    expect(first.items.map(({ id }: { id: string }) => id)).toEqual(['t7', 't257', 't507', 't757']);
    expect([first.isCapped, first.items[0].payload]).toEqual([true, undefined]);
    const rest = (
      await get(
        `/fields/tasks?state=ready&field=user.id&equals=7&cursor=${encodeURIComponent(first.nextCursor)}`,
      )
    ).json;
    expect([rest.items.map(({ id }: { id: string }) => id), rest.nextCursor, rest.isCapped]).toEqual([
      ['last'],
      null,
      false,
    ]);
    const two = (await get('/fields/tasks?state=ready&field=user.id&equals=7&limit=1')).json;
    expect([two.items.length, two.isCapped]).toEqual([1, false]);
    expect(slugOf(await get('/fields/tasks?state=ready&field=user.id'))).toEqual([400, 'invalid-query']);
  });
});

describe('an operation', () => {
  const start = (queue: string, body: object, headers = {}): Promise<Answer> =>
    post(`/${queue}/bulk-operations`, body, headers);

  test('acts on all tasks that match, and tells any process how many', async () => {
    await post('/many/task-batches', { tasks: many(700, (n) => n % 7) });
    const wish = { action: 'cancel', state: 'ready', name: 't', field: 'user.id', equals: '3' };
    const { status, json, headers } = await start('many', wish);
    expect([status, headers.location, json]).toEqual([
      202,
      `/v1/operations/${json.id}`,
      expect.objectContaining({ ...wish, queue: 'many', status: 'running', changed: 0, skipped: 0 }),
    ]);
    expect(await ended(json.id)).toMatchObject({ status: 'completed', changed: 100, skipped: 0 });
    expect((await find(json.id, await startApi({ MORTISE_PREFIX: prefix }))).json.changed).toBe(100);
    expect(await queueOf('many').counts()).toMatchObject({ ready: 600, cancelled: 100 });
    const retried = (await start('many', { action: 'retry', state: 'cancelled' })).json;
    expect(await ended(retried.id)).toMatchObject({ status: 'completed', changed: 100 });
    const removed = (await start('many', { action: 'remove', state: 'ready', limit: 100 })).json;
    const { changed } = await ended(removed.id);
    expect([changed >= 100, changed < 300]).toEqual([true, true]);
    expect((await queueOf('many').counts()).ready).toBe(700 - changed);
  });

  test('is started once for an Idempotency-Key', async () => {
    await post('/once/tasks', { name: 't', payload: 1, delayMs: 3_600_000 });
    const key = { 'idempotency-key': 'op-1' };
    const wish = { action: 'promote', state: 'scheduled' };
    const all = await Promise.all([start('once', wish, key), start('once', wish, key)]);
    expect(all.map(({ status, json }) => [status, json.id])).toEqual([
      [202, 'op-1'],
      [202, 'op-1'],
    ]);
    expect((await ended('op-1')).changed).toBe(1);
    expect(slugOf(await start('once', { ...wish, state: 'retrying' }, key))).toEqual([422, 'request-reused']);
  });

  test('whose process has died is interrupted, as is one at a shutdown', async () => {
    const closing = await startApi({ MORTISE_PREFIX: prefix });
    await post('/closing/task-batches', { tasks: many(1_000, () => 1) });
    const sent = { method: 'POST', path: '/v1/queues/closing/bulk-operations' };
    const { json } = await closing.send({ ...sent, body: { action: 'remove', state: 'ready' } });
    await closing.close();
    const { status, changed } = (await find(json.id)).json;
    expect([status, (await queueOf('closing').counts()).ready]).toEqual(['interrupted', 1_000 - changed]);
    const key = `${prefix}:queues:{dead}:operation`;
    const dead = { ...json, id: 'dead', status: 'running', updatedAt: Date.now() - 11_000 };
    await redis.set(key, JSON.stringify(dead));
    expect((await find('dead')).json.status).toBe('interrupted');
  });

  test('is refused beside four others, for a queue that is not there, and with a state that does not fit', async () => {
    await post('/busy/task-batches', { tasks: many(1_000, () => 1) });
    const wish = { action: 'remove', state: 'ready' };
    const all = await Promise.all(Array.from({ length: 6 }, () => start('busy', wish)));
    const refused = all.filter(({ status }) => status === 429);
    expect([refused.length, slugOf(refused[0]!)[1]]).toEqual([2, 'too-many-operations']);
    await Promise.all(all.filter(({ status }) => status === 202).map(({ json }) => ended(json.id)));
    expect(slugOf(await start('nowhere', wish))).toEqual([404, 'unknown-queue']);
    expect(slugOf(await find('nowhere'))).toEqual([404, 'unknown-operation']);
    for (const wrong of [
      { action: 'remove', state: 'active' },
      { action: 'promote', state: 'dead' },
      { action: 'remove', state: 'ready', field: 'a' },
    ]) {
      expect(slugOf(await start('busy', wrong))).toEqual([400, 'invalid-body']);
    }
  });
});

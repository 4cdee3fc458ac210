import { describe, expect, test } from '@jest/globals';
import { findTasks, hasField } from '@mortise/queues/admin';
import { newQueue } from '../fixture/new-queue.js';

describe('a payload', () => {
  test.each([
    [{ a: 1 }, 'a', '1', true],
    [{ a: '1' }, 'a', '1', true],
    [{ a: { b: [true, null] } }, 'a.b.0', 'true', true],
    [{ a: { b: [true, null] } }, 'a.b.1', 'null', true],
    [{ a: { b: 'x' } }, 'a.b', '"x"', false],
    [{ a: { b: 'x' } }, 'a', '{"b":"x"}', true],
    [{ a: 1 }, 'b', '1', false],
    [{ a: 1 }, 'a.b', '1', false],
    [{ a: 'x' }, 'a.length', '1', false],
    [{}, 'constructor', 'x', false],
    [null, 'a', 'null', false],
    ['a', '0', 'a', false],
    [{ a: 2 ** 53 - 1 }, 'a', '9007199254740991', true],
    [{ a: 2 ** 53 }, 'a', '9007199254740992', false],
    [{ a: { b: [-(2 ** 53)] } }, 'a', '{"b":[-9007199254740992]}', false],
    [{ a: '9007199254740992' }, 'a', '9007199254740992', true],
  ])('%j by %s = %s: %s', (payload, field, equals, expected) => {
    expect(hasField(payload, field, equals)).toBe(expected);
  });
});

describe('the found tasks', () => {
  test('have the name and the member, page by page, and a page of few is capped', async () => {
    const queue = newQueue().queue;
    const tasks = Array.from({ length: 1_001 }, (_, n) => ({
      name: 'send',
      payload: { user: { id: n % 250 } },
      options: { id: `t${n}` },
    }));
    await queue.enqueueMany(tasks);
    const filter = { name: 'send', field: 'user.id', equals: '0' };
    const first = await findTasks(queue, 'ready', filter);
    expect([first.tasks.map(({ id }) => id), first.isCapped]).toEqual([['t0', 't250', 't500', 't750'], true]);
    const rest = await findTasks(queue, 'ready', filter, { cursor: first.cursor });
    expect(rest).toMatchObject({ tasks: [{ id: 't1000' }], cursor: null, isCapped: false });
    const one = await findTasks(queue, 'ready', filter, { limit: 1 });
    expect([one.tasks.length, one.isCapped]).toEqual([1, false]);
    expect((await findTasks(queue, 'ready', { name: 'other' })).tasks).toEqual([]);
    expect((await findTasks(queue, 'ready', {}, { limit: 200 })).tasks).toHaveLength(200);
  });

  test.each<[string, object, object]>([
    ['a field without a value', { field: 'a' }, {}],
    ['a value without a field', { equals: 'a' }, {}],
    ['an empty name', { name: '' }, {}],
    ['a limit of 0', {}, { limit: 0 }],
    ['an unknown option', {}, { most: 1 }],
    ['a cursor of another list', {}, { cursor: 'nonsense' }],
  ])('are refused by %s', async (_, filter, options) => {
    await expect(findTasks(newQueue().queue, 'ready', filter, options)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARG',
    });
  });
});

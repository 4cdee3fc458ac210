/** Flows over HTTP. */
import { describe, expect, test } from '@jest/globals';

import { get, post, queueOf, slugOf } from './api.js';

const album = [
  { name: 'publish', payload: 'album', id: 'album' },
  { name: 'scale', payload: 1, parent: 0 },
  { name: 'zip', payload: 2, parent: 0, queue: 'flow-other', id: 'zip' },
  { name: 'read', payload: 3, parent: 1, onChildFailure: 'ignore' },
];

describe('a flow', () => {
  test('is stored as a tree, over several queues, and runs from its leaves', async () => {
    const { status, json } = await post('/flow/flows', { tasks: album });
    expect([status, json.isDuplicate]).toEqual([201, false]);
    const [root, scale, zip, read] = json.items;
    expect([root, zip].map(({ queue, id }) => [queue, id])).toEqual([
      ['flow', 'album'],
      ['flow-other', 'zip'],
    ]);
    const [queue, other] = [queueOf('flow'), queueOf('flow-other')];
    const seen = async (): Promise<unknown[]> => [
      (await queue.get('album'))!.state,
      (await queue.get(scale.id))!.state,
      (await other.get('zip'))!.state,
      (await queue.get(read.id))!.state,
    ];
    expect(await seen()).toEqual(['waiting', 'waiting', 'ready', 'ready']);
    expect((await get('/flow/tasks/album/children')).json).toEqual({
      count: 2,
      items: [
        { id: scale.id, queue: 'flow', name: 'scale', state: 'waiting' },
        { id: 'zip', queue: 'flow-other', name: 'zip', state: 'ready' },
      ],
    });
    expect((await queue.get(read.id))!.parent).toMatchObject({ queue: 'flow', id: scale.id });
    for (const [name, id] of [
      ['flow', read.id],
      ['flow', scale.id],
      ['flow-other', 'zip'],
    ]) {
      const [claimed] = (await post(`/${name}/claims`, { waitMs: 10_000 })).json.items;
      expect(claimed.id).toBe(id);
      const done = await post(`/${name}/tasks/${id}/complete`, { lease: claimed.lease, result: 1 });
      expect(done.status).toBe(204);
    }
    const [last] = (await post('/flow/claims', { waitMs: 10_000 })).json.items;
    expect(last.id).toBe('album');
    const children = await get('/flow/tasks/album/children');
    expect([children.status, children.json.count]).toEqual([200, 2]);
    expect(children.json.items).toMatchObject([
      { id: scale.id, queue: 'flow', name: 'scale', state: 'succeeded', result: 1 },
      { id: 'zip', queue: 'flow-other', name: 'zip', state: 'succeeded', result: 1 },
    ]);
    expect((await get('/flow-other/tasks/zip/children')).json).toEqual({ count: 0, items: [] });
    expect(slugOf(await get('/flow/tasks/none/children'))).toEqual([404, 'unknown-task']);
    const again = await post('/flow/flows', { tasks: album });
    expect([again.status, again.json]).toEqual([200, { items: json.items, isDuplicate: true }]);
    const conflict = [{ ...album[0], payload: 'other' }];
    expect(slugOf(await post('/flow/flows', { tasks: conflict }))).toEqual([409, 'task-conflict']);
  });

  test('is cancelled with all tasks that have not ended, and creates no queue', async () => {
    const tasks = album.map((task) => (task.id === undefined ? task : { ...task, id: `${task.id}-2` }));
    const { items } = (await post('/cancel-flow/flows', { tasks })).json;
    const lost = { queue: 'never-there', id: 'x', parent: 0 };
    const body = { items: [...items, lost], reason: 'not wanted' };
    expect((await post('/cancel-flow/flows/cancel', body)).json).toEqual({ cancelled: 4 });
    const [queue, other] = [queueOf('cancel-flow'), queueOf('flow-other')];
    const [, scale, , read] = items;
    for (const task of [
      await queue.get('album-2'),
      await queue.get(scale.id),
      await other.get('zip-2'),
      await queue.get(read.id),
    ])
      expect(task).toMatchObject({ state: 'cancelled', error: { message: 'not wanted' } });
    expect((await post('/cancel-flow/flows/cancel', body)).json).toEqual({ cancelled: 0 });
    expect(slugOf(await get('/never-there'))).toEqual([404, 'unknown-queue']);
    expect(slugOf(await post('/never-there/flows/cancel', body))).toEqual([404, 'unknown-queue']);
  });

  test.each([
    ['no task', []],
    ['a parent that is itself', [{ queue: 'cancel-flow', id: 'a', parent: 0 }]],
    [
      'a parent that comes later',
      [
        { queue: 'c', id: 'a', parent: 1 },
        { queue: 'c', id: 'b' },
      ],
    ],
  ])('with %s is not cancelled', async (_, items) => {
    expect(slugOf(await post('/cancel-flow/flows/cancel', { items }))).toEqual([400, 'invalid-body']);
  });

  test('has the Idempotency-Key as the id of its first task', async () => {
    const key = { 'idempotency-key': 'f-1' };
    const tasks = [
      { name: 'a', payload: 1 },
      { name: 'b', payload: 1, parent: 0 },
    ];
    const first = await post('/keyed-flow/flows', { tasks }, key);
    expect([first.status, first.json.items[0].id]).toEqual([201, 'f-1']);
    expect((await post('/keyed-flow/flows', { tasks }, key)).json.items).toEqual(first.json.items);
    const other = await post('/keyed-flow/flows', { tasks: [{ name: 'a', payload: 2 }] }, key);
    expect(slugOf(other)).toEqual([422, 'request-reused']);
  });

  const t = { name: 't', payload: null };
  test.each([
    ['no task', []],
    ['a root with a parent', [{ ...t, parent: 0 }]],
    ['a root of another queue', [{ ...t, queue: 'x' }]],
    ['a second root', [t, t]],
    ['a parent that comes later', [t, { ...t, parent: 2 }, { ...t, parent: 0 }]],
    ['a parent that is itself', [t, { ...t, parent: 1 }]],
    ['a duplicate refused for a time', [{ ...t, id: 'a', dedupMs: 1_000 }]],
  ])('with %s is refused', async (_, tasks) => {
    expect(slugOf(await post('/none/flows', { tasks }))).toEqual([400, 'invalid-body']);
  });

  test.each([
    ['11 levels', Array.from({ length: 11 }, (_, index) => (index === 0 ? t : { ...t, parent: index - 1 }))],
    ['an id twice', [t, ...['a', 'a'].map((id) => ({ ...t, id, parent: 0 }))]],
  ])('of %s is refused', async (_, tasks) => {
    expect(slugOf(await post('/none/flows', { tasks }))).toEqual([400, 'invalid-flow']);
  });
});

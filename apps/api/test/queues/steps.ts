/** Steps and events of tasks over HTTP. */
import { describe, expect, test } from '@jest/globals';

import { ask, post, queueOf, slugOf } from './api.js';

const WAIT = { step: 'approval', event: 'approved', timeoutMs: 60_000 };

async function claimed(name: string): Promise<{ path: string; lease: string }> {
  const { json } = await post(`/${name}/claims`, { waitMs: 5_000, leaseMs: 60_000 });
  const [task] = json.items as { id: string; lease: string }[];
  return { path: `/${name}/tasks/${task!.id}`, lease: task!.lease };
}

const stepsOf = async (path: string, lease: string): Promise<unknown> =>
  (await ask('GET', `${path}/steps?lease=${lease}`)).json;

test('a program stores steps and a cursor, and the next attempt reads them', async () => {
  await queueOf('stepping').enqueue('t', 1);
  const { path, lease } = await claimed('stepping');
  expect(await stepsOf(path, lease)).toEqual({ items: [] });
  for (const result of [{ receipt: 7 }, 'other']) {
    const { status, json } = await post(`${path}/steps`, { lease, name: 'charge', result });
    expect([status, json]).toEqual([200, { name: 'charge', result: { receipt: 7 } }]);
  }
  expect((await post(`${path}/steps`, { lease, name: 'mail' })).json).toEqual({ name: 'mail' });
  expect((await ask('PUT', `${path}/cursor`, { lease, cursor: [3] })).status).toBe(204);
  await post(`${path}/give-back`, { lease });
  const again = await claimed('stepping');
  expect(await stepsOf(path, again.lease)).toEqual({
    items: [{ name: 'charge', result: { receipt: 7 } }, { name: 'mail' }],
    cursor: [3],
  });
  const { json } = await ask('GET', path);
  expect(json.steps.map(({ name }: { name: string }) => name)).toEqual(['charge', 'mail']);
  expect(slugOf(await ask('GET', `${path}/steps?lease=${lease}`))).toEqual([409, 'lease-lost']);
});

describe('an event', () => {
  test('continues a task that waits, at most once for each id', async () => {
    await queueOf('approving').enqueue('t', 1, { attempts: 1 });
    const { path, lease } = await claimed('approving');
    const waiting = await post(`${path}/wait`, { lease, ...WAIT });
    expect([waiting.status, waiting.json]).toEqual([200, { isTaken: false }]);
    expect(slugOf(await post(`${path}/complete`, { lease }))).toEqual([409, 'lease-lost']);
    const { json: task } = await ask('GET', path);
    expect(task).toMatchObject({ state: 'retrying', waitsFor: 'approved' });
    const delivery = { event: 'approved', payload: { by: 'ann' }, id: 'd1' };
    for (let sent = 0; sent < 2; sent += 1) expect((await post(`${path}/events`, delivery)).status).toBe(204);
    const again = await claimed('approving');
    for (let call = 0; call < 2; call += 1) {
      const { json } = await post(`${path}/wait`, { lease: again.lease, ...WAIT });
      expect(json).toEqual({ isTaken: true, payload: { by: 'ann' } });
    }
    const late = await post(`${path}/wait`, { lease: again.lease, ...WAIT, step: 'second', timeoutMs: 0 });
    expect(slugOf(late)).toEqual([409, 'event-timeout']);
    await post(`${path}/complete`, { lease: again.lease });
    expect(slugOf(await post(`${path}/events`, { event: 'approved' }))).toEqual([409, 'wrong-state']);
    expect(slugOf(await post('/approving/tasks/none/events', { event: 'approved' }))).toEqual([
      404,
      'unknown-task',
    ]);
  });

  test('is refused when the task has too many, or too large ones', async () => {
    const { id } = await queueOf('flooded').enqueue('t', 1, { delayMs: 60_000 });
    const path = `/flooded/tasks/${id}/events`;
    const payload = 'x'.repeat(65_000);
    for (let n = 0; n < 4; n += 1) await post(path, { event: 'e', payload });
    const large = await post(path, { event: 'e', payload });
    expect(slugOf(large)).toEqual([413, 'events-too-large']);
    await Promise.all(Array.from({ length: 96 }, () => post(path, { event: 'e' })));
    const many = await post(path, { event: 'e' });
    expect(slugOf(many)).toEqual([409, 'too-many-events']);
  });
});

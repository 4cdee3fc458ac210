/** The id of the request in the headers of its tasks. */
import { describe, expect, test } from '@jest/globals';

import { MAX_HEADERS_BYTES } from '../../src/queues/schemas.js';
import { post, queueOf } from './api.js';

const ID = 'x-request-id';
const headersOf = async (queue: string, id: string): Promise<unknown> =>
  (await queueOf(queue).get(id))?.headers;

describe('the id of the request', () => {
  test('is in the headers of its task', async () => {
    await post('/traced/tasks', { name: 't', payload: 1, id: 'one' }, { [ID]: 'order-1' });
    expect(await headersOf('traced', 'one')).toEqual({ [ID]: 'order-1' });
    // The same task of another request is stored once.
    const again = await post('/traced/tasks', { name: 't', payload: 1, id: 'one' }, { [ID]: 'order-2' });
    expect(again.json).toEqual({ id: 'one', isDuplicate: true });
    const { headers, json } = await post('/traced/tasks', { name: 't', payload: 1, headers: { a: 'b' } });
    expect(await headersOf('traced', json.id)).toEqual({ a: 'b', [ID]: headers[ID] });
  });

  test('is in those of each task of a batch and of a flow', async () => {
    const tasks = [1, 2].map((payload) => ({ name: 't', payload, id: `batch-${payload}` }));
    await post('/traced/task-batches', { tasks }, { [ID]: 'batch-1' });
    const flow = [
      { name: 't', payload: 1, id: 'root' },
      { name: 't', payload: 2, id: 'child', parent: 0, queue: 'traced-other' },
    ];
    await post('/traced/flows', { tasks: flow }, { [ID]: 'flow-1' });
    expect([
      await headersOf('traced', 'batch-1'),
      await headersOf('traced', 'batch-2'),
      await headersOf('traced', 'root'),
      await headersOf('traced-other', 'child'),
    ]).toEqual(['batch-1', 'batch-1', 'flow-1', 'flow-1'].map((id) => ({ [ID]: id })));
  });

  test('leaves headers that have it, or have no room for it', async () => {
    const empty = JSON.stringify({ a: '' }).length;
    for (const headers of [{ [ID]: 'mine' }, { a: 'x'.repeat(MAX_HEADERS_BYTES - empty) }]) {
      const { status, json } = await post('/traced/tasks', { name: 't', payload: 1, headers });
      expect([status, await headersOf('traced', json.id)]).toEqual([201, headers]);
    }
  });
});

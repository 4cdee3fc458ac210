/** `POST /v1/webhooks` enqueues; the worker's tests show what happens then. */
import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect } from '@mortise/test-kit';

import { WEBHOOK_ATTEMPTS, WEBHOOK_QUEUE } from '../../src/webhooks/index.js';
import { startApi } from '../fixture/api.js';

const api = await startApi();
const queue = new Queue(connect(), WEBHOOK_QUEUE, { prefix: api.prefix });
const post = (body: object, headers: Record<string, string> = {}) =>
  api.send({ method: 'POST', path: '/v1/webhooks', body, headers });
const event = { url: 'https://example.com/hook?a=1', type: 'sale.made', data: { price: 97 } };

test('an event becomes a task of its queue', async () => {
  const { status, json } = await post(event);
  expect([status, json]).toEqual([202, { queue: 'webhook', taskId: expect.any(String) }]);
  expect(await queue.get(json.taskId)).toMatchObject({
    name: 'webhook.deliver',
    payload: event,
    attempts: WEBHOOK_ATTEMPTS,
  });
});

test('the same event again is enqueued once', async () => {
  const key = { 'idempotency-key': 'sale-1' };
  expect((await post(event, key)).json.taskId).toBe('sale-1');
  expect((await post(event, key)).json.taskId).toBe('sale-1');
  const other = await post({ ...event, type: 'other' }, key);
  expect([other.status, other.json.type]).toEqual([422, expect.stringMatching(/request-reused$/)]);
});

describe('url-not-allowed', () => {
  test.each([
    ['no URL', 'nowhere'],
    ['another scheme', 'ftp://example.com/'],
    ['a file', 'file:///etc/passwd'],
    ['a password', 'https://user:canary@example.com/'],
    ['a fragment', 'https://example.com/#canary'],
    ['a long one', `https://example.com/${'a'.repeat(2_048)}`],
  ])('%s', async (_, url) => {
    const { status, json, text } = await post({ ...event, url });
    expect([status, json.type]).toEqual([422, 'https://mortise.dev/problems/url-not-allowed']);
    expect(text).not.toContain('canary');
  });
});

test.each([{}, { ...event, url: '' }, { ...event, type: '' }, { ...event, other: 1 }])(
  '%j is no event',
  async (body) => expect((await post(body)).json.type).toMatch(/invalid-body$/),
);

/** Bodies, and answers to HEAD. */
import { beforeAll, describe, expect, test } from '@jest/globals';

import type { Served } from '../fixture/serve.js';
import { SAME_ORIGIN, serve } from '../fixture/serve.js';

let served: Served;
beforeAll(async () => {
  served = await serve();
});

const JSON_BODY = { ...SAME_ORIGIN, 'content-type': 'application/json' };

describe('a body', () => {
  test.each([
    ['that is no JSON', '{"name":', 400, 'The body is not JSON'],
    [
      'of 1 MiB',
      JSON.stringify({ name: 't', payload: 'x'.repeat(1_048_576) }),
      413,
      'The body is larger than the route takes',
    ],
    ['that is an array', '[]', 400, 'The body is not what the route takes'],
    ['without a name', '{"payload":1}', 400, 'The body is not what the route takes'],
    [
      'with an unknown member',
      '{"name":"t","payload":1,"delay":5}',
      400,
      'The body is not what the route takes',
    ],
    [
      'with a negative delay',
      '{"name":"t","payload":1,"delayMs":-5}',
      400,
      'The body is not what the route takes',
    ],
  ])('%s is refused', async (_, body, status, title) => {
    const answer = await served.call('POST', 'queues/bodies/tasks', body, JSON_BODY);
    expect(answer).toMatchObject({ status, json: { title } });
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
    expect(await served.queue('bodies').counts()).toMatchObject({ ready: 0, scheduled: 0 });
  });
});

test('HEAD is GET without its body', async () => {
  const options = { method: 'HEAD', headers: SAME_ORIGIN };
  const page = await fetch(`${served.url}/console/`, options);
  expect([page.status, await page.text()]).toEqual([200, '']);
  const names = await fetch(`${served.url}/console/v1/queues`, options);
  expect([names.status, names.headers.get('content-length')]).toEqual([200, '30']);
});

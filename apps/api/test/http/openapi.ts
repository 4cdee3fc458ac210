/** The OpenAPI document as others read it: by a linter, and beside the answers of the server. */
import { expect, test } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';

import { startApi } from '../fixture/api.js';
import { Run } from '../fixture/run.js';
import { undeclaredHeaders } from '../fixture/undeclared-headers.js';
import { WRITES } from '../fixture/writes.js';

const api = await startApi({ CACHE_TABLES: 'stock' });
const { text: source, json: document } = await api.send({ path: '/openapi.json' });

test('passes the recommended rules of redocly', async () => {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config });
  expect(problems.map(({ ruleId, location }) => [ruleId, location[0]!.pointer])).toEqual([
    // The answer to an upgrade is 101 and nothing else.
    ['operation-2xx-response', '#/paths/~1v1~1ws/get/responses'],
  ]);
});

test.each(Object.keys(WRITES))('%s sends the headers of the document alone', async (route) => {
  const [method, path] = route.split(' ') as [string, string];
  const operation = document.paths[`/v1${path}`][method.toLowerCase()];
  const run = new Run(route, api);
  await run.prepare();
  const answers = [await run.act(api), await run.act(api)];
  expect(answers[0]!.status).toBeLessThan(300);
  expect(answers.flatMap((answer) => undeclaredHeaders(operation, answer))).toEqual([]);
});

const LOCATIONS: readonly (readonly [route: string, prefix: string])[] = [
  ['POST /queues/{queue}/tasks', '/v1/queues/'],
  ['POST /chats', '/v1/chats/'],
  ['POST /file-channels/{channel}/files', '/v1/files/'],
];

test.each(LOCATIONS)('%s says where it is', async (route, prefix) => {
  const run = new Run(route, api);
  await run.prepare();
  const { location = '' } = (await run.act(api)).headers;
  expect(location.startsWith(prefix)).toBe(true);
  const { status } = await api.send({ path: location });
  expect(status).toBe(200);
  const { headers } = document.paths[`/v1${route.split(' ')[1]!}`].post.responses['201'];
  expect(headers.Location).toEqual({ $ref: '#/components/headers/Location' });
});

test('each problem has a page', async () => {
  const { json } = await api.send({ path: '/problems/lock-timeout' });
  expect(json).toEqual({
    type: 'https://mortise.dev/problems/lock-timeout',
    title: 'Others held it until the timeout',
    status: 409,
    when: expect.stringContaining('waitMs'),
    action: 'Repeat, or wait longer.',
    fields: expect.stringContaining('lockName'),
  });
  expect((await api.send({ path: '/problems/nothing' })).json.type).toMatch(/unknown-route$/);
});

/** A Redis that refuses commands or keys to the user of the API: a problem of its own, which shows nothing of the request. */
import { expect, test } from '@jest/globals';
import { runServer } from '@mortise/test-kit';

import type { Api, Row } from './fixture/api.js';
import { sentOf, startApi } from './fixture/api.js';

const { server, connect } = await runServer({ isCluster: true });
const admin = connect();

async function startAs(user: string, ...rights: string[]): Promise<Api> {
  await admin.call('acl', ['setuser', user, 'on', '>pw', ...rights]);
  return startApi({ REDIS_URL: server.url, REDIS_USERNAME: user, REDIS_PASSWORD: 'pw' });
}

const withoutKeys = await startAs('keyless', '+@all', '&*', '~*:market:*');
const withoutSet = await startAs('setless', '+@all', '-set', '-hset', '-xadd', '-zadd', '&*', '~*');
const SECRET = 'canary-payload';

test.each<Row>([
  ['POST /v1/locks/x/acquire', {}],
  ['POST /v1/locks/x/acquire', { waitMs: 20_000 }],
  ['GET /v1/locks/x'],
  ['PUT /v1/caches/x/entries/y', { value: SECRET }],
  ['POST /v1/caches/x/entries/y/loads', {}],
  ['POST /v1/queues/x/tasks', { name: SECRET, payload: SECRET }],
  ['POST /v1/mailboxes/x/messages', { from: 'y', body: SECRET }],
])('%s is refused without a right to its keys', async (...row) => {
  const { status, json, text } = await withoutKeys.send(sentOf(row));
  expect([status, json.type]).toEqual([503, 'https://mortise.dev/problems/redis-denied']);
  expect(Object.keys(json)).toEqual(['type', 'title', 'status', 'instance']);
  expect(text).not.toContain(SECRET);
});

test.each<Row>([
  ['POST /v1/locks/x/acquire', {}],
  ['PUT /v1/caches/x/entries/y', { value: SECRET }],
  ['POST /v1/queues/x/tasks', { name: SECRET, payload: SECRET }],
])('%s is refused without a right to a command of its script', async (...row) => {
  const { status, json } = await withoutSet.send(sentOf(row));
  expect([status, json.type]).toEqual([503, 'https://mortise.dev/problems/redis-denied']);
});

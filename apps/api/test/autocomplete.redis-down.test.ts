/** Redis away and back again: every route of contacts and address books refuses at once, and answers again. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RedisServer } from '@mortise/redis-server';
import { startSingle } from '@mortise/redis-server';

import type { Answer, Api, Sent } from './fixture/api.js';
import { DEFAULT_TIMEOUTS, startApi } from './fixture/api.js';
import { until } from './fixture/redis.js';

let server: RedisServer;
/** With the deadlines that are proved here. */
let api: Api;
/** For what must be done however busy the machine is. */
let patient: Api;

beforeAll(async () => {
  server = await startSingle({ isCluster: true, appendFsync: 'always' });
  patient = await startApi({ REDIS_URL: server.url });
  api = await startApi({ REDIS_URL: server.url, ...DEFAULT_TIMEOUTS });
});
afterAll(async () => {
  await Promise.all([api.app.close(), patient.app.close()]);
  await server.stop();
});

const ask = (method: string, path: string, body?: object): Sent => ({
  method,
  path: `/v1/${path}`,
  ...(body && { body }),
});
const REQUESTS: Sent[] = [
  ask('GET', 'contacts/ann'),
  ask('PUT', 'contacts/ann/bill'),
  ask('DELETE', 'contacts/ann/bill'),
  ask('GET', 'address-books/elves?by=frank'),
  ask('PUT', 'address-books/elves/names/frank?by=frank', {}),
  ask('GET', 'address-books/elves/names/frank?by=frank'),
  ask('POST', 'address-books/elves/name-batches?by=frank', { names: [{ name: 'ann' }] }),
  ask('POST', 'address-books/elves/names/ann/boost?by=frank', {}),
  ask('DELETE', 'address-books/elves/names/ann?by=frank'),
  ask('GET', 'address-books/elves/completions?by=frank&prefix=j&fuzzy=true'),
  ask('GET', 'address-books/elves/mentions?by=frank'),
];

/** The status and type of each answer, and whether it came fast in one of three rounds. */
async function answers(): Promise<unknown[][]> {
  const times = REQUESTS.map(() => Infinity);
  let found: Answer[] = [];
  for (let round = 0; round < 3; round += 1) {
    found = [];
    for (const [index, sent] of REQUESTS.entries()) {
      const startedAt = performance.now();
      found.push(await api.send(sent));
      times[index] = Math.min(times[index]!, performance.now() - startedAt);
    }
  }
  return found.map(({ status, json, headers }, index) => [
    status,
    json?.type,
    headers['retry-after'],
    times[index]! < 1_000,
  ]);
}
const UNAVAILABLE = REQUESTS.map(() => [503, 'https://mortise.dev/problems/redis-unavailable', '1', true]);

test('while Redis is dead or silent all is refused at once; when it is back, it is as it was', async () => {
  await patient.send(ask('PUT', 'contacts/frank/mia%7CJoana'));
  const names = [{ name: 'frank' }, { name: 'john', display: 'John Smith' }];
  await patient.send(ask('POST', 'address-books/elves/name-batches?by=frank', { names }));
  const mentions = async (): Promise<string[] | undefined> => {
    const { json } = await patient.send(ask('GET', 'address-books/elves/mentions?by=frank&prefix=jo'));
    return json.items?.map(({ name }: { name: string }) => name);
  };
  expect(await mentions()).toEqual(['mia', 'john']);

  await server.kill();
  expect(await answers()).toEqual(UNAVAILABLE);
  await server.restart();
  await until('mentions', mentions);
  expect(await mentions()).toEqual(['mia', 'john']);

  server.pause();
  expect(await answers()).toEqual(UNAVAILABLE);
  server.resume();
  await until('mentions', mentions);
  // Requests during the silence may have been executed after it.
  expect((await mentions())!.slice(0, 2)).toEqual(['mia', 'john']);
}, 200_000);

/** Redis away and back again, in the middle of transfers. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RedisServer } from '@mortise/redis-server';
import { startSingle } from '@mortise/redis-server';

import type { Api } from './fixture/api.js';
import { DEFAULT_TIMEOUTS, startApi } from './fixture/api.js';
import { digestOf, MIB, numbered, RemoteChannel } from './fixture/files.js';
import { until } from './fixture/redis.js';

const UNAVAILABLE = 'https://mortise.dev/problems/redis-unavailable';
let server: RedisServer;
let api: Api;
/** Gives up soon. */
let hasty: Api;

beforeAll(async () => {
  server = await startSingle({ isCluster: true, appendFsync: 'always' });
  const env = { REDIS_URL: server.url, STREAM_TIMEOUT_MS: '60000' };
  api = await startApi({ ...env, REDIS_COMMAND_TIMEOUT_MS: '2000' });
  hasty = await startApi({ ...env, ...DEFAULT_TIMEOUTS, FILE_TIMEOUT_MS: '500' });
});
afterAll(async () => {
  await Promise.all([api.app.close(), hasty.app.close()]);
  await server.stop();
});

test('a transfer goes on when Redis is back; what begins meanwhile is refused', async () => {
  const logs = new RemoteChannel(api, 'logs');
  await until('a receiver', async () => (await logs.join('ann')).status === 201);
  const body = numbered(4 * MIB);
  const uploading = logs.begin('a.log', { 'content-digest': digestOf(body) });
  await uploading.write(body.subarray(0, 2 * MIB));
  await logs.bytes(1, MIB);
  const download = await logs.open(1, 'ann');
  await download.reached(MIB);

  await server.kill();
  const requests = [
    { path: '/v1/file-channels/logs/files?receiver=ann' },
    { path: '/v1/file-channels/logs/receivers' },
    { method: 'PUT', path: '/v1/file-channels/logs/receivers/ben' },
    { method: 'DELETE', path: '/v1/file-channels/logs/receivers/ben' },
    { path: '/v1/files/logs:1' },
    { path: logs.pathOf(1, 'ann') },
    { method: 'POST', path: '/v1/files/logs:1/acks', body: { receiver: 'ann', isDone: true } },
    { method: 'DELETE', path: '/v1/files/logs:1' },
    { method: 'POST', path: '/v1/file-channels/logs/end' },
  ];
  for (const sent of requests) {
    const { status, json } = await api.send(sent);
    expect([sent.path, status, json.type]).toEqual([sent.path, 503, UNAVAILABLE]);
  }
  expect(await logs.upload('x')).toMatchObject({ status: 503, json: { type: UNAVAILABLE } });
  await server.restart();
  await uploading.write(body.subarray(2 * MIB));
  expect((await uploading.end()).json).toMatchObject({ bytes: 4 * MIB });
  await download.ended();
  expect([download.end, download.content.equals(body)]).toEqual(['whole', true]);
}, 120_000);

test('an upload whose Redis stays away is refused, and given up when Redis is back', async () => {
  const logs = new RemoteChannel(api, 'away');
  await logs.join('ann');
  const uploading = new RemoteChannel(hasty, 'away').begin();
  await uploading.write(numbered(2 * MIB));
  await logs.bytes(1, MIB);
  server.pause();
  await uploading.write(numbered(6 * MIB));
  expect(await uploading.answer).toMatchObject({ status: 503, json: { type: UNAVAILABLE } });
  server.resume();
  uploading.cut();
  expect((await logs.look(1)).json).toMatchObject({ state: 'open' });
}, 120_000);

/** Files over HTTP on a Cluster: a channel in one slot, each file in one of its own. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RedisCluster } from '@mortise/redis-server';
import { startCluster } from '@mortise/redis-server';

import type { Api } from './fixture/api.js';
import { startApi } from './fixture/api.js';
import { MIB, numbered, RemoteChannel } from './fixture/files.js';

let cluster: RedisCluster;
let api: Api;

beforeAll(async () => {
  cluster = await startCluster();
  api = await startApi({
    REDIS_URL: '',
    REDIS_CLUSTER_NODES: cluster.nodes.map(({ host, port }) => `${host}:${port}`).join(','),
    FILE_WINDOW_BYTES: String(4 * MIB),
    FILE_BUDGET_BYTES: String(64 * MIB),
  });
}, 60_000);
afterAll(async () => {
  await api.app.close();
  await cluster.stop();
});

test('two receivers get all files, by ranges as well, and one leaves', async () => {
  const logs = new RemoteChannel(api, 'logs');
  for (const receiver of ['ann', 'ben']) expect((await logs.join(receiver)).status).toBe(201);
  const bodies = Array.from({ length: 8 }, (_, index) => numbered(MIB + 8 * index, index));
  for (const [index, body] of bodies.entries()) {
    expect((await logs.upload(body, `${index}.log`)).json).toMatchObject({ number: index + 1 });
  }
  expect((await logs.list('ann')).json.items).toHaveLength(8);
  for (const [index, body] of bodies.entries()) {
    const half = { range: `bytes=${MIB / 2 + 3}-` };
    const number = index + 1;
    const part = await (await logs.open(number, 'ann', half)).ended();
    expect(part.content.equals(body.subarray(MIB / 2 + 3))).toBe(true);
    expect((await logs.ack(number, 'ann', { upTo: MIB / 2 + 3 })).status).toBe(204);
    expect((await logs.look(number, 'ann')).json.ackedBytes).toBe(MIB / 2 + 3);
    expect((await logs.done(number, 'ann')).status).toBe(204);
  }
  expect((await logs.list('ben')).json.items).toHaveLength(8);
  expect((await logs.leave('ben')).status).toBe(204);
  expect((await logs.list('ann')).json.items).toEqual([]);
  const waiting = logs.list('ann', '&waitMs=30000');
  const following = logs.begin('live.log');
  await following.write('one ');
  const [{ number }] = (await waiting).json.items;
  const download = await logs.open(number, 'ann');
  await download.reached(4);
  await following.end('two');
  expect((await download.ended()).content.toString()).toBe('one two');
}, 120_000);

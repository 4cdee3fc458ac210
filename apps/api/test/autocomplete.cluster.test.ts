/** Books and contacts spread over the nodes of a Cluster, also when a master is lost. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { keySlot } from '@mortise/redis';
import type { RedisCluster } from '@mortise/redis-server';
import { startCluster } from '@mortise/redis-server';

import type { Answer, Api } from './fixture/api.js';
import { startApi } from './fixture/api.js';
import { until } from './fixture/redis.js';

let cluster: RedisCluster;
let api: Api;

beforeAll(async () => {
  cluster = await startCluster({ nodeTimeoutMs: 3_000 });
  api = await startApi({
    REDIS_URL: '',
    REDIS_CLUSTER_NODES: cluster.nodes.map(({ host, port }) => `${host}:${port}`).join(','),
    REDIS_COMMAND_TIMEOUT_MS: '750',
    REQUEST_DEADLINE_MS: '4000',
  });
}, 60_000);
afterAll(async () => {
  await api.app.close();
  await cluster.stop();
});

const GUILDS = Array.from({ length: 9 }, (_, n) => `guild-${n}`);

/** Tried again as long as a node is away: adding again changes nothing. */
async function ask(method: string, path: string, body?: object): Promise<Answer> {
  return until(`${method} ${path}`, async () => {
    const answer = await api.send({ method, path: `/v1/${path}`, ...(body && { body }) });
    return answer.status < 500 && answer;
  });
}

async function mentioned(guild: string): Promise<string[]> {
  const { json } = await ask('GET', `address-books/${guild}/mentions?by=frank&prefix=jo`);
  return json.items.map(({ name }: { name: string }) => name);
}

test('guilds of all nodes are completed, also when a master is lost', async () => {
  expect(new Set(GUILDS.map((guild) => Math.floor(keySlot(`{${guild}}`) / 5_462))).size).toBe(3);
  await ask('PUT', 'contacts/frank/mia%7CJoana');
  const names = (round: string): object => ({
    names: [
      { name: 'frank' },
      { name: `john-${round}`, display: 'John Smith', score: round === 'one' ? 2 : 1 },
    ],
  });
  const addAll = (round: string): Promise<Answer[]> =>
    Promise.all(
      GUILDS.map((guild) => ask('POST', `address-books/${guild}/name-batches?by=frank`, names(round))),
    );
  await addAll('one');
  for (const guild of GUILDS) expect(await mentioned(guild)).toEqual(['mia', 'john-one']);

  const [victim] = cluster.nodes;
  await cluster.replicated();
  await victim!.kill();
  const added = await addAll('two');
  expect(added.map(({ status }) => status)).toEqual(GUILDS.map(() => 200));
  for (const guild of GUILDS) {
    expect([guild, await mentioned(guild)]).toEqual([guild, ['mia', 'john-one', 'john-two']]);
    expect((await ask('GET', `address-books/${guild}?by=frank`)).json.size).toBe(3);
  }
}, 120_000);

/** Chats spread over the nodes of a Cluster: events, resumption, and the loss of a master while streams are open. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RedisCluster } from '@mortise/redis-server';
import { startCluster } from '@mortise/redis-server';

import type { Answer, Api } from './fixture/api.js';
import { startApi } from './fixture/api.js';
import { until } from './fixture/redis.js';
import { EventReader, SocketClient } from './fixture/streams.js';

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

const CHATS = Array.from({ length: 12 }, (_, n) => `chat-${n}`);

/** Tried again, under the same key, as long as a node is away. */
async function ask(method: string, path: string, body: object, key?: string): Promise<Answer> {
  return until(`${method} ${path}`, async () => {
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    const answer = await api.send({ method, path: `/v1/${path}`, body, headers });
    return answer.status < 500 && answer;
  });
}

const postAll = (round: string): Promise<Answer[]> =>
  Promise.all(
    CHATS.map((chat) =>
      ask('POST', `chats/${chat}/messages`, { sender: 'frank', body: round }, `${round}-${chat}`),
    ),
  );

test('streams bring what is posted on all nodes, once, also when a master is lost', async () => {
  for (const chatId of CHATS) await ask('POST', 'chats', { sender: 'frank', members: ['bill'], chatId });
  await postAll('one');
  const reader = await EventReader.open(api.url, '/v1/members/bill/events');
  const socket = await SocketClient.subscribe(api.url, 'bill');
  await reader.count(12);
  await socket.count(12);
  const [victim] = cluster.nodes;
  await cluster.replicated();
  await victim!.kill();
  await postAll('two');
  const expected = CHATS.flatMap((chat) => [`${chat}/1`, `${chat}/2`]).toSorted();
  for (const stream of [reader, socket]) {
    await until('all messages', async () => stream.messages.length >= 24);
    expect(stream.messages.toSorted()).toEqual(expected);
  }
  const { json } = await api.send({ path: '/v1/members/bill/pending' });
  expect(json.items.map(({ unread }: { unread: number }) => unread)).toEqual(CHATS.map(() => 2));
  const again = await EventReader.open(api.url, '/v1/members/bill/events', {
    'last-event-id': reader.lastId!,
  });
  await postAll('three');
  await again.count(12);
  expect(again.messages.toSorted()).toEqual(CHATS.map((chat) => `${chat}/3`).toSorted());
  for (const one of [reader, again]) one.close();
  socket.socket.terminate();
}, 120_000);

/** The API on Redis Cluster and behind Sentinels, also when a master is lost. */
import { expect, test } from '@jest/globals';
import { keySlot } from '@mortise/redis';
import { freshPrefix, runCluster, runSentinel, until } from '@mortise/test-kit';

import type { Answer, Api } from './fixture/api.js';
import { DEFAULT_TIMEOUTS, openShop, startApi } from './fixture/api.js';
import { MIB, numbered, RemoteChannel } from './fixture/files.js';
import { EventReader, SocketClient } from './fixture/streams.js';

const [{ servers: cluster }, { servers: sentinel }] = await Promise.all([
  runCluster({ nodeTimeoutMs: 3_000 }),
  runSentinel({ replicas: 1, downAfterMs: 500 }),
]);
const addresses = (nodes: readonly { host: string; port: number }[]): string =>
  nodes.map(({ host, port }) => `${host}:${port}`).join(',');
const ENV = {
  REDIS_URL: '',
  REDIS_CLUSTER_NODES: addresses(cluster.startupNodes),
  MORTISE_PREFIX: freshPrefix(),
  FILE_WINDOW_BYTES: String(4 * MIB),
  FILE_BUDGET_BYTES: String(64 * MIB),
};
const api = await startApi(ENV);
const impatient = await startApi({ ...ENV, ...DEFAULT_TIMEOUTS });
/** Gives up a command soon, and a request late. */
const lively = await startApi({ ...ENV, REDIS_COMMAND_TIMEOUT_MS: '750', REQUEST_DEADLINE_MS: '4000' });

async function sell(at: Api): Promise<Answer> {
  const order = { buyerId: 'bill', expectedPrice: 97 };
  return at.send({ method: 'POST', path: '/v1/market/listings/offer/purchases', body: order });
}

async function expectMails(at: Api, ready: number): Promise<void> {
  await until(
    'the mails',
    async () => (await at.send({ path: '/v1/queues/mail' })).json.counts?.ready === ready,
  );
}

/** Bill offers what he has bought, and Frank buys it back under the lock of the listing. */
async function resell(): Promise<Answer> {
  const headers = { 'idempotency-key': 'resale' };
  const body = { sellerId: 'bill', itemId: 'sword', price: 7 };
  await api.send({ method: 'POST', path: '/v1/market/listings', headers, body });
  const order = { buyerId: 'frank', expectedPrice: 7, strategy: 'lock' };
  return await api.send({ method: 'POST', path: '/v1/market/listings/resale/purchases', body: order });
}

async function expectLocksOfAllMasters(): Promise<void> {
  const names = Array.from({ length: 12 }, (_, n) => `lock-${n}`);
  const body = { leaseMs: 60_000 };
  await Promise.all(
    names.map((name) => api.send({ method: 'POST', path: `/v1/locks/${name}/acquire`, body })),
  );
  const found: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { json } = await api.send({ path: `/v1/locks?limit=2${cursor && `&cursor=${cursor}`}` });
    found.push(...json.items.map(({ name }: { name: string }) => name));
    cursor = json.nextCursor;
  }
  expect(found.toSorted()).toEqual(names.toSorted());
  for (const name of names) {
    const { json } = await api.send({ path: `/v1/locks/${name}` });
    const release = { method: 'POST', path: `/v1/locks/${name}/release`, body: { holder: json.holder } };
    expect((await api.send(release)).status).toBe(200);
  }
}

/** A queue in slots of several masters, whose tasks are waited for, claimed and completed over HTTP. */
async function expectClaims(): Promise<void> {
  const post = (path: string, body: object): Promise<Answer> =>
    api.send({ method: 'POST', path: `/v1/queues/spread${path}`, body });
  await api.send({ method: 'PUT', path: '/v1/queues/spread', body: { shards: 6 } });
  const early = post('/claims', { waitMs: 30_000, leaseMs: 60_000 });
  const tasks = Array.from({ length: 30 }, (_, n) => ({ name: 't', payload: n, id: `t${n}` }));
  await post('/task-batches', { tasks });
  const claimed = [...(await early).json.items];
  const look = async (): Promise<{ counts: { ready: number; succeeded: number } }> =>
    (await api.send({ path: '/v1/queues/spread' })).json;
  await until('all to be claimed', async () => {
    claimed.push(...(await post('/claims', { limit: 100, leaseMs: 60_000 })).json.items);
    return claimed.length >= 30;
  });
  for (const { id, lease } of claimed)
    expect((await post(`/tasks/${id}/complete`, { lease })).status).toBe(204);
  expect((await look()).counts).toMatchObject({ ready: 0, succeeded: 30 });
}

/** The API answers 503 at worst, each time by its deadline, until it works again. */
async function expectRecovery(at: Api): Promise<void> {
  await until(
    'the API to recover',
    async () => {
      const startedAt = performance.now();
      const put = { name: 'Frank', email: 'frank@example.com' };
      const { status } = await at.send({ method: 'PUT', path: '/v1/market/players/frank', body: put });
      expect([200, 503]).toContain(status);
      // But for what a busy machine adds.
      expect(performance.now() - startedAt).toBeLessThan(20_000);
      return status === 200;
    },
    40_000,
  );
}

/** Tried again, under the same key if there is one, as long as a node is away. */
async function ask(method: string, path: string, body?: object, key?: string): Promise<Answer> {
  return until(`${method} ${path}`, async () => {
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    const answer = await lively.send({ method, path: `/v1/${path}`, headers, ...(body && { body }) });
    return answer.status < 500 && answer;
  });
}

const CHATS = Array.from({ length: 12 }, (_, n) => `chat-${n}`);
const postAll = (round: string): Promise<Answer[]> =>
  Promise.all(
    CHATS.map((chat) =>
      ask('POST', `chats/${chat}/messages`, { sender: 'frank', body: round }, `${round}-${chat}`),
    ),
  );

const GUILDS = Array.from({ length: 9 }, (_, n) => `guild-${n}`);
const addAll = (round: string, score: number): Promise<Answer[]> => {
  const names = [{ name: 'frank' }, { name: `john-${round}`, display: 'John Smith', score }];
  return Promise.all(
    GUILDS.map((guild) => ask('POST', `address-books/${guild}/name-batches?by=frank`, { names })),
  );
};

async function mentioned(guild: string): Promise<string[]> {
  const { json } = await ask('GET', `address-books/${guild}/mentions?by=frank&prefix=jo`);
  return json.items.map(({ name }: { name: string }) => name);
}

test('on a Cluster two receivers get all files, by ranges as well, and one leaves', async () => {
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
});

test('on a Cluster the API sells, locks and hands out tasks', async () => {
  await openShop(api);
  expect((await sell(api)).status).toBe(201);
  await expectMails(api, 1);
  const byLock = await resell();
  expect([byLock.status, byLock.json.itemId]).toEqual([201, 'sword']);
  await expectMails(api, 2);
  await expectLocksOfAllMasters();
  await expectClaims();
});

test('on a Cluster each topic has its events', async () => {
  const named = ['queue', 'member', 'mailbox', 'cache', 'lock'].map((kind) => `${kind}:topics`);
  const topics = [...named, 'market', 'overview', 'redis'];
  const put = (path: string, body: object): Promise<Answer> =>
    api.send({ method: 'PUT', path: `/v1/${path}`, body });
  const post = (path: string, body: object): Promise<Answer> =>
    api.send({ method: 'POST', path: `/v1/${path}`, body });
  await put('queues/topics', {});
  await post('chats', { sender: 'anna', members: ['topics'], chatId: 'topics' });
  await put('market/players/topics', { name: 'Topics', email: 'topics@example.com' });
  await put('market/players/topics/items/topics', {});
  const reader = await EventReader.open(api.url, `/v1/events?topics=${topics.join(',')}`);
  const socket = await SocketClient.open(api.url);
  for (const follow of topics) await socket.ask({ follow });
  await reader.count(1);
  await post('queues/topics/tasks', { name: 't', payload: 1 });
  await post('chats/topics/messages', { sender: 'anna', body: 1 });
  await post('mailboxes/topics/messages', { from: 'anna', body: 1 });
  await put('caches/topics/entries/one', { value: 1 });
  await post('market/listings', { sellerId: 'topics', itemId: 'topics', price: 1 });
  const seen = (all: readonly { topic?: string }[]): string[] =>
    [...new Set(all.flatMap(({ topic }) => topic ?? []))].toSorted();
  await until('all topics', async () => seen(reader.events.map(({ data }) => data)).length === topics.length);
  await until('all topics of the socket', async () => seen(socket.events).length === topics.length);
  expect(seen(socket.events)).toEqual(topics.toSorted());
  const { nodes, slow } = (await api.send({ path: '/v1/redis' })).json;
  const found = nodes.map(({ address }: { address: string }) => address);
  expect([new Set(found).size, Array.isArray(slow)]).toEqual([3, true]);
  reader.close();
  socket.socket.close();
});

test('on a Cluster that loses a master the market, streams and guilds of all nodes go on', async () => {
  for (const chatId of CHATS) await ask('POST', 'chats', { sender: 'frank', members: ['bill'], chatId });
  await postAll('one');
  const reader = await EventReader.open(lively.url, '/v1/members/bill/events');
  const socket = await SocketClient.subscribe(lively.url, 'bill');
  await reader.count(12);
  await socket.count(12);
  expect(new Set(GUILDS.map((guild) => Math.floor(keySlot(`{${guild}}`) / 5_462))).size).toBe(3);
  await ask('PUT', 'contacts/frank/mia%7CJoana');
  await addAll('one', 2);
  for (const guild of GUILDS) expect(await mentioned(guild)).toEqual(['mia', 'john-one']);

  const owner = await cluster.ownerOf(`${api.prefix}:market:{main}:players`);
  // Writes that the replica does not have yet are lost with the master, and the players with them.
  await cluster.replicated();
  await owner.kill();
  const [, , added] = await Promise.all([
    Promise.all([impatient, api].map(expectRecovery)),
    postAll('two'),
    addAll('two', 1),
  ]);

  expect((await api.send({ path: '/v1/market/players/frank' })).json.funds).toBe(133);
  await api.send({ method: 'PUT', path: '/v1/market/players/bill/items/lamp' });
  const lamp = { sellerId: 'bill', itemId: 'lamp', price: 1 };
  const offered = await api.send({ method: 'POST', path: '/v1/market/listings', body: lamp });
  const path = `/v1/market/listings/${offered.json.id}/purchases`;
  const order = { buyerId: 'frank', expectedPrice: 1 };
  expect((await api.send({ method: 'POST', path, body: order })).status).toBe(201);
  await expectMails(api, 3);

  const expected = CHATS.flatMap((chat) => [`${chat}/1`, `${chat}/2`]).toSorted();
  for (const stream of [reader, socket]) {
    await until('all messages', async () => stream.messages.length >= 24);
    expect(stream.messages.toSorted()).toEqual(expected);
  }
  const { json } = await lively.send({ path: '/v1/members/bill/pending' });
  expect(json.items.map(({ unread }: { unread: number }) => unread)).toEqual(CHATS.map(() => 2));
  const resumption = { 'last-event-id': reader.lastId! };
  const again = await EventReader.open(lively.url, '/v1/members/bill/events', resumption);
  await postAll('three');
  await again.count(12);
  expect(again.messages.toSorted()).toEqual(CHATS.map((chat) => `${chat}/3`).toSorted());

  expect(added.map(({ status }) => status)).toEqual(GUILDS.map(() => 200));
  for (const guild of GUILDS) {
    expect([guild, await mentioned(guild)]).toEqual([guild, ['mia', 'john-one', 'john-two']]);
    expect((await ask('GET', `address-books/${guild}?by=frank`)).json.size).toBe(3);
  }
});

test('behind Sentinels the API sells, survives the death of the master, and goes on', async () => {
  const env = {
    REDIS_URL: '',
    REDIS_SENTINELS: addresses(sentinel.sentinels),
    REDIS_SENTINEL_NAME: sentinel.name,
    MORTISE_PREFIX: freshPrefix(),
  };
  const patient = await startApi(env);
  await openShop(patient);
  expect((await sell(patient)).status).toBe(201);
  await expectMails(patient, 1);

  const hasty = await startApi({ ...env, ...DEFAULT_TIMEOUTS });
  await sentinel.replicated();
  await (await sentinel.master()).kill();
  await Promise.all([hasty, patient].map(expectRecovery));
  expect((await patient.send({ path: '/v1/market/players/bill' })).json.funds).toBe(28);
});

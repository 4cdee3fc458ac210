/** Followers whose connections break: what they get is whole, in order, and once; or they get a gap, and what is missing. */
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { TcpProxy } from '@mortise/redis-server';
import { startProxy } from '@mortise/redis-server';
import { disconnectLater, freshPrefix, runServer, until } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import { MessagingKeys } from '../../src/keys.js';
import { packMessages } from '../../src/log/packed-messages.js';
import { resolveChatsOptions } from '../../src/resolve-options.js';
import { chatJoin, chatLeave, chatPost } from '../../src/scripts.gen.js';
import type { Reader } from '../fixture/follow-reader.js';
import { read, upTo } from '../fixture/guild.js';
import { keepPosting } from '../fixture/keep-posting.js';

const { server } = await runServer();
let prefix = '';
const clients: Redis[] = [];
const proxies: TcpProxy[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  for (const proxy of proxies.splice(0)) await proxy.stop();
});

/** A process of its own, as far as Redis can tell. */
function connect(url = server.url, options: object = {}): Redis {
  const client = new Redis(url, { retryStrategy: () => 10, maxRetriesPerRequest: null, ...options });
  clients.push(client);
  return disconnectLater(client);
}

const chatsOf = (client = connect()): Chats => new Chats(client, { prefix });

async function openChat(): Promise<Chats> {
  prefix = freshPrefix();
  const chats = chatsOf();
  await chats.create({ chatId: 'guild', sender: 'anna', members: ['bob', 'carl'] });
  return chats;
}

async function proxied(options: object = {}): Promise<{ proxy: TcpProxy; chats: Chats }> {
  const proxy = await startProxy(server);
  proxies.push(proxy);
  return { proxy, chats: chatsOf(connect(proxy.url, options)) };
}

/** A chat in which bob has got some messages, and is cut off. */
async function cutOff(count = 1, options: object = {}) {
  const chats = await openChat();
  const { proxy, chats: own } = await proxied(options);
  const reader = read(own, 'bob');
  for (const n of upTo(count)) await chats.post('guild', 'anna', n);
  await reader.hasText(`guild:${count}`);
  proxy.refuse();
  return { chats, proxy, reader };
}

/** Posts, five at a time, until the function is called that it returns, which resolves to how many. */
function postUntil(chats: Chats): () => Promise<number> {
  const stop = keepPosting((n) => Promise.all(upTo(5).map(() => chats.post('guild', 'anna', n))));
  return async () => 5 * (await stop());
}

describe.each([
  ['RESP3', {}],
  ['RESP2', { protocol: 2 }],
])('a follower over %s', (_, options) => {
  test('survives a subscription that is killed again and again, while messages are posted', async () => {
    const chats = await openChat();
    const connectionName = `follower-${randomUUID()}`;
    const reader = read(chatsOf(connect(server.url, { ...options, connectionName })), 'bob');
    const stop = postUntil(chats);
    for (let round = 0; round < 15; round += 1) {
      await reader.has(reader.events.length + 10);
      await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    }
    const count = await stop();
    await reader.hasText(`guild:${count}`);
    expect(reader.texts).toEqual(upTo(count).map((id) => `guild:${id}`));
  });

  test('learns of a chat that it was added to while it was cut off, and of one that it has lost', async () => {
    const { chats, proxy, reader } = await cutOff(1, options);
    await chats.create({ chatId: 'new', sender: 'anna', members: ['bob'], body: 1 });
    await chats.leave('guild', 'bob');
    await proxy.restore();
    await reader.hasText('new:1');
    await reader.hasText('guild left bob');
    expect(reader.texts.toSorted()).toEqual(['guild left bob', 'guild:1', 'new joined bob', 'new:1']);
  });
});

test('a follower whose connection is cut in the middle of replies', async () => {
  const chats = await openChat();
  const { proxy, chats: own } = await proxied();
  const reader = read(own, 'bob');
  const stop = postUntil(chats);
  for (let round = 0; round < 30; round += 1) {
    await reader.has(reader.events.length + (round % 4));
    await until('a connection', () => proxy.connections > 0);
    proxy.cut();
  }
  const count = await stop();
  await reader.hasText(`guild:${count}`);
  expect(reader.texts).toEqual(upTo(count).map((id) => `guild:${id}`));
});

const MEANWHILE: [what: string, count: number, act: (chats: Chats) => Promise<unknown>, texts: string[]][] = [
  [
    'the cap of the chat passed it: the gap, then the others',
    1,
    () => {
      const small = new Chats(connect(), { prefix, maxMessages: 50 });
      return Promise.all(upTo(200).map((n) => small.post('guild', 'anna', n)));
    },
    ['guild:1', 'guild gap 2-151', ...upTo(50).map((index) => `guild:${index + 151}`)],
  ],
  [
    'its chat was deleted and made anew: a reset',
    2,
    async (chats) => {
      for (const member of ['anna', 'bob', 'carl']) await chats.leave('guild', member);
      await chats.create({ chatId: 'guild', sender: 'anna', members: ['bob'], body: 'anew' });
      for (const n of [2, 3, 4]) await chats.post('guild', 'anna', n);
    },
    ['guild:1', 'guild:2', 'guild reset', ...upTo(4).map((id) => `guild:${id}`)],
  ],
  [
    'its member left and came back gets nothing of the time between',
    1,
    async (chats) => {
      await chats.leave('guild', 'bob');
      for (const n of [2, 3]) await chats.post('guild', 'anna', n);
      await chats.join('guild', 'bob');
      await chats.post('guild', 'anna', 4);
    },
    ['guild:1', 'guild left bob', 'guild joined bob', 'guild:4'],
  ],
  [
    'another device acked gets the messages that are still stored',
    1,
    async (chats) => {
      for (const n of [2, 3]) await chats.post('guild', 'anna', n);
      await chats.ack('guild', 'bob', 2);
    },
    ['guild:1', 'guild:2', 'guild:3'],
  ],
];

test.each(MEANWHILE)('a follower that was cut off while %s', async (_, count, act, texts) => {
  const { chats, proxy, reader } = await cutOff(count);
  await act(chats);
  await proxy.restore();
  await reader.hasText(texts.at(-1)!);
  await reader.has(texts.length);
  expect(reader.texts).toEqual(texts);
});

test('a follower that was cut off while its member left gets no later message', async () => {
  const { chats, proxy, reader } = await cutOff();
  await chats.leave('guild', 'bob');
  const stop = keepPosting((n) => chats.post('guild', 'anna', n));
  await proxy.restore();
  await reader.hasText('guild left bob');
  await stop();
  expect(reader.texts).toEqual(['guild:1', 'guild left bob']);
});

test.each([
  ['left', ['guild:1', 'guild left bob']],
  ['left and came back', ['guild:1', 'guild left bob', 'guild joined bob', 'guild:3']],
])(
  'pushes that are lost without an interruption: a member who %s gets nothing of the time between',
  async (what, texts) => {
    const chats = await openChat();
    const redis = connect();
    const reader = read(chatsOf(), 'bob');
    await chats.post('guild', 'anna', 1);
    await reader.hasText('guild:1');
    const keys = { ...new MessagingKeys(prefix).chat('guild'), events: 'nobody listens' };
    const publish = 'PUBLISH';
    await chatLeave.run(redis, keys, { publish, keepAcked: 0, leavers: ['bob', ''] });
    const message = { author: 'anna', key: Buffer.from('2'), hasId: true, json: '2', jsonBytes: 1 };
    await chatPost.run(redis, keys, {
      publish,
      limits: resolveChatsOptions({}).packed,
      count: 1,
      ...packMessages([message]),
    });
    if (what !== 'left') {
      const joins = ['bob', 0, Date.now() + 60_000, Date.now()];
      await chatJoin.run(redis, keys, { publish, maxMembers: 10, keepMs: 60_000, joins });
    }
    await chats.post('guild', 'anna', 3);
    expect(await reader.textsWith(texts.at(-1)!)).toEqual(texts);
  },
);

test('a slow reader whose server restarts empty gets the pushed messages, a gap, and the end', async () => {
  const chats = await openChat();
  const reader = read(chatsOf(), 'bob');
  reader.hold();
  await chats.post('guild', 'anna', 1);
  await reader.hasText('guild:1');
  await Promise.all(upTo(199).map((n) => chats.post('guild', 'anna', n)));
  await chats.typing('guild', 'anna');
  await server.kill();
  await server.restart();
  await chats.create({ chatId: 'next', sender: 'anna', members: ['bob'], body: 1 });
  reader.release();
  await reader.hasText('guild ended');
  expect(reader.reported('guild')).toEqual(upTo(200));
});

test('a server that forgets confirmed messages causes a reset, not silence', async () => {
  const chats = await openChat();
  const reader = read(chatsOf(), 'bob');
  for (const n of [1, 2, 3]) await chats.post('guild', 'anna', n);
  await reader.hasText('guild:3');
  // As after a failover to a replica that was behind.
  const key = `${prefix}:messaging:{guild}:`;
  const redis = connect();
  await redis.zadd(`${key}chat`, -1, '\0l');
  await redis.ltrim(`${key}log`, 0, 0);
  await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await reader.hasText('guild reset');
  await chats.post('guild', 'anna', 'another 2');
  await reader.has(6);
  expect(reader.texts).toEqual(['guild:1', 'guild:2', 'guild:3', 'guild reset', 'guild:1', 'guild:2']);
});

test('the chats of a server that restarts empty have ended', async () => {
  const chats = await openChat();
  const reader = read(chatsOf(), 'bob');
  await chats.post('guild', 'anna', 1);
  await reader.hasText('guild:1');
  await server.kill();
  await server.restart();
  await reader.hasText('guild ended');
  await chats.create({ chatId: 'next', sender: 'anna', members: ['bob'], body: 1 });
  expect(await reader.textsWith('next:1')).toEqual(['guild:1', 'guild ended', 'next joined bob', 'next:1']);
});

/** The random numbers of a test; its seed stands in the name of what fails. */
function randomness(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state % below;
  };
}

test('a storm: 20 followers in 4 processes, cut or ended and resumed 6 times each, lose and double nothing', async () => {
  const seed = Date.now() & 0x7fffffff;
  const random = randomness(seed);
  prefix = freshPrefix();
  const chats = chatsOf();
  const members = upTo(20).map((n) => `m${n}`);
  const chatIds = ['a', 'b', 'c'];
  for (const chatId of chatIds) await chats.create({ chatId, sender: 'anna', members });
  const processes = await Promise.all(upTo(4).map(() => proxied()));
  const got = new Map(members.map((member) => [member, new Map(chatIds.map((id) => [id, [] as number[]]))]));
  const others: string[] = [];
  const current = new Map<string, Reader>();
  const tokens = new Map<string, string>();
  const follow = (member: string): void => {
    const { chats: own } = processes[random(processes.length)]!;
    const after = tokens.get(member);
    const reader = read(own, member, after === undefined ? {} : { after }, async (event) => {
      tokens.set(member, event.token);
      if (event.type === 'message') got.get(member)!.get(event.chatId)!.push(event.message.id);
      else others.push(`${event.type} of ${event.chatId} for ${member}`);
      // Some ack, so that tokens and cursors both count.
      if (event.type === 'message' && event.message.id % 7 === 0 && Number(member.slice(1)) % 2 === 0) {
        await own.ack(event.chatId, member, event.message.id);
      }
    });
    current.set(member, reader);
  };
  for (const member of members) follow(member);
  const stop = keepPosting((n) => Promise.all(chatIds.map((chatId) => chats.post(chatId, 'anna', n))));
  for (let round = 0; round < 6; round += 1) {
    for (const { proxy } of processes) {
      if (random(2) === 0) proxy.cut();
    }
    for (const member of members) {
      if (random(2) === 0) continue;
      await current.get(member)!.stop();
      follow(member);
    }
    const [some] = current.values();
    await some!.has(some!.events.length + 3);
  }
  const count = await stop();
  await until(`everything for everybody (seed ${seed})`, () =>
    [...got.values()].every((ids) => [...ids.values()].every((some) => some.at(-1) === count)),
  );
  for (const [member, ids] of got) {
    for (const [chatId, some] of ids) {
      const wrong = some.findIndex((id, index) => id !== index + 1);
      const around = some.slice(Math.max(0, wrong - 2), wrong + 3);
      expect({ seed, member, chatId, wrong, around }).toEqual({ seed, member, chatId, wrong: -1, around });
    }
  }
  expect(others).toEqual([]);
});

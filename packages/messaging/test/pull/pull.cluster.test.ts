import { expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { keySlot } from '@mortise/redis';
import { disconnect, freshPrefix, monitor, runCluster, until } from '@mortise/test-kit';
import { Redis } from 'ioredis';

const { servers, cluster } = await runCluster();
await cluster.ping();

const CHATS = 30;

async function filled() {
  const prefix = freshPrefix();
  const chats = new Chats(cluster, { prefix });
  // In the order of bytes too: chats that were created in the same millisecond come in it.
  const chatIds = Array.from({ length: CHATS }, (_, index) => `chat ${10 + index}`);
  for (const chatId of chatIds)
    await chats.create({ sender: 'anna', members: ['ben'], chatId, body: `to ${chatId}` });
  return { prefix, chats, chatIds };
}

test('D24: chats lie in many slots of three masters, and a pull has all of them, over one pipeline each', async () => {
  const { prefix, chats, chatIds } = await filled();
  const slots = new Set(chatIds.map((chatId) => keySlot(`${prefix}:messaging:{${chatId}}:chat`)));
  expect(slots.size).toBeGreaterThan(20);
  const sources = new Map<string, Set<string>>();
  const monitors = cluster.nodes('master').map((node) => {
    const { host = '', port = 0 } = node.options;
    return new Redis({ host, port, disconnectTimeout: 100 });
  });
  const closes = await Promise.all(
    monitors.map((node) =>
      monitor(node, ({ command, args, source }) => {
        if (!args[0]?.startsWith(prefix) || source === 'lua') return;
        const seen = sources.get(command) ?? new Set();
        sources.set(command, seen.add(`${node.options.port} ${source}`));
      }),
    ),
  );
  const pulled = await chats.pull('ben');
  expect(pulled.map(({ chatId, messages }) => [chatId, messages.map(({ body }) => body)])).toEqual(
    chatIds.map((chatId) => [chatId, [`to ${chatId}`]]),
  );
  await Promise.all(monitors.map((node) => node.ping()));
  for (const close of closes) close();
  for (const node of monitors) disconnect(node);
  // Each master was read by one connection, and what it has only there.
  expect(sources.get('lrange')?.size).toBe(3);
  expect(sources.get('zmscore')?.size).toBe(3);
  expect(sources.get('zrange')?.size).toBe(1);
});

test('pull, ack, chatsOf, history, members and mutes, over all slots', async () => {
  const { chats, chatIds } = await filled();
  expect((await chats.chatsOf('ben')).map(({ unread }) => unread)).toEqual(chatIds.map(() => 1));
  await chats.mute(chatIds[0]!, 'ben');
  expect(await chats.pull('ben')).toHaveLength(CHATS - 1);
  await chats.unmute(chatIds[0]!, 'ben');
  expect(await chats.pull('ben', { autoAck: true })).toHaveLength(CHATS);
  expect(await chats.pull('ben')).toEqual([]);
  expect((await chats.chatsOf('ben')).map(({ unread }) => unread)).toEqual(chatIds.map(() => 0));
  for (const chatId of chatIds) {
    expect(await chats.history(chatId)).toEqual([]);
    expect((await chats.members(chatId)).members).toMatchObject([{ ackedId: 1 }, { ackedId: 1 }]);
  }
});

test('D2: who only posts blocks nothing, and when all have left, nothing remains but the epochs, for an hour', async () => {
  const { prefix, chats, chatIds } = await filled();
  await chats.pull('ben', { autoAck: true });
  const keysLeft = async (): Promise<string[]> => {
    const found = await Promise.all(cluster.nodes('master').map((node) => node.keys(`${prefix}:*`)));
    return found.flat();
  };
  expect((await keysLeft()).filter((key) => key.endsWith(':log'))).toEqual([]);
  for (const chatId of chatIds) for (const member of ['anna', 'ben']) await chats.leave(chatId, member);
  for (const member of ['anna', 'ben']) {
    for (const chatId of chatIds) await cluster.zadd(`${prefix}:messaging:{${member}}:chats`, 1, chatId);
    expect(await chats.chatsOf(member)).toEqual([]);
  }
  await until('the cleaning', async () => (await keysLeft()).every((key) => /\}:(ended|left)$/.test(key)));
  const remembered = (await keysLeft()).filter((key) => key.endsWith('}:ended'));
  expect(remembered).toHaveLength(CHATS);
  const times = await Promise.all(remembered.map((key) => cluster.pttl(key)));
  expect(Math.min(...times)).toBeGreaterThan(0);
});

test('a pull that waits is woken by a post to any slot, and by a new chat', async () => {
  const { chats, chatIds } = await filled();
  await chats.pull('ben', { autoAck: true });
  for (const chatId of [chatIds[3]!, chatIds[17]!]) {
    const pull = chats.pull('ben', { waitMs: 60_000, autoAck: true });
    await chats.post(chatId, 'anna', 'now');
    expect(await pull).toMatchObject([{ chatId, messages: [{ body: 'now' }] }]);
  }
  const pull = chats.pull('ben', { waitMs: 60_000 });
  await chats.create({ sender: 'anna', members: ['ben'], chatId: 'another', body: 'hello' });
  expect(await pull).toMatchObject([{ chatId: 'another' }]);
});

test('goes on while a slot of a chat moves', async () => {
  const { prefix, chats, chatIds } = await filled();
  const key = `${prefix}:messaging:{${chatIds[5]}}:chat`;
  const owner = await servers.ownerOf(key);
  const other = await servers.ownerOf(owner === (await servers.ownerOf(0)) ? 16_383 : 0);
  await servers.moveSlot(keySlot(key), other);
  expect((await chats.pull('ben')).map(({ chatId }) => chatId)).toEqual(chatIds);
  expect(await chats.pull('ben', { autoAck: true })).toHaveLength(CHATS);
  expect(await chats.pull('ben')).toEqual([]);
  await servers.moveSlot(keySlot(key), owner);
});

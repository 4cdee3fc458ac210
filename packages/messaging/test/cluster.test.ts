import { describe, expect, test } from '@jest/globals';
import { Chats, Mailboxes } from '@mortise/messaging';
import { keySlot } from '@mortise/redis';
import { disconnect, freshPrefix, monitor, runCluster, until } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import { HOSTILE } from './fixture/chat-state.js';

const { servers, cluster } = await runCluster({ replicasPerMaster: 0 });
await cluster.ping();

/** The keys of each master that match. */
const keysOfMasters = (pattern: string): Promise<string[][]> =>
  Promise.all(cluster.nodes('master').map((node) => node.keys(pattern)));

/** Moves the slot of a key to another master; returns what moves it back. */
async function moveSlotOf(key: string): Promise<() => Promise<void>> {
  const owner = await servers.ownerOf(key);
  await servers.moveSlot(
    keySlot(key),
    servers.nodes.find((node) => node !== owner)!,
  );
  return () => servers.moveSlot(keySlot(key), owner);
}

test('chats on all masters: created, posted to, edited, acked and left, with members on all masters', async () => {
  const prefix = freshPrefix();
  const chats = new Chats<string>(cluster, { prefix });
  const chatIds = [...HOSTILE, ...Array.from({ length: 12 }, (_, n) => `chat ${n}`)];
  const members = [...HOSTILE, 'bob'];
  for (const isNew of [true, false]) {
    const created = chatIds.map((chatId) =>
      chats.create({ chatId, sender: 'anna', members, body: 'one', id: 'x' }),
    );
    expect(await Promise.all(created)).toEqual(chatIds.map((chatId) => ({ chatId, isNew, id: 1 })));
  }
  const posted = await Promise.all(
    chatIds.flatMap((chatId) => HOSTILE.map((sender) => chats.post(chatId, sender, sender, { id: 'y' }))),
  );
  expect(posted.map(({ id }) => id)).toEqual(chatIds.flatMap(() => HOSTILE.map((_, n) => n + 2)));
  const edits = await Promise.all(chatIds.map((chatId) => chats.edit(chatId, 'anna', 1, 'uno')));
  const lastId = HOSTILE.length + 2;
  expect(edits).toEqual(chatIds.map(() => ({ id: lastId, isDuplicate: false })));
  expect(await Promise.all(chatIds.map((chatId) => chats.join(chatId, 'carl', { role: 'reader' })))).toEqual(
    chatIds.map(() => ({ isNew: true, ackedId: lastId })),
  );

  const acks = chatIds.flatMap((chatId) =>
    ['anna', ...members].map((name) => chats.ack(chatId, name, lastId)),
  );
  expect(await Promise.all(acks)).toEqual(acks.map(() => lastId));
  expect(await keysOfMasters(`${prefix}:*:log`)).toEqual([[], [], []]);
  const heads = await keysOfMasters(`${prefix}:*:chat`);
  expect(Math.min(...heads.map(({ length }) => length))).toBeGreaterThan(0);

  const leaves = chatIds.flatMap((chatId) =>
    ['anna', 'carl', ...members].map((name) => chats.leave(chatId, name)),
  );
  expect(await Promise.all(leaves)).toEqual(leaves.map(() => true));
  const left = await keysOfMasters(`${prefix}:*`);
  expect(left.flat().filter((key) => !/:(ended|left)$/.test(key))).toEqual([]);
});

describe('many chats of one member', () => {
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
    const keysLeft = async (): Promise<string[]> => (await keysOfMasters(`${prefix}:*`)).flat();
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

  test('are all pulled while a slot of a chat moves', async () => {
    const { prefix, chats, chatIds } = await filled();
    const moveBack = await moveSlotOf(`${prefix}:messaging:{${chatIds[5]}}:chat`);
    expect((await chats.pull('ben')).map(({ chatId }) => chatId)).toEqual(chatIds);
    expect(await chats.pull('ben', { autoAck: true })).toHaveLength(CHATS);
    expect(await chats.pull('ben')).toEqual([]);
    await moveBack();
  });
});

describe('mailboxes', () => {
  test('of recipients on all masters: waiting, sending to many, acking', async () => {
    const prefix = freshPrefix();
    const mailboxes = new Mailboxes<string>(cluster, { prefix });
    const recipients = Array.from({ length: 30 }, (_, index) => `user ${index}`);
    const waiting = Promise.all(
      recipients.map((recipient) => mailboxes.receive(recipient, { waitMs: 30_000 })),
    );
    await mailboxes.sendMany(
      recipients.map((recipient) => ({ recipient, body: `for ${recipient}`, from: 'anna' })),
    );
    const received = await waiting;
    expect(received.map((messages) => messages.map(({ body }) => body))).toEqual(
      recipients.map((recipient) => [`for ${recipient}`]),
    );
    expect(await Promise.all(recipients.map((recipient) => mailboxes.ack(recipient, 1)))).toEqual(
      recipients.map(() => 1),
    );
    const keys = await keysOfMasters(`${prefix}:*`);
    expect(keys).toHaveLength(3);
    expect(Math.min(...keys.map(({ length }) => length))).toBeGreaterThan(0);
  });

  test('have devices, expiry and blocked senders in one slot each, on all masters', async () => {
    const mailboxes = new Mailboxes<string>(cluster, { prefix: 'devices' });
    const recipients = Array.from({ length: 30 }, (_, index) => `}user ${index}`);
    const outcomes = await Promise.all(
      recipients.map(async (recipient) => {
        await mailboxes.addDevice(recipient, 'phone');
        await mailboxes.addDevice(recipient, 'laptop');
        await mailboxes.block(recipient, 'joe');
        const sends = await Promise.allSettled([
          mailboxes.send(recipient, 'one', { from: 'anna', ttlMs: 3_600_000 }),
          mailboxes.send(recipient, 'spam', { from: 'joe' }),
          mailboxes.send(recipient, 'two', { from: 'anna' }),
        ]);
        await cluster.zadd(`devices:messaging:{%7D${recipient.slice(1)}}:mailbox-expiring`, 'XX', '1', '1');
        await mailboxes.ack(recipient, 2, { device: 'phone' });
        const messages = await mailboxes.receive(recipient, { device: 'laptop' });
        await mailboxes.removeDevice(recipient, 'laptop');
        return [
          sends.map(({ status }) => status),
          messages.map(({ body }) => body),
          (await mailboxes.status(recipient)).size,
          await mailboxes.blocked(recipient),
        ];
      }),
    );
    expect(outcomes).toEqual(
      recipients.map(() => [['fulfilled', 'rejected', 'fulfilled'], ['two'], 0, ['joe']]),
    );
  });

  test('wake a receiver after a move to another master', async () => {
    const mailboxes = new Mailboxes<string>(cluster);
    await mailboxes.send('jack', 'one', { from: 'anna' });
    await mailboxes.ack('jack', 1);
    const waiting = mailboxes.receive('jack', { waitMs: 40_000 });
    await moveSlotOf('mortise:messaging:{jack}:mailbox');
    await mailboxes.send('jack', 'two', { from: 'anna' });
    expect(await waiting).toMatchObject([{ id: 2, body: 'two' }]);
  });
});

import { expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { runCluster } from '@mortise/test-kit';
import { HOSTILE } from './fixture/chat-state.js';

const { cluster } = await runCluster({ replicasPerMaster: 0 });

test('chats on all masters: created, posted to, edited, acked and left, with members on all masters', async () => {
  const chats = new Chats<string>(cluster);
  const chatIds = [...HOSTILE, ...Array.from({ length: 12 }, (_, n) => `chat ${n}`)];
  const members = [...HOSTILE, 'bob'];
  const created = await Promise.all(
    chatIds.map((chatId) => chats.create({ chatId, sender: 'anna', members, body: 'one', id: 'x' })),
  );
  expect(created).toEqual(chatIds.map((chatId) => ({ chatId, isNew: true, id: 1 })));
  const again = await Promise.all(
    chatIds.map((chatId) => chats.create({ chatId, sender: 'anna', members, body: 'one', id: 'x' })),
  );
  expect(again).toEqual(chatIds.map((chatId) => ({ chatId, isNew: false, id: 1 })));

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
  const nodes = cluster.nodes('master');
  const logs = await Promise.all(nodes.map(async (node) => node.keys('*:log')));
  expect(logs).toEqual([[], [], []]);
  const heads = await Promise.all(nodes.map(async (node) => (await node.keys('*:chat')).length));
  expect(Math.min(...heads)).toBeGreaterThan(0);

  const leaves = chatIds.flatMap((chatId) =>
    ['anna', 'carl', ...members].map((name) => chats.leave(chatId, name)),
  );
  expect(await Promise.all(leaves)).toEqual(leaves.map(() => true));
  const left = await Promise.all(nodes.map(async (node) => node.keys('*')));
  expect(left.flat().filter((key) => !/:(ended|left)$/.test(key))).toEqual([]);
}, 60_000);

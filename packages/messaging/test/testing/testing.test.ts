import { afterEach, expect, test } from '@jest/globals';
import { FileChannel, FileSender } from '../../src/files/index.js';
import { Chats, Mailboxes } from '../../src/index.js';
import type { MessageMatchers } from '../../src/testing/index.js';
import { MemoryRedis, messageMatchers } from '../../src/testing/index.js';

expect.extend(messageMatchers);
const expectMailboxes = expect as unknown as (
  mailboxes: Mailboxes,
) => MessageMatchers & { not: MessageMatchers };

let memory: MemoryRedis | undefined;

function opened(): MemoryRedis {
  memory = new MemoryRedis();
  return memory;
}

afterEach(async () => {
  await memory?.close();
});

test('a sent message is found until it is acked', async () => {
  const mailboxes = new Mailboxes(opened());
  const { id } = await mailboxes.send('ann', { text: 'hello' }, { from: 'bob' });
  await expectMailboxes(mailboxes).toHaveSent('ann', { text: 'hello' });
  await expectMailboxes(mailboxes).not.toHaveSent('ann', { text: 'bye' });
  await expect(expectMailboxes(mailboxes).toHaveSent('ann', 'bye')).rejects.toThrow(/hello/);
  await mailboxes.ack('ann', id);
  await expectMailboxes(mailboxes).not.toHaveSent('ann', { text: 'hello' });
});

test('a reader that waits is woken, and one that waits too long returns', async () => {
  const redis = opened();
  const mailboxes = new Mailboxes(redis);
  const waiting = mailboxes.receive('ann', { waitMs: 60_000 });
  await redis.clock.settle();
  await new Mailboxes(redis.duplicate()).send('ann', 1, { from: 'bob' });
  expect(await waiting).toMatchObject([{ body: 1 }]);
  const idle = mailboxes.receive('eve', { waitMs: 60_000 });
  await redis.clock.advance('1m');
  expect(await idle).toEqual([]);
});

test('chats deliver to all members', async () => {
  const redis = opened();
  const chats = new Chats(redis);
  const { chatId } = await chats.create({ sender: 'ann', members: ['ann', 'bob'], body: 'hi' });
  await chats.post(chatId, 'ann', 'there', {});
  const pulled = await chats.pull('bob');
  expect(JSON.stringify(pulled)).toMatch(/hi.*there/);
});

test('a chat is trimmed in memory, and a member gets the gap', async () => {
  const chats = new Chats(opened());
  await chats.create({ chatId: 'guild', sender: 'ann', members: ['bob'], body: 1 });
  await chats.post('guild', 'ann', 2);
  expect(await chats.trim('guild', 1)).toEqual({ fromId: 1, toId: 1 });
  expect(await chats.pull('bob')).toMatchObject([{ unread: 1, gap: { fromId: 1, toId: 1 } }]);
});

test('a channel of files tells its state in memory', async () => {
  const redis = opened();
  await new FileSender(redis, 'logs', { receivers: ['r1'] }).send(Buffer.from('one'), { name: 'a' });
  expect(await new FileChannel(redis, 'logs').status()).toMatchObject({
    listed: 1,
    storedBytes: 19,
    files: [{ name: 'a', pending: 1, slowest: [{ receiver: 'r1', ackedBytes: 0 }] }],
  });
});

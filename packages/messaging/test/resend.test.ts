/**
 * ioredis sends a command again when the connection was cut before its reply. Here every command is executed twice, and the
 * caller gets the second reply: it has to say what the first one said.
 */
import { expect, test } from '@jest/globals';
import { Chats, Mailboxes } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';
import { stepwise } from './stepwise-client.js';

const redis = connect();

function create() {
  const prefix = freshPrefix();
  const resending = stepwise(redis, async (_, send) => {
    await send();
    return send();
  });
  return {
    chats: new Chats(resending, { prefix }),
    mailboxes: new Mailboxes(resending, { prefix }),
    plain: new Chats(redis, { prefix }),
  };
}

test('create tells the id of its first message, and that the chat is new unless the caller named it', async () => {
  const { chats, plain } = create();
  const given = { sender: 'anna', members: ['bob'], body: 'hello' };
  expect(await chats.create({ ...given, chatId: 'a', id: 'x' })).toEqual({
    chatId: 'a',
    isNew: false,
    id: 1,
  });
  expect(await chats.create({ ...given, chatId: 'a' })).toEqual({ chatId: 'a', isNew: false });
  expect(await chats.create({ ...given, chatId: 'b' })).toEqual({ chatId: 'b', isNew: false });
  expect(await chats.create(given)).toMatchObject({ isNew: true, id: 1 });
  const { chatId, ...rest } = await chats.create({ sender: 'anna', members: ['bob'] });
  expect(rest).toEqual({ isNew: true });
  expect((await plain.members(chatId)).members).toHaveLength(2);
  for (const named of ['a', 'b']) expect(await plain.history(named)).toHaveLength(1);
});

test('post, edit and delete tell of no duplicate that the caller has not sent', async () => {
  const { chats, plain } = create();
  await plain.create({ sender: 'anna', members: ['bob'], chatId: 'a' });
  expect(await chats.post('a', 'anna', 'one')).toEqual({ id: 1, isDuplicate: false });
  expect(await Promise.all([chats.post('a', 'anna', 'two'), chats.post('a', 'bob', 'three')])).toEqual([
    { id: 2, isDuplicate: false },
    { id: 3, isDuplicate: false },
  ]);
  expect(await chats.post('a', 'anna', 'four', { id: 'x' })).toMatchObject({ id: 4 });
  expect(await chats.edit('a', 'anna', 1, 'first')).toEqual({ id: 5, isDuplicate: false });
  expect(await chats.delete('a', 'anna', 2)).toMatchObject({ id: 6 });
  expect((await plain.history('a')).map(({ id, body }) => [id, body])).toEqual([
    [1, 'first'],
    [3, 'three'],
    [4, 'four'],
    [5, 'first'],
    [6, undefined],
  ]);
});

test('send and sendMany tell of no duplicate that the caller has not sent', async () => {
  const { mailboxes } = create();
  expect(await mailboxes.send('jack', 'one', { from: 'jill' })).toEqual({ id: 1, isDuplicate: false });
  const two = { recipient: 'jack', body: 'two', from: 'jill' };
  expect(await mailboxes.sendMany([two, { ...two, recipient: 'joe' }])).toEqual([
    { id: 2, isDuplicate: false },
    { id: 1, isDuplicate: false },
  ]);
  expect(await mailboxes.unread('jack')).toBe(2);
});

test('an owner who gives up their own role is not refused', async () => {
  const { chats, plain } = create();
  await plain.create({ sender: 'anna', members: ['bob'], chatId: 'a' });
  await chats.setRole('a', 'anna', 'member', { by: 'anna' });
  expect((await plain.members('a')).members.map(({ role }) => role)).toEqual(['member', 'member']);
  await expect(chats.setRole('a', 'bob', 'reader', { by: 'anna' })).rejects.toMatchObject({
    code: 'ERR_NOT_ALLOWED',
  });
});

test('a cursor is where the first ack has put it', async () => {
  const { chats, plain } = create();
  await plain.create({ sender: 'anna', members: ['bob'], chatId: 'a', body: 1 });
  await plain.post('a', 'anna', 2);
  expect(await chats.ack('a', 'bob', 1)).toBe(1);
  expect((await chats.pull('bob', { autoAck: true })).map(({ ackedId }) => ackedId)).toEqual([1]);
  expect(await plain.pull('bob')).toEqual([]);
});

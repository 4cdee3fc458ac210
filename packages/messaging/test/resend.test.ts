/**
 * ioredis sends a command again when the connection was cut before its reply. Here every command is executed twice, and the
 * caller gets the second reply: it says what the first one said, except where the docstring says otherwise.
 */
import { expect, test } from '@jest/globals';
import { Chats, Mailboxes } from '@mortise/messaging';
import type { RedisClient } from '@mortise/redis';
import { connect, freshPrefix, resending } from '@mortise/test-kit';

interface World {
  readonly chats: Chats;
  readonly mailboxes: Mailboxes;
}

/** A write, its answer, and the answer to a resend if that differs. */
type Write = [act: (world: World) => Promise<unknown>, answer: unknown, resent?: unknown];

const redis = connect();
const given = { sender: 'anna', members: ['bob'], body: 'hello' };
const appended = (id: number) => ({ id, isDuplicate: false });

const WRITES: Readonly<Record<string, Write>> = {
  'create with an id': [
    ({ chats }) => chats.create({ ...given, chatId: 'b', id: 'x' }),
    { chatId: 'b', isNew: true, id: 1 },
    { chatId: 'b', isNew: false, id: 1 },
  ],
  'create without an id': [
    ({ chats }) => chats.create({ ...given, chatId: 'b' }),
    { chatId: 'b', isNew: true, id: 1 },
    { chatId: 'b', isNew: false, id: 1 },
  ],
  'create without a chatId': [
    async ({ chats }) => ({ ...(await chats.create(given)), chatId: '' }),
    { chatId: '', isNew: true, id: 1 },
  ],
  'create without a body': [
    async ({ chats }) => ({ ...(await chats.create({ sender: 'anna', members: [] })), chatId: '' }),
    { chatId: '', isNew: true },
  ],
  post: [({ chats }) => chats.post('a', 'anna', 'more'), appended(4)],
  'post with an id': [
    ({ chats }) => chats.post('a', 'anna', 'more', { id: 'x' }),
    appended(4),
    { id: 4, isDuplicate: true },
  ],
  'posts of one tick': [
    ({ chats }) => Promise.all([chats.post('a', 'anna', 'more'), chats.post('a', 'bob', 'and')]),
    [appended(4), appended(5)],
  ],
  edit: [({ chats }) => chats.edit('a', 'anna', 2, 'else'), appended(4)],
  delete: [({ chats }) => chats.delete('a', 'anna', 2), appended(4), { id: 4, isDuplicate: true }],
  ack: [({ chats }) => chats.ack('a', 'bob', 2), 2],
  trim: [({ chats }) => chats.trim('a', 2), { fromId: 1, toId: 2 }, null],
  ackAll: [async ({ chats }) => chats.ackAll('bob', await chats.pull('bob')), undefined],
  'pull with autoAck': [
    async ({ chats }) => (await chats.pull('bob', { autoAck: true })).map(({ unread }) => unread),
    [3],
  ],
  join: [({ chats }) => chats.join('a', 'dora'), { isNew: true, ackedId: 3 }, { isNew: false, ackedId: 3 }],
  leave: [({ chats }) => chats.leave('a', 'bob'), true, false],
  'leave of the last member': [({ chats }) => chats.leave('alone', 'anna'), true, false],
  setRole: [({ chats }) => chats.setRole('a', 'bob', 'reader'), undefined],
  'setRole of an owner who gives up their own role': [
    ({ chats }) => chats.setRole('a', 'anna', 'member', { by: 'anna' }),
    undefined,
  ],
  mute: [({ chats }) => chats.mute('a', 'bob'), undefined],
  unmute: [({ chats }) => chats.unmute('a', 'carl'), undefined],
  typing: [({ chats }) => chats.typing('a', 'bob'), undefined],
  presence: [({ chats }) => chats.presence('bob', 'away'), undefined],
  send: [({ mailboxes }) => mailboxes.send('jack', 'one', { from: 'jill' }), appended(4)],
  'send with an id': [
    ({ mailboxes }) => mailboxes.send('jack', 'one', { from: 'jill', id: 'x' }),
    appended(4),
    { id: 4, isDuplicate: true },
  ],
  sendMany: [
    ({ mailboxes }) =>
      mailboxes.sendMany(['jack', 'joe'].map((recipient) => ({ recipient, body: 1, from: 'jill' }))),
    [appended(4), appended(1)],
  ],
  receive: [async ({ mailboxes }) => (await mailboxes.receive('jack')).map(({ id }) => id), [1, 2, 3]],
  'ack of a mailbox': [({ mailboxes }) => mailboxes.ack('jack', 2), 2, 0],
  clear: [({ mailboxes }) => mailboxes.clear('jack'), 3, 0],
  addDevice: [
    ({ mailboxes }) => mailboxes.addDevice('jack', 'tablet'),
    { isNew: true, ackedId: 3 },
    { isNew: false, ackedId: 3 },
  ],
  removeDevice: [({ mailboxes }) => mailboxes.removeDevice('jack', 'phone'), true, false],
  block: [({ mailboxes }) => mailboxes.block('jack', 'joe'), true, false],
  unblock: [({ mailboxes }) => mailboxes.unblock('jack', 'troll'), true, false],
};

async function create(
  client: (plain: typeof redis) => RedisClient,
): Promise<World & { state: () => Promise<unknown> }> {
  const prefix = freshPrefix();
  const chats = new Chats(redis, { prefix });
  const mailboxes = new Mailboxes(redis, { prefix });
  await chats.create({ sender: 'anna', members: ['bob', 'carl'], chatId: 'a' });
  await chats.create({ sender: 'anna', members: [], chatId: 'alone' });
  await chats.mute('a', 'carl');
  await mailboxes.addDevice('jack', 'main');
  await mailboxes.addDevice('jack', 'phone');
  await mailboxes.block('jack', 'troll');
  for (const body of [1, 2, 3]) {
    await chats.post('a', 'anna', body);
    await mailboxes.send('jack', body, { from: 'jill' });
  }
  return {
    chats: new Chats(client(redis), { prefix }),
    mailboxes: new Mailboxes(client(redis), { prefix }),
    state: async () => ({
      history: (await chats.history('a')).map((message) => ({ ...message, sentAt: 0 })),
      members: await chats.members('a'),
      chats: await Promise.all(
        ['anna', 'bob', 'carl', 'dora'].map(async (member) =>
          (await chats.chatsOf(member)).map(({ unread, lastId, ackedId, isMuted }) => [
            unread,
            lastId,
            ackedId,
            isMuted,
          ]),
        ),
      ),
      devices: (await mailboxes.devices('jack')).map(({ device, ackedId, unread }) => [
        device,
        ackedId,
        unread,
      ]),
      mail: [await mailboxes.unread('jack'), await mailboxes.unread('joe')],
      blocked: await mailboxes.blocked('jack'),
    }),
  };
}

test.each(Object.keys(WRITES))('%s', async (name) => {
  const [act, answer, resent = answer] = WRITES[name]!;
  const once = await create((plain) => plain);
  const twice = await create(resending);
  expect(await act(once)).toEqual(answer);
  expect(await act(twice)).toEqual(resent);
  expect(await twice.state()).toEqual(await once.state());
});

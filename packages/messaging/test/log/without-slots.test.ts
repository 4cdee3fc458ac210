/** Commands for several chats, on a server without slots. The other tests run on one that enforces them. */
import { expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { freshPrefix, runServer, transcript } from '@mortise/test-kit';
import * as scripts from '../../src/scripts.gen.js';
import { outcomesOf } from '../fixture/outcomes.js';

const { redis } = await runServer();
const CHATS = ['a', 'b', 'c'];

async function filled() {
  const prefix = freshPrefix();
  const chats = new Chats(redis, { prefix });
  for (const chatId of CHATS)
    await chats.create({ chatId, sender: 'anna', members: ['ben', 'cleo'], body: 1 });
  return { prefix, chats };
}

test('acks of several chats are one call, and each has its own outcome', async () => {
  const { prefix, chats } = await filled();
  const acks = await outcomesOf([
    chats.ack('a', 'ben', 1),
    chats.ack('a', 'cleo', 1),
    chats.ack('b', 'ben', 1),
    chats.ack('c', 'ben', 2),
    chats.ack('c', 'dora', 1),
    chats.ack('nowhere', 'ben', 1),
  ]);
  expect(acks).toEqual([1, 1, 1, 'ERR_UNKNOWN_MESSAGE', 'ERR_NOT_A_MEMBER', 'ERR_UNKNOWN_CHAT']);
  const logs = CHATS.map((chatId) => redis.exists(`${prefix}:messaging:{${chatId}}:log`));
  expect(await Promise.all(logs)).toEqual([0, 1, 1]);
  const seen = await transcript(redis, { prefix, scripts }, () =>
    Promise.all(CHATS.map((chatId) => chats.ack(chatId, 'cleo', 1))),
  );
  expect(seen.filter((line) => line.startsWith('evalsha'))).toHaveLength(1);
});

test('an error of one chat does not fail the acks of others', async () => {
  const { prefix, chats } = await filled();
  await redis.set(`${prefix}:messaging:{b}:chat`, 'foreign');
  const acks = await Promise.allSettled(CHATS.map((chatId) => chats.ack(chatId, 'ben', 1)));
  expect(acks.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

test('chats of a call free their messages, even if a later one is damaged', async () => {
  const { prefix, chats } = await filled();
  for (const chatId of CHATS) await chats.ack(chatId, 'cleo', 1);
  await chats.post('c', 'cleo', 2);
  const key = (chatId: string, part: string): string => `${prefix}:messaging:{${chatId}}:${part}`;
  await redis.set(key('c', 'chat'), 'foreign');
  await Promise.allSettled(CHATS.map((chatId) => chats.ack(chatId, 'ben', 1)));
  const logs = CHATS.map((chatId) => redis.exists(key(chatId, 'log')));
  expect(await Promise.all(logs)).toEqual([0, 0, 1]);
});

test.each([
  ['the last one', [3, 3, 0], 3, 0],
  ['the last one, not quite', [3, 3, 0], 2, 1],
  ['the last one, and is the next to last then', [3, 1, 0], 3, 2],
  ['one of the last ones', [3, 0, 0], 3, 3],
  ['not the last one', [3, 0, 1], 3, 3],
])('the member who acks was %s', async (_, [anna, ben, cleo], upToId, stored) => {
  for (const isOneCall of [true, false]) {
    const prefix = freshPrefix();
    const chats = new Chats(redis, { prefix });
    await chats.create({ chatId: 'a', sender: 'anna', members: ['ben', 'cleo'], body: 1 });
    for (const body of [2, 3]) await chats.post('a', 'anna', body);
    expect(await chats.ack('a', 'anna', anna!)).toBe(3);
    if (ben! > 0) await chats.ack('a', 'ben', ben!);
    if (cleo! > 0) await chats.ack('a', 'cleo', cleo!);
    // Where a chat has two acks in a call, they go another way.
    await Promise.all((isOneCall ? [upToId] : [1, upToId]).map((id) => chats.ack('a', 'cleo', id)));
    expect(await redis.llen(`${prefix}:messaging:{a}:log`)).toBe(stored);
  }
});

test('logs are asked for together where all was read, and what comes is found, each time', async () => {
  const { prefix, chats } = await filled();
  for (const chatId of CHATS) await chats.ack(chatId, 'cleo', 1);
  await chats.pull('ben', { autoAck: true });
  expect(await chats.pull('ben')).toEqual([]);
  const idle = await transcript(redis, { prefix, scripts }, () => chats.pull('ben'));
  expect(idle.filter((line) => /^(exists|zmscore)/.test(line))).toEqual([
    `exists ${CHATS.map((chatId) => `messaging:{${chatId}}:log`).join(' ')}`,
  ]);
  for (const round of [1, 2, 3]) {
    await chats.post('c', 'anna', round);
    await chats.post('b', 'anna', round);
    const pulled = await chats.pull('ben', { autoAck: true });
    const found = { messages: [{ body: round }], unread: 1, lastId: round + 1 };
    expect(pulled).toMatchObject(['b', 'c'].map((chatId) => ({ chatId, ...found })));
    for (let look = 0; look < 2; look += 1) expect(await chats.pull('ben')).toEqual([]);
  }
  await chats.leave('a', 'ben');
  await chats.post('a', 'anna', 'not for ben');
  expect(await chats.pull('ben')).toEqual([]);
});

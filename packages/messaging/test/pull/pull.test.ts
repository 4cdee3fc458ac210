import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { Pulled } from '@mortise/messaging';
import { transcript } from '@mortise/test-kit';
import * as scripts from '../../src/scripts.gen.js';
import { HOSTILE } from '../fixture/chat-state.js';
import { keyOf, open, prefix, redis, upTo } from '../fixture/guild.js';
import { stepwise } from '../fixture/stepwise-client.js';

/** In one tick, by anna: m1, m2 and so on. */
async function postMany(chats: Chats, chatId: string, count: number, from = 1): Promise<void> {
  await Promise.all(upTo(count).map((n) => chats.post(chatId, 'anna', `m${from + n - 1}`)));
}

const bodiesOf = (pulled: readonly Pulled[]): unknown[][] =>
  pulled.map(({ messages }) => messages.map(({ body }) => body));

describe('pull', () => {
  test('returns what each chat has behind the cursor, in the order in which the chats were joined', async () => {
    const chats = open();
    const { chatId: first } = await chats.create({ sender: 'anna', members: ['ben'] });
    const { chatId: second } = await chats.create({ sender: 'cleo', members: ['ben'], body: 'hi' });
    await chats.post(first, 'anna', { text: 'one' });
    await chats.post(first, 'anna', 'two');
    const before = Date.now();
    const pulled = await chats.pull('ben');
    expect(pulled).toEqual([
      {
        chatId: first,
        epoch: expect.any(Number),
        messages: [
          { id: 1, kind: 'message', from: 'anna', body: { text: 'one' }, sentAt: expect.any(Number) },
          { id: 2, kind: 'message', from: 'anna', body: 'two', sentAt: expect.any(Number) },
        ],
        unread: 2,
        lastId: 2,
        ackedId: 0,
        isMuted: false,
      },
      {
        chatId: second,
        epoch: expect.any(Number),
        messages: [{ id: 1, kind: 'message', from: 'cleo', body: 'hi', sentAt: expect.any(Number) }],
        unread: 1,
        lastId: 1,
        ackedId: 0,
        isMuted: false,
      },
    ]);
    for (const { epoch, messages } of pulled) {
      for (const { sentAt } of messages) expect(sentAt).toBeGreaterThanOrEqual(epoch);
      expect(Math.abs(epoch - before)).toBeLessThan(60_000);
    }
  });

  test('D3: leaves out chats without news; somebody without chats gets nothing', async () => {
    const chats = open();
    const { chatId: quiet } = await chats.create({ sender: 'anna', members: ['ben'] });
    const { chatId: loud } = await chats.create({ sender: 'anna', members: ['ben'], body: 'x' });
    expect((await chats.pull('ben')).map(({ chatId }) => chatId)).toEqual([loud]);
    await chats.ack(loud, 'ben', 1);
    expect(await chats.pull('ben')).toEqual([]);
    expect(await chats.pull('nobody')).toEqual([]);
    await chats.post(quiet, 'anna', 'y');
    expect((await chats.pull('ben')).map(({ chatId }) => chatId)).toEqual([quiet]);
  });

  test('moves nothing: the same comes again until it is acked', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben', 'cleo'] });
    await postMany(chats, chatId, 5);
    const first = await chats.pull('ben');
    expect(await chats.pull('ben')).toEqual(first);
    await chats.ack(chatId, 'ben', 3);
    expect(bodiesOf(await chats.pull('ben'))).toEqual([['m4', 'm5']]);
    expect(bodiesOf(await chats.pull('cleo'))).toEqual([['m1', 'm2', 'm3', 'm4', 'm5']]);
  });

  test('D22: gives at most 10,000 messages of all chats, and something of each', async () => {
    const chats = open();
    const chatIds: string[] = [];
    for (let index = 0; index < 11; index += 1) {
      const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
      chatIds.push(chatId);
      await postMany(chats, chatId, 920);
    }
    const pulled = await chats.pull('ben', { limit: 1_000 });
    expect(pulled.map(({ chatId }) => chatId)).toEqual(chatIds);
    expect(new Set(pulled.map(({ messages }) => messages.length))).toEqual(new Set([909]));
    expect(new Set(pulled.map(({ unread }) => unread))).toEqual(new Set([920]));
  });

  test('an edit shows in the message and as an event; a deleted message is left out and doesn’t count', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    await postMany(chats, chatId, 3);
    await chats.edit(chatId, 'anna', 1, 'm1 better');
    await chats.delete(chatId, 'anna', 2);
    const [chat] = await chats.pull('ben');
    expect(chat?.messages.map(({ id, kind, body, revises }) => ({ id, kind, body, revises }))).toEqual([
      { id: 1, kind: 'message', body: 'm1 better', revises: undefined },
      { id: 3, kind: 'message', body: 'm3', revises: undefined },
      { id: 4, kind: 'edit', body: 'm1 better', revises: 1 },
      { id: 5, kind: 'delete', body: undefined, revises: 2 },
    ]);
    expect(chat).toMatchObject({ unread: 2, lastId: 5, ackedId: 0 });
    await chats.ack(chatId, 'ben', 3);
    expect((await chats.pull('ben'))[0]).toMatchObject({ unread: 0, lastId: 5, ackedId: 3 });
  });

  test('reads on where all that it would give is deleted', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    await postMany(chats, chatId, 260);
    for (let id = 1; id <= 250; id += 1) await chats.delete(chatId, 'anna', id);
    const [chat] = await chats.pull('ben', { limit: 4 });
    expect(chat?.messages.map(({ id }) => id)).toEqual([251, 252, 253, 254]);
    expect(chat).toMatchObject({ unread: 10, ackedId: 0 });
    expect(chat).not.toHaveProperty('gap');
    await chats.ack(chatId, 'ben', 260);
    expect((await chats.pull('ben', { limit: 2 }))[0]?.messages.map(({ id, kind }) => [id, kind])).toEqual([
      [261, 'delete'],
      [262, 'delete'],
    ]);
  });

  test('messages that a cap dropped unread are a gap, until it is acked', async () => {
    const chats = open({ maxMessages: 4 });
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben', 'cleo'] });
    await postMany(chats, chatId, 2);
    await chats.ack(chatId, 'cleo', 2);
    await postMany(chats, chatId, 7, 3);
    const [ben] = await chats.pull('ben', { limit: 2 });
    expect(ben).toMatchObject({ gap: { fromId: 1, toId: 5 }, unread: 4, lastId: 9, ackedId: 0 });
    expect(ben?.messages.map(({ id }) => id)).toEqual([6, 7]);
    expect((await chats.pull('cleo'))[0]).toMatchObject({
      gap: { fromId: 3, toId: 5 },
      unread: 4,
      ackedId: 2,
    });
    await chats.ack(chatId, 'ben', 5);
    const [again] = await chats.pull('ben');
    expect(again).not.toHaveProperty('gap');
    expect(again?.messages.map(({ id }) => id)).toEqual([6, 7, 8, 9]);
  });

  test('a log that is gone is a gap without messages', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    await postMany(chats, chatId, 3);
    await redis.del(keyOf('log', chatId));
    expect((await chats.pull('ben'))[0]).toMatchObject({
      messages: [],
      unread: 0,
      gap: { fromId: 1, toId: 3 },
      lastId: 3,
    });
    await chats.pull('ben', { autoAck: true });
    expect(await chats.pull('ben')).toEqual([]);
  });

  test('a member who has left gets nothing, at once', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'], body: 'x' });
    expect(await chats.leave(chatId, 'ben')).toBe(true);
    expect(await chats.pull('ben')).toEqual([]);
    expect(await chats.chatsOf('ben')).toEqual([]);
    expect(bodiesOf(await chats.pull('anna'))).toEqual([]);
  });
});

describe('pull with autoAck', () => {
  test('acks what it returned, and no more', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    await postMany(chats, chatId, 5);
    const pulled = await chats.pull('ben', { limit: 2, autoAck: true });
    expect(bodiesOf(pulled)).toEqual([['m1', 'm2']]);
    expect(pulled[0]).toMatchObject({ ackedId: 0, unread: 5 });
    expect(bodiesOf(await chats.pull('ben', { autoAck: true }))).toEqual([['m3', 'm4', 'm5']]);
    expect(await chats.pull('ben', { autoAck: true })).toEqual([]);
  });

  test('acks a gap', async () => {
    const chats = open({ maxMessages: 2 });
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    await postMany(chats, chatId, 5);
    expect((await chats.pull('ben', { autoAck: true }))[0]).toMatchObject({ gap: { fromId: 1, toId: 3 } });
    expect(await chats.pull('ben')).toEqual([]);
  });
});

describe('bad input', () => {
  test.each([
    [{ limit: 0 }, 'limit must be a whole number from 1 to 1000, got 0'],
    [{ limit: -1 }, 'limit must be a whole number from 1 to 1000, got -1'],
    [{ limit: Number.NaN }, 'limit must be a whole number from 1 to 1000, got NaN'],
    [{ limit: 1_001 }, 'limit must be a whole number from 1 to 1000, got 1001'],
    [{ waitMs: -1 }, 'waitMs must be from 0 to Infinity ms, got -1'],
    [{ waitMs: Number.NaN }, 'waitMs must be from 0 to Infinity ms, got NaN'],
  ])('%p is refused', async (options, message) => {
    await expect(open().pull('ben', options)).rejects.toThrow(new RangeError(message));
  });

  test('no name is refused', async () => {
    await expect(open().pull('')).rejects.toThrow(RangeError);
    await expect(open().pull(undefined as unknown as string)).rejects.toThrow(TypeError);
    await expect(open().pull('x'.repeat(1_025))).rejects.toThrow(RangeError);
  });

  test.each([...HOSTILE, '\0e', 'E', '1:X2:'])(
    'a chat, a member and a sender may be called %p',
    async (name) => {
      const chats = open();
      const chatId = `${name}${randomUUID()}`;
      await chats.create({ sender: name, members: ['ben'], chatId, body: name });
      await chats.create({ sender: 'ben', members: [name], chatId: name, body: 'for you' });
      expect(await chats.pull('ben')).toMatchObject([{ chatId, messages: [{ from: name, body: name }] }]);
      expect(await chats.pull(name)).toMatchObject([{ chatId: name, messages: [{ body: 'for you' }] }]);
      await chats.mute(name, name);
      expect(await chats.pull(name)).toEqual([]);
      expect(await chats.pull(name, { includeMuted: true })).toMatchObject([{ chatId: name, isMuted: true }]);
    },
  );
});

test('the script reads a chat with a gap, after the plain read, until the gap is acked', async () => {
  const chats = open();
  // The reader doesn't know that limit.
  const writer = new Chats(redis, { prefix, maxMessages: 3 });
  await writer.create({ chatId: 'g', sender: 'anna', members: ['ben'] });
  await postMany(writer, 'g', 5);
  const see = (): Promise<string[]> => transcript(redis, { prefix, scripts }, () => chats.pull('ben'));
  const read = 'evalsha chat.read messaging:{g}:chat messaging:{g}:log messaging:{g}:uncounted';
  const kinds = async (): Promise<string[]> =>
    (await see())
      .filter((line) => line.startsWith('lrange') || line === read)
      .map((line) => line.slice(0, 6));
  expect(await kinds()).toEqual(['lrange', 'evalsh']);
  expect((await chats.pull('ben'))[0]).toMatchObject({ gap: { fromId: 1, toId: 2 }, unread: 3 });
  await chats.ack('g', 'ben', 3);
  expect(await kinds()).toEqual(['lrange']);
});

test('waits for no cleaning of the index, and cleans it once at a time', async () => {
  const chats = open();
  const index = keyOf('chats', 'ben');
  await chats.create({ chatId: 'g', sender: 'anna', members: ['ben'], body: 'x' });
  await redis.zadd(index, 1, 'dangling');
  let cleanings = 0;
  const stuck = stepwise(redis, (_, send, [command, key]) => {
    if (command !== 'zmscore' || key !== index) return send();
    cleanings += 1;
    return new Promise(() => undefined);
  });
  const held = new Chats(stuck, { prefix });
  for (let round = 0; round < 2; round += 1) {
    expect(await held.pull('ben')).toMatchObject([{ chatId: 'g', unread: 1 }]);
    expect(await held.chatsOf('ben')).toMatchObject([{ chatId: 'g', unread: 1 }]);
  }
  expect(cleanings).toBe(1);
});

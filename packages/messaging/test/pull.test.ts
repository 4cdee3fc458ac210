import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { ChatsOptions, Pulled } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';
import { stepwise } from './stepwise-client.js';

const redis = connect();

function create(options: ChatsOptions = {}): Chats {
  return new Chats(redis, { prefix: freshPrefix(), ...options });
}

async function postMany(
  chats: Chats,
  chatId: string,
  sender: string,
  count: number,
  from = 1,
): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, index) => chats.post(chatId, sender, `m${from + index}`)),
  );
}

const bodiesOf = (pulled: readonly Pulled[]): unknown[][] =>
  pulled.map(({ messages }) => messages.map(({ body }) => body));

describe('pull', () => {
  test('returns what each chat has behind the cursor, in the order in which the chats were joined', async () => {
    const chats = create();
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
    const chats = create();
    const { chatId: quiet } = await chats.create({ sender: 'anna', members: ['ben'] });
    const { chatId: loud } = await chats.create({ sender: 'anna', members: ['ben'], body: 'x' });
    expect((await chats.pull('ben')).map(({ chatId }) => chatId)).toEqual([loud]);
    await chats.ack('ben', loud, 1);
    expect(await chats.pull('ben')).toEqual([]);
    expect(await chats.pull('nobody')).toEqual([]);
    await chats.post(quiet, 'anna', 'y');
    expect((await chats.pull('ben')).map(({ chatId }) => chatId)).toEqual([quiet]);
  });

  test('moves nothing: the same comes again until it is acked', async () => {
    const chats = create();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben', 'cleo'] });
    await postMany(chats, chatId, 'anna', 5);
    const first = await chats.pull('ben');
    expect(await chats.pull('ben')).toEqual(first);
    await chats.ack('ben', chatId, 3);
    expect(bodiesOf(await chats.pull('ben'))).toEqual([['m4', 'm5']]);
    expect(bodiesOf(await chats.pull('cleo'))).toEqual([['m1', 'm2', 'm3', 'm4', 'm5']]);
  });

  test('D21: what a member posts to a chat that they have read isn’t new to them', async () => {
    const chats = create();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'], body: 'x' });
    expect(await chats.pull('anna')).toEqual([]);
    await chats.ack('ben', chatId, 1);
    await chats.post(chatId, 'ben', 'y');
    expect(await chats.pull('ben')).toEqual([]);
    expect(bodiesOf(await chats.pull('anna'))).toEqual([['y']]);
  });

  test('D22: gives at most `limit` messages of each chat, from the oldest; acking goes on to the next', async () => {
    const chats = create();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    await postMany(chats, chatId, 'anna', 7);
    const seen: unknown[] = [];
    const unreads: number[] = [];
    for (;;) {
      const [chat] = await chats.pull('ben', { limit: 3 });
      if (!chat) break;
      expect(chat.messages.length).toBeLessThanOrEqual(3);
      expect(chat.lastId).toBe(7);
      unreads.push(chat.unread);
      seen.push(...chat.messages.map(({ body }) => body));
      await chats.ack('ben', chatId, chat.messages.at(-1)!.id);
    }
    expect(seen).toEqual(['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7']);
    expect(unreads).toEqual([7, 4, 1]);
  });

  test('D22: gives at most 10,000 messages of all chats, and something of each', async () => {
    const chats = create();
    const chatIds: string[] = [];
    for (let index = 0; index < 11; index += 1) {
      const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
      chatIds.push(chatId);
      await postMany(chats, chatId, 'anna', 920);
    }
    const pulled = await chats.pull('ben', { limit: 1_000 });
    expect(pulled.map(({ chatId }) => chatId)).toEqual(chatIds);
    expect(new Set(pulled.map(({ messages }) => messages.length))).toEqual(new Set([909]));
    expect(new Set(pulled.map(({ unread }) => unread))).toEqual(new Set([920]));
  });

  test('an edit shows in the message and as an event; a deleted message is left out and doesn’t count', async () => {
    const chats = create();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    await postMany(chats, chatId, 'anna', 3);
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
    await chats.ack('ben', chatId, 3);
    expect((await chats.pull('ben'))[0]).toMatchObject({ unread: 0, lastId: 5, ackedId: 3 });
  });

  test('reads on where all that it would give is deleted', async () => {
    const chats = create();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    await postMany(chats, chatId, 'anna', 260);
    for (let id = 1; id <= 250; id += 1) await chats.delete(chatId, 'anna', id);
    const [chat] = await chats.pull('ben', { limit: 4 });
    expect(chat?.messages.map(({ id }) => id)).toEqual([251, 252, 253, 254]);
    expect(chat).toMatchObject({ unread: 10, ackedId: 0 });
    expect(chat).not.toHaveProperty('gap');
    await chats.ack('ben', chatId, 260);
    expect((await chats.pull('ben', { limit: 2 }))[0]?.messages.map(({ id, kind }) => [id, kind])).toEqual([
      [261, 'delete'],
      [262, 'delete'],
    ]);
  });

  test('what the caps dropped unread is a gap, until it is acked', async () => {
    const chats = create({ maxMessages: 4 });
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben', 'cleo'] });
    await postMany(chats, chatId, 'anna', 2);
    await chats.ack('cleo', chatId, 2);
    await postMany(chats, chatId, 'anna', 7, 3);
    const [ben] = await chats.pull('ben', { limit: 2 });
    expect(ben).toMatchObject({ gap: { fromId: 1, toId: 5 }, unread: 4, lastId: 9, ackedId: 0 });
    expect(ben?.messages.map(({ id }) => id)).toEqual([6, 7]);
    expect((await chats.pull('cleo'))[0]).toMatchObject({
      gap: { fromId: 3, toId: 5 },
      unread: 4,
      ackedId: 2,
    });
    await chats.ack('ben', chatId, 5);
    const [again] = await chats.pull('ben');
    expect(again).not.toHaveProperty('gap');
    expect(again?.messages.map(({ id }) => id)).toEqual([6, 7, 8, 9]);
  });

  test('a log that is gone is a gap without messages', async () => {
    const prefix = freshPrefix();
    const chats = create({ prefix });
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    await postMany(chats, chatId, 'anna', 3);
    await redis.del(`${prefix}:messaging:{${chatId}}:log`);
    expect((await chats.pull('ben'))[0]).toMatchObject({
      messages: [],
      unread: 0,
      gap: { fromId: 1, toId: 3 },
      lastId: 3,
    });
    await chats.pull('ben', { autoAck: true });
    expect(await chats.pull('ben')).toEqual([]);
  });

  test('D9: a member joins behind the newest message, and joining again loses nothing', async () => {
    const chats = create();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'], body: 'before' });
    expect(await chats.join(chatId, 'cleo')).toEqual({ isNew: true, ackedId: 1 });
    expect(await chats.pull('cleo')).toEqual([]);
    await chats.post(chatId, 'anna', 'after');
    expect(await chats.join(chatId, 'cleo')).toEqual({ isNew: false, ackedId: 1 });
    expect(bodiesOf(await chats.pull('cleo'))).toEqual([['after']]);
    expect(bodiesOf(await chats.pull('ben'))).toEqual([['before', 'after']]);
  });

  test('who has left gets nothing, at once', async () => {
    const chats = create();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'], body: 'x' });
    expect(await chats.leave(chatId, 'ben')).toBe(true);
    expect(await chats.pull('ben')).toEqual([]);
    expect(await chats.chatsOf('ben')).toEqual([]);
    expect(bodiesOf(await chats.pull('anna'))).toEqual([]);
  });

  test('D11: a pull that acks while its member leaves brings nobody back, and what is left is trimmed', async () => {
    const prefix = freshPrefix();
    const chats = create({ prefix });
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    for (let round = 0; round < 30; round += 1) {
      await chats.join(chatId, 'ben');
      await chats.post(chatId, 'anna', round);
      await Promise.all([chats.pull('ben', { autoAck: true }), chats.leave(chatId, 'ben')]);
      const { members } = await chats.members(chatId);
      expect(members.map(({ member }) => member)).toEqual(['anna']);
      expect(await redis.llen(`${prefix}:messaging:{${chatId}}:log`)).toBe(0);
    }
  });

  test('D12: a chat that died while somebody joined it can’t be joined; a new one of its name begins anew', async () => {
    const chats = create();
    for (let round = 0; round < 20; round += 1) {
      const { chatId } = await chats.create({ sender: 'anna', members: [], body: 'old' });
      const [joined] = await Promise.allSettled([chats.join(chatId, 'ben'), chats.leave(chatId, 'anna')]);
      const isDead = joined.status === 'rejected';
      expect(isDead && (joined.reason as { code: string }).code).toBe(isDead && 'ERR_UNKNOWN_CHAT');
      expect(await chats.chatsOf('ben')).toHaveLength(isDead ? 0 : 1);
      if (isDead) await chats.create({ sender: 'anna', members: ['ben'], chatId });
      else await chats.join(chatId, 'anna');
      await postMany(chats, chatId, 'anna', 4);
      const [chat] = await chats.pull('ben');
      expect(chat?.messages.map(({ body }) => body)).toEqual(['m1', 'm2', 'm3', 'm4']);
      await chats.leave(chatId, 'ben');
    }
  });

  test('D12: a pull that acks does not ack in a chat of the same name that was created meanwhile', async () => {
    const prefix = freshPrefix();
    const chats = new Chats(redis, { prefix });
    const found = async (): Promise<void> => {
      await chats.create({ chatId: 'c', sender: 'anna', members: ['ben'], body: 1 });
      await chats.post('c', 'anna', 2);
    };
    await found();
    await chats.ack('ben', 'c', 1);
    let acks = 0;
    const between = stepwise(redis, async (step, send) => {
      // The index, the heads, the entries, the ack.
      if (step === 4) {
        acks += 1;
        for (const member of ['anna', 'ben']) await chats.leave('c', member);
        await found();
      }
      return send();
    });
    const pulled = await new Chats(between, { prefix }).pull('ben', { autoAck: true });
    expect(pulled).toMatchObject([{ chatId: 'c', messages: [{ id: 2 }] }]);
    expect(acks).toBe(1);
    expect(await chats.pull('ben')).toMatchObject([{ ackedId: 0, messages: [{ id: 1 }, { id: 2 }] }]);
  });

  test('D23: two pulls of a member that ack at once never move a cursor back', async () => {
    const chats = create();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    let highest = 0;
    for (let round = 0; round < 20; round += 1) {
      await postMany(chats, chatId, 'anna', 5);
      const pulls = [1, 3, 100].map((limit) => chats.pull('ben', { limit, autoAck: true }));
      const cursors = async (): Promise<void> => {
        const { members } = await chats.members(chatId);
        const ben = members.find(({ member }) => member === 'ben')!;
        expect(ben.ackedId).toBeGreaterThanOrEqual(highest);
        highest = ben.ackedId;
      };
      await Promise.all([...pulls, cursors(), cursors()]);
      await cursors();
    }
    await chats.pull('ben', { autoAck: true });
    expect(await chats.pull('ben')).toEqual([]);
    expect(await chats.ack('ben', chatId, 1)).toBe(100);
  });
});

describe('pull with autoAck', () => {
  test('acks what it returned, and no more', async () => {
    const chats = create();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    await postMany(chats, chatId, 'anna', 5);
    const pulled = await chats.pull('ben', { limit: 2, autoAck: true });
    expect(bodiesOf(pulled)).toEqual([['m1', 'm2']]);
    expect(pulled[0]).toMatchObject({ ackedId: 0, unread: 5 });
    expect(bodiesOf(await chats.pull('ben', { autoAck: true }))).toEqual([['m3', 'm4', 'm5']]);
    expect(await chats.pull('ben', { autoAck: true })).toEqual([]);
  });

  test('acks a gap', async () => {
    const chats = create({ maxMessages: 2 });
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    await postMany(chats, chatId, 'anna', 5);
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
    await expect(create().pull('ben', options)).rejects.toThrow(new RangeError(message));
  });

  test('no name is refused', async () => {
    await expect(create().pull('')).rejects.toThrow(RangeError);
    await expect(create().pull(undefined as unknown as string)).rejects.toThrow(TypeError);
    await expect(create().pull('x'.repeat(1_025))).rejects.toThrow(RangeError);
  });

  test.each([
    '}x',
    '{}',
    '%',
    '%7D',
    '\n',
    '\0',
    '\0l',
    '\0e',
    '😀',
    '\ud83d',
    ':',
    '__proto__',
    'E',
    '1:X2:',
  ])('a chat, a member and a sender may be called %p', async (name) => {
    const chats = create();
    const chatId = `${name}${randomUUID()}`;
    await chats.create({ sender: name, members: ['ben'], chatId, body: name });
    await chats.create({ sender: 'ben', members: [name], chatId: name, body: 'for you' });
    expect(await chats.pull('ben')).toMatchObject([{ chatId, messages: [{ from: name, body: name }] }]);
    expect(await chats.pull(name)).toMatchObject([{ chatId: name, messages: [{ body: 'for you' }] }]);
    await chats.mute(name, name);
    expect(await chats.pull(name)).toEqual([]);
    expect(await chats.pull(name, { includeMuted: true })).toMatchObject([{ chatId: name, isMuted: true }]);
  });
});

import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { ChatsOptions } from '@mortise/messaging';
import { connect, freshPrefix, transcript, until } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';

const redis = connect();

function create(options: ChatsOptions = {}) {
  const prefix = freshPrefix();
  const chats = new Chats(redis, { prefix, ...options });
  const index = `${prefix}:messaging:{ben}:chats`;
  const joinedAt = async (chatId: string): Promise<number> => Number(await redis.zscore(index, chatId));
  return {
    prefix,
    chats,
    index,
    joinedAt,
    /** Makes an entry older than what is about to be finished. */
    age: (chatId: string) => redis.zadd(index, 'XX', Date.now() - 61_000, chatId),
  };
}

describe('the index of a member', () => {
  test('has the chats in the order of joining, each with the server’s instant', async () => {
    const { chats, index, joinedAt } = create();
    const before = Date.now() - 1_000;
    await chats.create({ sender: 'ben', members: [], chatId: 'first' });
    await chats.create({ sender: 'anna', members: ['ben'], chatId: 'second' });
    expect(await redis.zrange(index, '0', '-1')).toEqual(['first', 'second']);
    expect(await joinedAt('first')).toBeGreaterThan(before);
    expect(await joinedAt('second')).toBeGreaterThan((await joinedAt('first')) - 1);
  });

  test('refreshes an entry to a later instant each time, also when the clock has run back', async () => {
    const { chats, index, joinedAt } = create();
    await chats.create({ sender: 'anna', members: ['ben'], chatId: 'c' });
    const ahead = Date.now() + 100_000;
    await redis.zadd(index, ahead, 'c');
    await chats.join('c', 'ben');
    expect(await joinedAt('c')).toBe(ahead + 1);
    await chats.join('c', 'ben');
    expect(await joinedAt('c')).toBe(ahead + 2);
  });

  test('keeps what dangles for a minute, then whoever reads it cleans it, mute and all', async () => {
    const { prefix, chats, index, age } = create();
    const mutes = `${prefix}:messaging:{ben}:mutes`;
    for (const chatId of ['gone', 'left', 'kept']) {
      await chats.create({ sender: 'anna', members: ['ben'], chatId, body: 'x' });
      await chats.mute('ben', chatId);
    }
    await chats.leave('left', 'ben');
    await Promise.all([chats.leave('gone', 'ben'), chats.leave('gone', 'anna')]);
    expect((await chats.chatsOf('ben')).map(({ chatId }) => chatId)).toEqual(['kept']);
    expect(await redis.zcard(index)).toBe(3);
    for (const chatId of ['gone', 'left', 'kept']) await age(chatId);
    expect((await chats.pull('ben', { includeMuted: true })).map(({ chatId }) => chatId)).toEqual(['kept']);
    await until('the cleaning', async () => (await redis.zcard(index)) === 1);
    expect(await redis.zrange(index, '0', '-1')).toEqual(['kept']);
    expect(await redis.hkeys(mutes)).toEqual(['kept']);
  });

  test('keeps an entry that is refreshed while somebody cleans it away: no membership is lost', async () => {
    const { chats, index, age } = create();
    await chats.create({ sender: 'anna', members: [], chatId: 'c' });
    for (let round = 0; round < 60; round += 1) {
      await redis.zadd(index, 1, 'c');
      await age('c');
      await Promise.all([
        chats.pull('ben'),
        chats.chatsOf('ben'),
        chats.join('c', 'ben'),
        chats.pull('ben'),
        chats.chatsOf('ben'),
      ]);
      await chats.post('c', 'anna', round);
      expect((await chats.pull('ben')).map(({ messages }) => messages.map(({ body }) => body))).toEqual([
        [round],
      ]);
      await chats.leave('c', 'ben');
    }
  });

  test('D24: no command names keys of two slots, and cleaning takes three more', async () => {
    const { prefix, chats, index, age } = create();
    for (const chatId of ['a', 'b', 'c'])
      await chats.create({ sender: 'anna', members: ['ben'], chatId, body: 'x' });
    await chats.leave('a', 'ben');
    const pull = (): Promise<unknown> => chats.pull('ben');
    await pull();
    await chats.ack('ben', 'c', 1);
    expect(await transcript(redis, { prefix, scripts }, pull)).toEqual([
      'zrange messaging:{ben}:chats',
      'hgetall messaging:{ben}:mutes',
      'time',
      'zmscore messaging:{a}:chat',
      'zmscore messaging:{b}:chat',
      'zmscore messaging:{c}:chat',
      'lrange messaging:{b}:log',
      'get messaging:{b}:ended',
      'zmscore messaging:{ben}:chats',
    ]);
    await age('a');
    const cleaned = async (): Promise<void> => {
      await pull();
      await until('the cleaning', async () => (await redis.zcard(index)) === 2);
    };
    const lines = await transcript(redis, { prefix, scripts }, cleaned);
    expect(lines.slice(8).filter((line) => !line.startsWith('zcard'))).toEqual([
      'zmscore messaging:{ben}:chats',
      'zscore messaging:{a}:chat',
      'evalsha member.forget messaging:{ben}:chats messaging:{ben}:mutes',
      '  time',
      '  zscore messaging:{ben}:chats',
      '  zrem messaging:{ben}:chats',
      '  hdel messaging:{ben}:mutes',
    ]);
  });
});

describe('maxChats', () => {
  test('bounds the chats of a member; who has too many comes into no further one', async () => {
    const { chats, index } = create({ maxChats: 2 });
    await chats.create({ sender: 'ben', members: [], chatId: 'a' });
    await chats.create({ sender: 'ben', members: [], chatId: 'b' });
    const refusal = { code: 'ERR_TOO_MANY_CHATS', member: 'ben', maxChats: 2 };
    await expect(chats.create({ sender: 'anna', members: ['ben'], chatId: 'c' })).rejects.toMatchObject(
      refusal,
    );
    await chats.create({ sender: 'anna', members: [], chatId: 'd' });
    await expect(chats.join('d', 'ben')).rejects.toMatchObject(refusal);
    expect(await redis.zcard(index)).toBe(2);
    await expect(chats.history('c')).rejects.toMatchObject({ code: 'ERR_UNKNOWN_CHAT' });
    // A chat that the member is in already needs no place.
    expect(await chats.join('a', 'ben')).toMatchObject({ isNew: false });
  });

  test('what dangles and is old is cleaned away for others', async () => {
    const { chats, index, age } = create({ maxChats: 2 });
    for (const chatId of ['a', 'b']) {
      await chats.create({ sender: 'ben', members: [], chatId });
      await chats.leave(chatId, 'ben');
    }
    await age('a');
    await chats.create({ sender: 'ben', members: [], chatId: 'c' });
    expect(await redis.zrange(index, '0', '-1')).toEqual(['b', 'c']);
  });

  test('what was left a moment ago, or named by a create that found the chat there, takes no place', async () => {
    const { chats, index } = create({ maxChats: 2 });
    for (const chatId of ['a', 'b', 'c', 'd'])
      await chats.create({ sender: `${chatId}'s`, members: [], chatId });
    for (const chatId of ['a', 'b']) {
      await chats.join(chatId, 'ben');
      await chats.leave(chatId, 'ben');
    }
    expect(await chats.create({ sender: "c's", members: ['ben'], chatId: 'c' })).toMatchObject({
      isNew: false,
    });
    for (const chatId of ['c', 'd']) expect(await chats.join(chatId, 'ben')).toMatchObject({ isNew: true });
    await expect(chats.join('a', 'ben')).rejects.toMatchObject({ code: 'ERR_TOO_MANY_CHATS' });
    // A chat that the member is in already needs no place.
    for (const chatId of ['c', 'd']) expect(await chats.join(chatId, 'ben')).toMatchObject({ isNew: false });
    expect((await chats.chatsOf('ben')).map(({ chatId }) => chatId)).toEqual(['c', 'd']);
    expect(await redis.zcard(index)).toBe(4);
    await chats.leave('c', 'ben');
    expect(await chats.join('a', 'ben')).toMatchObject({ isNew: true });
  });

  test('who comes and goes may leave as many entries as there may be chats', async () => {
    const { chats, index } = create({ maxChats: 2 });
    const chatIds = ['a', 'b', 'c', 'd', 'e'];
    for (const chatId of chatIds) await chats.create({ sender: `${chatId}'s`, members: [], chatId });
    for (const chatId of chatIds.slice(0, 4)) {
      await chats.join(chatId, 'ben');
      await chats.leave(chatId, 'ben');
    }
    await expect(chats.join('e', 'ben')).rejects.toMatchObject({ code: 'ERR_TOO_MANY_CHATS' });
    expect(await redis.zcard(index)).toBe(4);
  });
});

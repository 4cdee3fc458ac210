import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { ChatsOptions } from '@mortise/messaging';
import { connect, freshPrefix, transcript, until } from '@mortise/test-kit';
import { MessagingKeys } from '../../src/keys.js';
import type { ChatKeys } from '../../src/keys.js';
import { enterIndexed } from '../../src/members/index-guard.js';
import * as scripts from '../../src/scripts.gen.js';
import { chatCreate, chatJoin } from '../../src/scripts.gen.js';
import { describeChat } from '../fixture/chat-state.js';
import { slowlyAfter } from '../fixture/stepwise-client.js';
import { expectRefusal } from '../fixture/outcomes.js';

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

  /** As a crash between the two steps of a join leaves it. */
  test('keeps entries of a crash for a minute; then a reader removes them, with their mutes', async () => {
    const { prefix, chats, index, age } = create();
    const mutes = `${prefix}:messaging:{ben}:mutes`;
    for (const chatId of ['gone', 'left', 'kept']) {
      await chats.create({ sender: 'anna', members: ['ben'], chatId, body: 'x' });
    }
    await chats.leave('left', 'ben');
    await Promise.all([chats.leave('gone', 'ben'), chats.leave('gone', 'anna')]);
    expect(await redis.zrange(index, '0', '-1')).toEqual(['kept']);
    for (const chatId of ['gone', 'left']) await redis.zadd(index, Date.now(), chatId);
    for (const chatId of ['gone', 'left', 'kept']) await redis.hset(mutes, chatId, '0');
    expect((await chats.chatsOf('ben')).map(({ chatId }) => chatId)).toEqual(['kept']);
    expect(await redis.zcard(index)).toBe(3);
    for (const chatId of ['gone', 'left', 'kept']) await age(chatId);
    expect((await chats.pull('ben', { includeMuted: true })).map(({ chatId }) => chatId)).toEqual(['kept']);
    await until('the cleaning', async () => (await redis.zcard(index)) === 1);
    expect(await redis.zrange(index, '0', '-1')).toEqual(['kept']);
    expect(await redis.hkeys(mutes)).toEqual(['kept']);
  });

  test('keeps an entry that is refreshed during its removal: no membership is lost', async () => {
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
    await redis.zadd(index, Date.now() - 1_000, 'a');
    const pull = (): Promise<unknown> => chats.pull('ben');
    await pull();
    await chats.ack('c', 'ben', 1);
    expect(await transcript(redis, { prefix, scripts }, pull)).toEqual([
      'zrange messaging:{ben}:chats',
      'hgetall messaging:{ben}:mutes',
      'time',
      'exists messaging:{c}:log',
      'zmscore messaging:{a}:chat',
      'zmscore messaging:{b}:chat',
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
  test('bounds the chats of a member; further ones are refused', async () => {
    const { chats, index } = create({ maxChats: 2 });
    await chats.create({ sender: 'ben', members: [], chatId: 'a' });
    await chats.create({ sender: 'ben', members: [], chatId: 'b' });
    const refused = { member: 'ben', maxChats: 2 };
    const third = chats.create({ sender: 'anna', members: ['ben'], chatId: 'c' });
    await expectRefusal(third, 'ERR_TOO_MANY_CHATS', refused);
    await chats.create({ sender: 'anna', members: [], chatId: 'd' });
    await expectRefusal(chats.join('d', 'ben'), 'ERR_TOO_MANY_CHATS', refused);
    expect(await redis.zcard(index)).toBe(2);
    await expectRefusal(chats.history('c'), 'ERR_UNKNOWN_CHAT');
    // A chat that the member is in already needs no place.
    expect(await chats.join('a', 'ben')).toMatchObject({ isNew: false });
  });

  test('old useless entries are removed for others', async () => {
    const { chats, index, age } = create({ maxChats: 2 });
    for (const chatId of ['a', 'b']) await redis.zadd(index, Date.now(), chatId);
    await age('a');
    await chats.create({ sender: 'ben', members: [], chatId: 'c' });
    expect(await redis.zrange(index, '0', '-1')).toEqual(['b', 'c']);
  });

  test('an entry without a membership takes no place, up to as many as there may be chats', async () => {
    const { chats, index } = create({ maxChats: 2 });
    for (const chatId of ['a', 'b', 'c', 'd', 'e'])
      await chats.create({ sender: `${chatId}'s`, members: [], chatId });
    for (const chatId of ['a', 'b']) await redis.zadd(index, Date.now(), chatId);
    for (const chatId of ['c', 'd']) expect(await chats.join(chatId, 'ben')).toMatchObject({ isNew: true });
    await expectRefusal(chats.join('a', 'ben'), 'ERR_TOO_MANY_CHATS');
    // A chat that the member is in already needs no place.
    for (const chatId of ['c', 'd']) expect(await chats.join(chatId, 'ben')).toMatchObject({ isNew: false });
    expect((await chats.chatsOf('ben')).map(({ chatId }) => chatId)).toEqual(['c', 'd']);
    expect(await redis.zcard(index)).toBe(4);
    await chats.leave('c', 'ben');
    expect(await chats.join('e', 'ben')).toMatchObject({ isNew: true });
  });

  test('a member who comes and goes is never refused', async () => {
    const { chats, index } = create({ maxChats: 2 });
    const chatIds = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const chatId of chatIds) {
      await chats.create({ sender: `${chatId}'s`, members: [], chatId });
      await chats.join(chatId, 'ben');
      await chats.leave(chatId, 'ben');
    }
    expect(await redis.exists(index)).toBe(0);
  });
});

describe('the last chat of a member', () => {
  test('goes with its index: guests who join, post and leave keep no key', async () => {
    const { prefix, chats } = create();
    await chats.create({ sender: 'anna', members: [], chatId: 'lobby' });
    const guests = Array.from({ length: 50 }, (_, index) => `guest-${index}`);
    await Promise.all(
      guests.map(async (guest) => {
        await chats.join('lobby', guest);
        await chats.post('lobby', guest, 'hello');
        await chats.mute('lobby', guest);
        expect(await chats.leave('lobby', guest)).toBe(true);
      }),
    );
    expect((await redis.keys(`${prefix}:messaging:{guest-*`)).toSorted()).toEqual([]);
    const left = `${prefix}:messaging:{lobby}:left`;
    expect(await redis.zcard(left)).toBe(50);
    expect(await redis.pttl(left)).toBeGreaterThan(0);
  });

  test('refused joins and creates leave no entry to non-members', async () => {
    const { prefix, chats, index } = create({ maxMembers: 2, maxChats: 2 });
    const given = { sender: 'anna', members: ['ben'] };
    await expectRefusal(chats.join('none', 'ben'), 'ERR_UNKNOWN_CHAT');
    await chats.create({ sender: 'anna', members: ['carl'], chatId: 'full' });
    await expectRefusal(chats.join('full', 'ben'), 'ERR_TOO_MANY_MEMBERS');
    expect(await chats.create({ ...given, chatId: 'full' })).toMatchObject({ isNew: false });
    await chats.create({ sender: 'anna', members: [], chatId: 'second' });
    await expectRefusal(chats.create({ ...given, chatId: 'third' }), 'ERR_TOO_MANY_CHATS');
    expect(await redis.exists(index)).toBe(0);
    expect(await redis.zrange(`${prefix}:messaging:{anna}:chats`, '0', '-1')).toEqual(['full', 'second']);
    expect(await redis.zrange(`${prefix}:messaging:{carl}:chats`, '0', '-1')).toEqual(['full']);
  });

  test('a join that a leave overtakes indexes again: no membership is without an entry', async () => {
    const { prefix, chats, index, joinedAt } = create();
    await chats.create({ sender: 'anna', members: [], chatId: 'c' });
    const { slow, release } = slowlyAfter(redis, 1);
    const joining = new Chats(slow, { prefix }).join('c', 'ben');
    await until('the index', async () => (await redis.zcard(index)) === 1);
    // An instant that the clock of the server reaches later.
    const ahead = (await joinedAt('c')) + 5_000;
    await redis.zadd(index, ahead, 'c');
    expect(await chats.leave('c', 'ben')).toBe(false);
    expect(await redis.exists(index)).toBe(0);
    release();
    expect(await joining).toMatchObject({ isNew: true });
    expect(await joinedAt('c')).toBe(ahead + 1);
    expect((await chats.chatsOf('ben')).map(({ chatId }) => chatId)).toEqual(['c']);
  });

  test('a create that a leave overtakes indexes again', async () => {
    const { prefix, chats, index } = create();
    const { slow, release } = slowlyAfter(redis, 2);
    const creating = new Chats(slow, { prefix }).create({ sender: 'anna', members: ['ben'], chatId: 'c' });
    await until('the index', async () => (await redis.zcard(index)) === 1);
    expect(await chats.leave('c', 'ben')).toBe(false);
    expect(await redis.exists(index)).toBe(0);
    release();
    expect(await creating).toMatchObject({ isNew: true });
    expect((await chats.chatsOf('ben')).map(({ chatId }) => chatId)).toEqual(['c']);
  });
});

describe('the second step of joining and creating', () => {
  /** The script of a create whose index entries are of this instant. */
  const createAt = (keys: ChatKeys, instant: number): Promise<unknown> =>
    chatCreate.run(redis, keys, {
      publish: 'PUBLISH',
      keepMs: 1_000,
      dedupMs: 1_000,
      keepAcked: 0,
      notAfter: instant,
      notBefore: instant,
      indexedFrom: instant,
      messageKey: '',
      body: '1',
      sender: 'anna',
      others: ['bob'],
    });

  test('is given half a minute from the first, and the first is done again when it came too late', async () => {
    const log: string[] = [];
    const now = [1_000, 2_000];
    const result = await enterIndexed(
      (notBefore) => {
        log.push(`index from ${notBefore}`);
        return Promise.resolve([
          { joinedAt: 5, now: now.shift()!, isMuted: false },
          { joinedAt: 6, now: 9_000, isMuted: false },
        ]);
      },
      (indexed, notAfter) => {
        log.push(`enter by ${notAfter}`);
        expect(indexed).toHaveLength(2);
        return Promise.resolve(log.length < 3 ? { tooLateAt: 500_000, leftAt: 7 } : { result: 'in' });
      },
    );
    expect(result).toBe('in');
    // By the clock of the chat's server the second time, whatever that of the members' servers shows.
    expect(log).toEqual(['index from 0', 'enter by 31000', 'index from 8', 'enter by 530000']);
  });

  test('fails if the script never arrives in time', async () => {
    let tries = 0;
    const entering = enterIndexed(
      () => Promise.resolve([{ joinedAt: 1, now: 1, isMuted: false }]),
      () => {
        tries += 1;
        return Promise.resolve({ tooLateAt: 1, leftAt: 0 });
      },
    );
    await expect(entering).rejects.toThrow('30 s');
    expect(tries).toBe(5);
  });

  test('changes nothing when it is late, and returns the time of the server', async () => {
    const { prefix, chats } = create();
    await chats.create({ chatId: 'guild', sender: 'anna', members: ['bob'] });
    const keys = new MessagingKeys(prefix);
    const before = await describeChat(redis, prefix, 'guild');
    const late = Date.now() - 60_000;
    const joined = (await chatJoin.run(redis, keys.chat('guild'), {
      publish: 'PUBLISH',
      maxMembers: 10,
      keepMs: 60_000,
      joins: ['carl', 0, late, late, 'bob', 0, late, late],
    })) as number[];
    // A member of the chat is never late.
    expect(joined).toEqual([expect.any(Number), -2, 0, 0, 0]);
    expect(joined[0]).toBeGreaterThan(late);
    expect(await describeChat(redis, prefix, 'guild')).toEqual(before);
    const created = await createAt(keys.chat('other'), late);
    expect(created).toEqual([-1, 0, expect.any(Number)]);
    expect((await describeChat(redis, prefix, 'other')).exists).toBe(false);
  });

  test('gives a chat an epoch above any earlier one, also if the clock of its server is behind', async () => {
    const { prefix, chats } = create();
    const keys = new MessagingKeys(prefix);
    const notBefore = Date.now() + 600_000;
    const created = await createAt(keys.chat('guild'), notBefore);
    expect(created).toEqual([1, 1, expect.any(Number)]);
    await chats.post('guild', 'bob', 2);
    expect(await describeChat(redis, prefix, 'guild')).toMatchObject({
      epoch: notBefore,
      instants: [0, 0],
      lastId: 2,
    });
    const entries = await redis.lrange(keys.chat('guild').log, 0, -1);
    expect(entries.map((entry) => entry.slice(0, 4))).toEqual(['1:0:', '2:0:']);
  });
});

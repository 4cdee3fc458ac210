import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { ChatsOptions } from '@mortise/messaging';
import type { CommandArgument } from '@mortise/redis';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { slowlyAfter } from '../fixture/stepwise-client.js';

const redis = connect();

function create(options: ChatsOptions = {}): Chats {
  return new Chats(redis, { prefix: freshPrefix(), ...options });
}

async function unreadOf(chats: Chats, member: string): Promise<number[]> {
  return (await chats.chatsOf(member)).map(({ unread }) => unread);
}

describe('chatsOf', () => {
  test('lists all chats of a member, in the order in which they were joined', async () => {
    const chats = create();
    const { chatId: first } = await chats.create({ sender: 'anna', members: ['ben'] });
    const { chatId: second } = await chats.create({ sender: 'anna', members: ['cleo'], body: 'hi' });
    await chats.join(second, 'ben');
    await chats.post(second, 'anna', 'two');
    expect(await chats.chatsOf('ben')).toEqual([
      {
        chatId: first,
        unread: 0,
        lastId: 0,
        ackedId: 0,
        lastAt: expect.any(Number),
        isMuted: false,
        epoch: expect.any(Number),
      },
      {
        chatId: second,
        unread: 1,
        lastId: 2,
        ackedId: 1,
        lastAt: expect.any(Number),
        isMuted: false,
        epoch: expect.any(Number),
      },
    ]);
    expect(await chats.chatsOf('nobody')).toEqual([]);
  });

  test('lastAt is when the last entry came; before there is one, when the chat was created', async () => {
    const chats = create();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    const [empty] = await chats.chatsOf('ben');
    expect(empty!.lastAt).toBe(empty!.epoch);
    await chats.post(chatId, 'anna', 'x');
    const [pulled] = await chats.pull('ben');
    expect((await chats.chatsOf('ben'))[0]!.lastAt).toBe(pulled!.messages[0]!.sentAt);
  });

  test('unread counts the messages of `pull`: no edits, deletions, deleted or dropped messages', async () => {
    const chats = create({ maxMessages: 8 });
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben', 'cleo'] });
    const same = async (member: string): Promise<number> => {
      const [pulled] = await chats.pull(member, { limit: 1_000 });
      const messages = pulled?.messages.filter(({ kind }) => kind === 'message') ?? [];
      expect(await unreadOf(chats, member)).toEqual([messages.length]);
      expect(pulled?.unread ?? 0).toBe(messages.length);
      return messages.length;
    };
    for (let index = 0; index < 6; index += 1) await chats.post(chatId, 'anna', index);
    expect(await same('ben')).toBe(6);
    await chats.delete(chatId, 'anna', 2);
    expect(await same('ben')).toBe(5);
    await chats.edit(chatId, 'anna', 3, 'better');
    expect(await same('ben')).toBe(5);
    await chats.ack(chatId, 'cleo', 4);
    expect(await same('cleo')).toBe(2);
    // From here on, the chat drops its oldest entries.
    await chats.post(chatId, 'anna', 'x');
    expect(await same('ben')).toBe(5);
    await chats.delete(chatId, 'anna', 9);
    expect(await same('ben')).toBe(4);
    expect(await same('cleo')).toBe(2);
    for (let index = 0; index < 8; index += 1) await chats.post(chatId, 'anna', index);
    expect(await same('ben')).toBe(8);
    expect(await same('cleo')).toBe(8);
    await chats.ack(chatId, 'ben', 18);
    expect(await same('ben')).toBe(0);
  });

  test('leaves muted chats out when it is asked to', async () => {
    const chats = create();
    const { chatId: first } = await chats.create({ sender: 'anna', members: ['ben'] });
    const { chatId: second } = await chats.create({ sender: 'anna', members: ['ben'] });
    await chats.mute(first, 'ben');
    const look = async (includeMuted: boolean): Promise<[string, boolean][]> =>
      (await chats.chatsOf('ben', { includeMuted })).map(({ chatId, isMuted }) => [chatId, isMuted]);
    expect(await look(true)).toEqual([
      [first, true],
      [second, false],
    ]);
    expect(await look(false)).toEqual([[second, false]]);
  });
});

describe('mute', () => {
  test('hides a chat from pull, and from nobody else’s, until unmute', async () => {
    const chats = create();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben', 'cleo'], body: 'x' });
    await chats.mute(chatId, 'ben');
    expect(await chats.pull('ben')).toEqual([]);
    expect(await chats.pull('ben', { includeMuted: true })).toMatchObject([
      { chatId, unread: 1, isMuted: true },
    ]);
    expect(await chats.pull('cleo')).toMatchObject([{ chatId, isMuted: false }]);
    await chats.unmute(chatId, 'ben');
    expect(await chats.pull('ben')).toMatchObject([{ chatId, isMuted: false }]);
    await chats.unmute(chatId, 'ben');
  });

  test('ends at its instant, on the server’s clock; reading cleans it away', async () => {
    const prefix = freshPrefix();
    const chats = create({ prefix });
    const mutes = `${prefix}:messaging:{ben}:mutes`;
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'], body: 'x' });
    await chats.mute(chatId, 'ben', { untilMs: Date.now() + 3_600_000 });
    expect(await chats.pull('ben')).toEqual([]);
    expect((await chats.chatsOf('ben'))[0]?.isMuted).toBe(true);
    expect(await redis.hlen(mutes)).toBe(1);
    await chats.mute(chatId, 'ben', { untilMs: 1 });
    expect(await chats.pull('ben')).toMatchObject([{ chatId, isMuted: false }]);
    await until('the cleaning', async () => (await redis.exists(mutes)) === 0);
  });

  test('ends with the membership, and is not there in a later one or in a new chat of the name', async () => {
    const chats = create();
    await chats.create({ chatId: 'g', sender: 'anna', members: ['ben'] });
    await chats.mute('g', 'ben');
    await chats.leave('g', 'ben');
    await chats.join('g', 'ben');
    await chats.post('g', 'anna', 'x');
    expect(await chats.pull('ben')).toMatchObject([{ chatId: 'g', unread: 1, isMuted: false }]);
    await chats.mute('g', 'ben');
    // A member who joins again, or is named again, was there all the time.
    await chats.join('g', 'ben');
    await chats.create({ chatId: 'g', sender: 'anna', members: ['ben'] });
    expect(await chats.pull('ben')).toEqual([]);
    await chats.leave('g', 'ben');
    await chats.leave('g', 'anna');
    await chats.create({ chatId: 'g', sender: 'anna', members: ['ben'], body: 'y' });
    expect(await chats.pull('ben')).toMatchObject([{ chatId: 'g', unread: 1, isMuted: false }]);
  });

  test('is refused for an index entry without a membership, and changes nothing', async () => {
    const prefix = freshPrefix();
    const chats = create({ prefix });
    await chats.create({ chatId: 'g', sender: 'anna', members: ['ben'] });
    await chats.leave('g', 'ben');
    await chats.create({ chatId: 'g', sender: 'anna', members: ['eve'] });
    for (const member of ['ben', 'eve']) {
      await expect(chats.mute('g', member)).rejects.toMatchObject({ code: 'ERR_NOT_A_MEMBER' });
      expect(await redis.exists(`${prefix}:messaging:{${member}}:mutes`)).toBe(0);
    }
  });

  test('of a member who leaves meanwhile is undone', async () => {
    const prefix = freshPrefix();
    const chats = create({ prefix });
    await chats.create({ chatId: 'g', sender: 'anna', members: ['ben'] });
    const leaving = new Proxy(redis, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (name !== 'call') return typeof value === 'function' ? value.bind(target) : value;
        return async (command: string, args: CommandArgument[]): Promise<unknown> => {
          const reply = await target.call(command, args);
          // Behind the first question.
          if (command === 'zscore') await chats.leave('g', 'ben');
          return reply;
        };
      },
    });
    await expect(new Chats(leaving, { prefix }).mute('g', 'ben')).rejects.toMatchObject({
      code: 'ERR_NOT_A_MEMBER',
    });
    expect(await redis.exists(`${prefix}:messaging:{ben}:mutes`)).toBe(0);
  });

  test.each(['join', 'create'])(
    'that is set while the member leaves ends when a %s adds them again',
    async (back) => {
      const prefix = freshPrefix();
      const chats = create({ prefix });
      const others = back === 'join' ? ['ben'] : [];
      await chats.create({ chatId: 'g', sender: back === 'join' ? 'anna' : 'ben', members: others });
      // The first step of leaving ends the mute, and there is none yet.
      const { slow, release } = slowlyAfter(redis, 1);
      const leaving = new Chats(slow, { prefix }).leave('g', 'ben');
      await chats.mute('g', 'ben');
      release();
      expect(await leaving).toBe(true);
      if (back === 'join') await chats.join('g', 'ben');
      else await chats.create({ chatId: 'g', sender: 'anna', members: ['ben'] });
      await chats.post('g', 'anna', 'welcome back');
      expect(await chats.pull('ben')).toMatchObject([{ chatId: 'g', unread: 1, isMuted: false }]);
      expect(await redis.exists(`${prefix}:messaging:{ben}:mutes`)).toBe(0);
    },
  );

  test('only a chat of the member can be muted, so that mutes are as few as chats', async () => {
    const chats = create();
    const { chatId } = await chats.create({ sender: 'anna', members: [] });
    await expect(chats.mute(chatId, 'ben')).rejects.toMatchObject({ code: 'ERR_NOT_A_MEMBER' });
    await expect(chats.mute('no chat', 'ben')).rejects.toMatchObject({ code: 'ERR_NOT_A_MEMBER' });
    await chats.unmute('no chat', 'ben');
  });

  test.each([0, -1, 1.5, Number.NaN, Infinity])('untilMs %p is refused', async (untilMs) => {
    await expect(create().mute('x', 'ben', { untilMs })).rejects.toThrow(RangeError);
  });
});

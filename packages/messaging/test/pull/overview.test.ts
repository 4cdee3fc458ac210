import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { until } from '@mortise/test-kit';
import { keyOf, open, prefix, redis } from '../fixture/guild.js';
import { slowlyAfter, stepwise } from '../fixture/stepwise-client.js';
import { expectRefusal, outcomesOf } from '../fixture/outcomes.js';

async function unreadOf(chats: Chats, member: string): Promise<number[]> {
  return (await chats.chatsOf(member)).map(({ unread }) => unread);
}

describe('chatsOf', () => {
  test('lists all chats of a member, in the order in which they were joined', async () => {
    const chats = open();
    const { chatId: first } = await chats.create({ sender: 'anna', members: ['ben'] });
    const { chatId: second } = await chats.create({ sender: 'anna', members: ['cleo'], body: 'hi' });
    await chats.join(second, 'ben');
    await chats.post(second, 'anna', 'two');
    const instants = { lastAt: expect.any(Number), epoch: expect.any(Number) };
    expect(await chats.chatsOf('ben')).toEqual([
      { chatId: first, unread: 0, lastId: 0, ackedId: 0, isMuted: false, ...instants },
      { chatId: second, unread: 1, lastId: 2, ackedId: 1, isMuted: false, ...instants },
    ]);
    expect(await chats.chatsOf('nobody')).toEqual([]);
  });

  test('lastAt is when the last entry came; before there is one, when the chat was created', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    const [empty] = await chats.chatsOf('ben');
    expect(empty!.lastAt).toBe(empty!.epoch);
    await chats.post(chatId, 'anna', 'x');
    const [pulled] = await chats.pull('ben');
    expect((await chats.chatsOf('ben'))[0]!.lastAt).toBe(pulled!.messages[0]!.sentAt);
  });

  test('unread counts the messages of `pull`: no edits, deletions, deleted or dropped messages', async () => {
    const chats = open({ maxMessages: 8 });
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
    const chats = open();
    // Of two joins within a ms, the lower id comes first.
    const [first, second] = ['a', 'b'] as const;
    for (const chatId of [first, second]) await chats.create({ chatId, sender: 'anna', members: ['ben'] });
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
    const chats = open();
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
    const chats = open();
    const mutes = keyOf('mutes', 'ben');
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
    const chats = open();
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
    const chats = open();
    await chats.create({ chatId: 'g', sender: 'anna', members: ['ben'] });
    await chats.leave('g', 'ben');
    await chats.create({ chatId: 'g', sender: 'anna', members: ['eve'] });
    for (const member of ['ben', 'eve']) {
      await expectRefusal(chats.mute('g', member), 'ERR_NOT_A_MEMBER');
      expect(await redis.exists(keyOf('mutes', member))).toBe(0);
    }
  });

  test('of a member who leaves meanwhile is undone', async () => {
    const chats = open();
    await chats.create({ chatId: 'g', sender: 'anna', members: ['ben'] });
    const leaving = stepwise(redis, async (_, send, [command]) => {
      const reply = await send();
      // Behind the first question.
      if (command === 'zscore') await chats.leave('g', 'ben');
      return reply;
    });
    await expectRefusal(new Chats(leaving, { prefix }).mute('g', 'ben'), 'ERR_NOT_A_MEMBER');
    expect(await redis.exists(keyOf('mutes', 'ben'))).toBe(0);
  });

  test.each(['join', 'create'])(
    'that is set while the member leaves ends when a %s adds them again',
    async (back) => {
      const chats = open();
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
      expect(await redis.exists(keyOf('mutes', 'ben'))).toBe(0);
    },
  );

  test('only a chat of the member can be muted, so that mutes are as few as chats', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: [] });
    const mutes = [chatId, 'no chat'].map((each) => chats.mute(each, 'ben'));
    expect(await outcomesOf(mutes)).toEqual(['ERR_NOT_A_MEMBER', 'ERR_NOT_A_MEMBER']);
    await chats.unmute('no chat', 'ben');
  });

  test.each([0, -1, 1.5, Number.NaN, Infinity])('untilMs %p is refused', async (untilMs) => {
    await expect(open().mute('x', 'ben', { untilMs })).rejects.toThrow(RangeError);
  });
});

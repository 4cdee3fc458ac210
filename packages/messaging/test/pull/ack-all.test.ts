import { describe, expect, test } from '@jest/globals';
import type { Chats } from '@mortise/messaging';
import { open } from '../fixture/guild.js';
import { outcomesOf } from '../fixture/outcomes.js';

async function chatWith(chats: Chats, member: string, messages: number): Promise<string> {
  const { chatId } = await chats.create({ sender: 'anna', members: [member] });
  for (let index = 0; index < messages; index += 1) await chats.post(chatId, 'anna', index);
  return chatId;
}

describe('ackAll', () => {
  test('acks what was pulled in each chat, and nothing beyond it', async () => {
    const chats = open();
    const first = await chatWith(chats, 'ben', 3);
    const second = await chatWith(chats, 'ben', 1);
    const pulled = await chats.pull('ben', { limit: 2 });
    await chats.post(second, 'anna', 'later');
    await chats.ackAll('ben', pulled);
    expect(await chats.chatsOf('ben')).toMatchObject([
      { chatId: first, ackedId: 2, unread: 1 },
      { chatId: second, ackedId: 1, unread: 1 },
    ]);
    await chats.ackAll('ben', pulled);
    expect(await chats.unread('ben')).toBe(2);
    await chats.ackAll('ben', []);
    expect(await chats.unread('ben')).toBe(2);
  });

  test('acks a gap', async () => {
    const chats = open({ maxMessages: 2 });
    await chatWith(chats, 'ben', 5);
    const [chat] = await chats.pull('ben');
    expect(chat).toMatchObject({ gap: { fromId: 1, toId: 3 } });
    await chats.ackAll('ben', [{ ...chat!, messages: [] }]);
    const [rest] = await chats.pull('ben');
    expect(rest?.messages.map(({ id }) => id)).toEqual([4, 5]);
    expect(rest).not.toHaveProperty('gap');
  });

  test('skips chats that the member has left, and later chats of the same name', async () => {
    const chats = open();
    const left = await chatWith(chats, 'ben', 1);
    const ended = await chatWith(chats, 'ben', 2);
    const stays = await chatWith(chats, 'ben', 1);
    const pulled = await chats.pull('ben');
    expect(pulled).toHaveLength(3);
    await chats.leave(left, 'ben');
    for (const member of ['ben', 'anna']) await chats.leave(ended, member);
    await chats.create({ sender: 'anna', members: ['ben'], chatId: ended });
    for (const body of ['new', 'newer']) await chats.post(ended, 'anna', body);
    await chats.ackAll('ben', pulled);
    expect([await chats.unread('ben', ended), await chats.unread('ben', stays)]).toEqual([2, 0]);
  });
});

describe('unread', () => {
  test('is the number of a chat, or of all that are not muted', async () => {
    const chats = open();
    const first = await chatWith(chats, 'ben', 3);
    const muted = await chatWith(chats, 'ben', 2);
    await chats.mute(muted, 'ben');
    expect([await chats.unread('ben', first), await chats.unread('ben', muted)]).toEqual([3, 2]);
    expect(await chats.unread('ben')).toBe(3);
    await chats.ack(first, 'ben', 2);
    expect(await chats.unread('ben')).toBe(1);
    expect(await chats.unread('nobody')).toBe(0);
  });

  test('of a chat that is none of theirs is refused', async () => {
    const chats = open();
    const chatId = await chatWith(chats, 'ben', 1);
    const calls = [chats.unread('cleo', chatId), chats.unread('cleo', 'none')];
    expect(await outcomesOf(calls)).toEqual(['ERR_NOT_A_MEMBER', 'ERR_UNKNOWN_CHAT']);
  });
});

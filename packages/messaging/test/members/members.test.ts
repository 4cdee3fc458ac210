import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { ChatMember } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';
import { HOSTILE } from '../fixture/chat-state.js';

const redis = connect();

function create(): Chats {
  return new Chats(redis, { prefix: freshPrefix() });
}

async function pagesOf(chats: Chats, chatId: string, limit: number): Promise<ChatMember[][]> {
  const pages: ChatMember[][] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page = await chats.members(chatId, { cursor, limit });
    pages.push(page.members);
    cursor = page.cursor;
  }
  return pages;
}

describe('members', () => {
  test('returns the cursor and the role of each member', async () => {
    const chats = create();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben', 'cleo'], body: 'one' });
    await chats.post(chatId, 'anna', 'two');
    await chats.ack(chatId, 'ben', 1);
    await chats.join(chatId, 'dora', { role: 'reader' });
    await chats.setRole(chatId, 'cleo', 'owner');
    expect(await chats.members(chatId)).toEqual({
      members: [
        { member: 'anna', ackedId: 2, role: 'owner' },
        { member: 'ben', ackedId: 1, role: 'member' },
        { member: 'cleo', ackedId: 0, role: 'owner' },
        { member: 'dora', ackedId: 2, role: 'reader' },
      ],
      cursor: null,
    });
  });

  test('pages of a small chat are exact, and by name', async () => {
    const chats = create();
    const names = Array.from({ length: 23 }, (_, index) => `member ${String(index).padStart(2, '0')}`);
    const { chatId } = await chats.create({ sender: names[0]!, members: names });
    const pages = await pagesOf(chats, chatId, 5);
    expect(pages.map((page) => page.length)).toEqual([5, 5, 5, 5, 3]);
    expect(pages.flat().map(({ member }) => member)).toEqual(names);
  });

  test('pages of a large chat have every member who stays', async () => {
    const chats = create();
    const names = Array.from({ length: 900 }, (_, index) => `m${index}`);
    const { chatId } = await chats.create({ sender: 'm0', members: names, body: 'x' });
    const seen = new Set<string>();
    let turn = 0;
    for (let cursor: string | null = ''; cursor !== null; turn += 1) {
      const page = await chats.members(chatId, { cursor, limit: 50 });
      // Only the last page may have nobody: the scan before it had no way to know that nothing but empty places was left.
      expect(page.cursor === null || page.members.length > 0).toBe(true);
      expect(page.members.length).toBeLessThan(100);
      for (const { member } of page.members) seen.add(member);
      cursor = page.cursor;
      await Promise.all([chats.join(chatId, `late ${turn}`), chats.ack(chatId, `m${turn}`, 1)]);
    }
    expect(names.filter((name) => !seen.has(name))).toEqual([]);
    expect([...seen].filter((name) => !/^(m|late )\d+$/.test(name))).toEqual([]);
  });

  test('a chat that becomes large between two pages repeats members, and omits none', async () => {
    const chats = create();
    const names = Array.from({ length: 500 }, (_, index) => `m${index}`);
    const { chatId } = await chats.create({ sender: 'm0', members: names });
    const first = await chats.members(chatId, { limit: 100 });
    await Promise.all(names.slice(0, 50).map((name) => chats.join(chatId, `late ${name}`)));
    const seen = new Set(first.members.map(({ member }) => member));
    for (let { cursor } = first; cursor !== null;) {
      const page = await chats.members(chatId, { cursor, limit: 100 });
      for (const { member } of page.members) seen.add(member);
      cursor = page.cursor;
    }
    expect(names.filter((name) => !seen.has(name))).toEqual([]);
  });

  test('names come back as they were given', async () => {
    const chats = create();
    const names = [...HOSTILE, 's1', 'n'];
    const { chatId } = await chats.create({ sender: '}x', members: names });
    const seen = (await pagesOf(chats, chatId, 3)).flat().map(({ member }) => member);
    expect(seen.toSorted()).toEqual(names.toSorted());
  });

  test('of an unknown chat are refused', async () => {
    await expect(create().members('no chat')).rejects.toMatchObject({ code: 'ERR_UNKNOWN_CHAT' });
  });

  test.each(['x', 's', 's-1', 'sx', 's1 COUNT 5', 's99999999999999999999'])(
    'the cursor %p is refused',
    async (cursor) => {
      await expect(create().members('x', { cursor })).rejects.toThrow(RangeError);
    },
  );

  test.each([{ limit: 0 }, { limit: 1_001 }, { limit: Number.NaN }])('%p is refused', async (options) => {
    await expect(create().members('x', options)).rejects.toThrow(RangeError);
  });
});

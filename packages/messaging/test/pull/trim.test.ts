import { describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';
import { keys, look, open, openChat, read, upTo } from '../fixture/guild.js';

describe('trim', () => {
  test('drops the oldest messages, whoever has read them; the others get a gap', async () => {
    const chats = await openChat();
    for (const n of upTo(5)) await chats.post('guild', 'anna', n);
    await chats.delete('guild', 'anna', 4);
    await chats.ack('guild', 'bob', 2);
    expect(await chats.trim('guild', 3)).toEqual({ fromId: 1, toId: 3 });
    const { entries, bytes, storedBytes, cursors } = await look();
    expect(entries.map(({ id }) => id)).toEqual([4, 5, 6]);
    expect(bytes).toBe(storedBytes);
    expect(cursors).toEqual({ anna: 6, bob: 2, carl: 0 });
    const pulled = async (member: string) => (await chats.pull(member))[0]!;
    expect(await pulled('bob')).toMatchObject({ unread: 1, gap: { fromId: 3, toId: 3 } });
    expect(await pulled('carl')).toMatchObject({ unread: 1, gap: { fromId: 1, toId: 3 } });
    expect((await pulled('carl')).messages.map(({ id }) => id)).toEqual([5, 6]);
    // Repeating it, or less, does nothing.
    expect(await chats.trim('guild', 3)).toBeNull();
    expect(await chats.trim('guild', 0)).toBeNull();
  });

  test('of all leaves a chat that goes on', async () => {
    const chats = await openChat();
    for (const n of upTo(3)) await chats.post('guild', 'anna', n);
    await chats.delete('guild', 'anna', 2);
    expect(await chats.trim('guild', 4)).toEqual({ fromId: 1, toId: 4 });
    expect(await keys()).not.toContain('{guild}:log');
    expect(await keys()).not.toContain('{guild}:uncounted');
    expect(await chats.unread('bob', 'guild')).toBe(0);
    expect(await chats.post('guild', 'anna', 'more')).toEqual({ id: 5, isDuplicate: false });
    const [chat] = await chats.pull('bob');
    expect(chat).toMatchObject({ unread: 1, gap: { fromId: 1, toId: 4 }, messages: [{ id: 5 }] });
    await chats.ackAll('bob', [chat!]);
    expect(await chats.pull('bob')).toEqual([]);
  });

  test('shows a follower what it has missed', async () => {
    const chats = await openChat();
    for (const n of upTo(3)) await chats.post('guild', 'anna', n);
    await chats.trim('guild', 2);
    const reader = read(chats, 'bob');
    await until('the message', () => reader.ids('guild').includes(3));
    expect(reader.texts).toEqual(['guild gap 1-2', 'guild:3']);
  });

  test('refuses an unknown chat, an id above the newest and another epoch', async () => {
    const chats = await openChat();
    await chats.post('guild', 'anna', 1);
    const { epoch } = (await chats.chatsOf('bob'))[0]!;
    await expect(open().trim('none', 1)).rejects.toMatchObject({ code: 'ERR_UNKNOWN_CHAT' });
    await expect(chats.trim('guild', 2)).rejects.toMatchObject({ code: 'ERR_UNKNOWN_MESSAGE' });
    await expect(chats.trim('guild', 1, { epoch: epoch + 1 })).rejects.toMatchObject({
      code: 'ERR_UNKNOWN_MESSAGE',
    });
    expect(await chats.trim('guild', 1, { epoch })).toEqual({ fromId: 1, toId: 1 });
  });
});

/** `includeUnread`: events have the number of unread messages at the time at which they are handed out. */
import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { ChatEvent } from '@mortise/messaging';
import { commands, connect, gate, interposed } from '@mortise/test-kit';
import * as scripts from '../../src/scripts.gen.js';
import { textOf } from '../fixture/follow-reader.js';
import { keyOf, open, openChat, prefix, read, redis, upTo } from '../fixture/guild.js';

const unreadOf = (event: ChatEvent): unknown => ('unread' in event ? event.unread : undefined);
const texts = (events: readonly ChatEvent[]): string[] =>
  events.map((event) => `${textOf(event)} ${String(unreadOf(event))}`);

describe('includeUnread', () => {
  test('counts what pull would return: messages after the cursor, neither edits nor deleted messages', async () => {
    const chats = await openChat();
    const reader = read(chats, 'bob', { includeUnread: true }, async (event) => {
      if ('message' in event && event.message.id === 2) await chats.ack('guild', 'bob', 2);
    });
    for (const id of upTo(3)) {
      await chats.post('guild', 'anna', id);
      await reader.hasText(`guild:${id}`);
    }
    await chats.edit('guild', 'anna', 3, 'edited');
    await reader.hasText('guild:4 edit 3');
    await chats.delete('guild', 'anna', 3);
    await reader.hasText('guild:5 delete 3');
    await chats.join('guild', 'dora');
    await reader.hasText('guild joined dora');
    expect(texts(reader.events)).toEqual([
      'guild:1 1',
      'guild:2 2',
      'guild:3 1',
      'guild:4 edit 3 1',
      'guild:5 delete 3 0',
      'guild joined dora undefined',
    ]);
  });

  test('counts acks of other processes, and what a gap leaves', async () => {
    const chats = await openChat({ maxMessages: 2 });
    for (const id of upTo(4)) await chats.post('guild', 'anna', id);
    const events = chats.follow('bob', { includeUnread: true });
    const first = await events.next();
    await new Chats(connect(), { prefix }).ack('guild', 'bob', 3);
    const second = await events.next();
    await events.return?.();
    expect(texts([first.value!, second.value!])).toEqual(['guild gap 1-2 2', 'guild:3 1']);
  });

  test('is 0 for a member who has left since', async () => {
    const chats = await openChat();
    const events = chats.follow('bob', { includeUnread: true });
    await events.open();
    await chats.post('guild', 'anna', 1);
    await chats.leave('guild', 'bob');
    const [message, left] = [await events.next(), await events.next()];
    await events.return?.();
    expect(texts([message.value!, left.value!])).toEqual(['guild:1 0', 'guild left bob undefined']);
  });

  test('is absent without the option, and where it cannot be counted', async () => {
    const chats = await openChat();
    const plain = read(chats, 'bob');
    const counted = read(chats, 'bob', { includeUnread: true });
    await chats.post('guild', 'anna', 1);
    await counted.hasText('guild:1');
    await plain.hasText('guild:1');
    await redis.set(keyOf('uncounted'), 'no sorted set');
    await chats.post('guild', 'anna', 2);
    await counted.hasText('guild:2');
    expect([...plain.events, ...counted.events].map((event) => 'unread' in event)).toEqual([
      false,
      ...(plain.events.length > 1 ? [false] : []),
      true,
      false,
    ]);
  });

  test('a message to twenty followers costs the post and one read', async () => {
    const chats = await openChat();
    await chats.post('guild', 'anna', 1);
    const followers = Array.from({ length: 20 }, (_, index) =>
      read(chats, index % 2 ? 'bob' : 'carl', { includeUnread: true }),
    );
    for (const follower of followers) await follower.hasText('guild:1');
    const sent = await commands(redis, { prefix, scripts, show: 'outside' }, async () => {
      await chats.post('guild', 'anna', 2);
      for (const follower of followers) await follower.hasText('guild:2');
    });
    expect(sent).toBe('chat.post\nfollow.unread');
  });

  test.each([
    ['return()', 'return'],
    ['the signal', 'abort'],
  ] as const)('%s ends it while the count is under way', async (_, how) => {
    const chats = await openChat();
    await chats.post('guild', 'anna', 1);
    const asked = gate();
    const client = interposed(connect(), (_step, send, args) => {
      if (!args.includes(scripts.followUnread.sha1)) return send();
      asked.open();
      return new Promise(() => undefined);
    });
    const controller = new AbortController();
    const { signal } = controller;
    const events = new Chats(client, { prefix }).follow('bob', { includeUnread: true, signal });
    const next = events.next();
    await asked.passed;
    if (how === 'abort') controller.abort();
    else await events.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  test('another value than a boolean is refused', () => {
    expect(() => open().follow('bob', { includeUnread: 1 as unknown as boolean })).toThrow(/includeUnread/);
  });
});

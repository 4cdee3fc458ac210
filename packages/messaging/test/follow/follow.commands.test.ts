/** The cost of following: an added round trip shows here. */
import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { commands, connect, until } from '@mortise/test-kit';
import * as scripts from '../../src/scripts.gen.js';
import { openChat, prefix, read, redis } from '../fixture/guild.js';

async function openChats(): Promise<Chats> {
  const chats = await openChat();
  await chats.create({ chatId: 'other', sender: 'anna', members: ['bob', 'carl'] });
  return chats;
}

/** The commands of the package, without those inside scripts. */
const seenIn = (action: () => Promise<unknown>, edit?: (lines: readonly string[]) => readonly string[]) =>
  commands(redis, { prefix, scripts, show: 'outside', ...(edit && { edit }) }, action);

const linesOf = async (action: () => Promise<unknown>): Promise<readonly string[]> => {
  let all: readonly string[] = [];
  await seenIn(action, (lines) => (all = lines));
  return all;
};

describe('following', () => {
  test('begins with a subscription for the member and each chat, the index, each head, and the unread entries', async () => {
    // The first follower of a client sends a PING, too, and scripts that the server doesn't know.
    const before = await openChats();
    await before.post('guild', 'anna', 1);
    await read(before, 'bob').hasText('guild:1');
    const chats = await openChats();
    await chats.post('guild', 'anna', 1);
    await chats.post('other', 'anna', 1);
    expect(
      await seenIn(
        () => read(chats, 'bob').has(2),
        (lines) => lines.toSorted(),
      ),
    ).toMatchInlineSnapshot(`
"follow.index
follow.page ×2
subscribe events ×2
subscribe member-events
zmscore chat ×2"
`);
  });

  test('a second follower of the chats shares their subscriptions, and pages that are just read', async () => {
    const chats = await openChats();
    await chats.post('guild', 'anna', 1);
    await read(chats, 'bob').hasText('guild:1');
    expect(await seenIn(() => read(chats, 'carl').hasText('guild:1'))).toMatchInlineSnapshot(`
"subscribe member-events
follow.index
zmscore chat ×2"
`);
  });

  test('a message to twenty followers, pushed: nothing but the post', async () => {
    const chats = await openChats();
    await chats.post('guild', 'anna', 1);
    const followers = Array.from({ length: 20 }, (_, index) => read(chats, index % 2 ? 'bob' : 'carl'));
    for (const follower of followers) await follower.hasText('guild:1');
    const seen = await seenIn(async () => {
      await chats.post('guild', 'anna', 2);
      for (const follower of followers) await follower.hasText('guild:2');
    });
    expect(seen).toMatchInlineSnapshot(`"chat.post"`);
  });

  test('a follower that is not read fetches four pages for any number of chats', async () => {
    const chats = await openChats();
    const chatIds = Array.from({ length: 20 }, (_, index) => `chat-${index}`);
    for (const chatId of chatIds) await chats.create({ chatId, sender: 'anna', members: ['bob'], body: 1 });
    const events = chats.follow('bob');
    const seen = await linesOf(async () => {
      await events.next();
      // Its other reads are answered before this.
      for (const chatId of chatIds) await chats.typing(chatId, 'anna');
    });
    await events.return?.();
    const pages = seen.filter((line) => line.startsWith('follow.page'));
    expect(pages.length).toBeGreaterThan(0);
    expect(pages.length).toBeLessThanOrEqual(4);
  });

  test('an interruption costs the subscriptions, the index, and one read of each chat for all of its followers', async () => {
    const chats = await openChats();
    const own = connect();
    const process = new Chats(own, { prefix });
    await chats.post('guild', 'anna', 1);
    const followers = ['bob', 'carl', 'bob'].map((member) => read(process, member));
    for (const follower of followers) await follower.hasText('guild:1');
    const id = await own.client('ID');
    const seen = await linesOf(async () => {
      await redis.client('KILL', 'ID', id);
      await until('the reconnect', () => own.status !== 'ready');
      await until('the client', () => own.status === 'ready');
      await chats.post('guild', 'anna', 2);
      for (const follower of followers) await follower.hasText('guild:2');
    });
    const count = (start: string): number => seen.filter((line) => line.startsWith(start)).length;
    expect(count('zmscore')).toBeLessThanOrEqual(4);
    expect(count('follow.index')).toBe(3);
    expect(count('follow.page')).toBeLessThanOrEqual(1);
    expect(count('subscribe')).toBe(1);
  });

  test('typing: one command', async () => {
    const chats = await openChats();
    await chats.typing('guild', 'bob');
    expect(await seenIn(() => chats.typing('guild', 'bob'))).toMatchInlineSnapshot(`"follow.signal"`);
  });

  test('presence: the index, and one command for each chat', async () => {
    const chats = await openChats();
    await chats.presence('bob', 'here');
    expect(await seenIn(() => chats.presence('bob', 'here'))).toMatchInlineSnapshot(`
"follow.index
follow.signal ×2"
`);
  });
});

/** What following costs Redis: an added round trip shows here. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { connect, freshPrefix, transcript, until } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';
import { Reader } from './follow-reader.js';

const redis = connect();
const readers: Reader[] = [];
let prefix = '';

afterEach(async () => {
  for (const reader of readers.splice(0)) await reader.stop();
});

async function openChats(): Promise<Chats> {
  prefix = freshPrefix();
  const chats = new Chats(redis, { prefix });
  await chats.create({ chatId: 'guild', sender: 'anna', members: ['bob', 'carl'] });
  await chats.create({ chatId: 'other', sender: 'anna', members: ['bob', 'carl'] });
  return chats;
}

function read(chats: Chats, member: string): Reader {
  const reader = new Reader(chats, member);
  readers.push(reader);
  return reader;
}

/** Without what scripts call. */
async function seenIn(action: () => Promise<unknown>): Promise<string[]> {
  const lines = await transcript(redis, { prefix, scripts }, action);
  return lines.filter((line) => !line.startsWith(' '));
}

describe('following', () => {
  test('begins with a subscription for the member and each chat, the index, where each chat stands, and what is unread', async () => {
    // The first follower of a client sends a PING, too, and scripts that the server doesn't know.
    const before = await openChats();
    await before.post('guild', 'anna', 1);
    await read(before, 'bob').hasText('guild:1');
    const chats = await openChats();
    await chats.post('guild', 'anna', 1);
    await chats.post('other', 'anna', 1);
    const seen = await seenIn(async () => {
      const reader = read(chats, 'bob');
      await reader.has(2);
    });
    expect(seen.toSorted()).toEqual([
      'evalsha follow.index messaging:{bob}:chats messaging:{bob}:mutes',
      'evalsha follow.page messaging:{guild}:chat messaging:{guild}:log',
      'evalsha follow.page messaging:{other}:chat messaging:{other}:log',
      'subscribe messaging:{bob}:member-events',
      'subscribe messaging:{guild}:events',
      'subscribe messaging:{other}:events',
      'zmscore messaging:{guild}:chat',
      'zmscore messaging:{other}:chat',
    ]);
  });

  test('a second follower of the chats shares their subscriptions, and pages that are just read', async () => {
    const chats = await openChats();
    await chats.post('guild', 'anna', 1);
    await read(chats, 'bob').hasText('guild:1');
    expect(await seenIn(() => read(chats, 'carl').hasText('guild:1'))).toEqual([
      'subscribe messaging:{carl}:member-events',
      'evalsha follow.index messaging:{carl}:chats messaging:{carl}:mutes',
      'zmscore messaging:{guild}:chat',
      'zmscore messaging:{other}:chat',
    ]);
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
    expect(seen).toEqual([
      expect.stringMatching(/^evalsha chat.post messaging:\{guild\}:chat messaging:\{guild\}:log /),
    ]);
  });

  test('a follower that is not read on fetches four pages, however many chats wait', async () => {
    const chats = await openChats();
    const chatIds = Array.from({ length: 20 }, (_, index) => `chat-${index}`);
    for (const chatId of chatIds) await chats.create({ chatId, sender: 'anna', members: ['bob'], body: 1 });
    const events = chats.follow('bob');
    const seen = await seenIn(async () => {
      await events.next();
      // Whatever it asks for beside is answered before this.
      for (const chatId of chatIds) await chats.typing(chatId, 'anna');
    });
    await events.return?.();
    const pages = seen.filter((line) => line.startsWith('evalsha follow.page'));
    expect(pages.length).toBeGreaterThan(0);
    expect(pages.length).toBeLessThanOrEqual(4);
  });

  test('after an interruption: the subscriptions, the index, and one reading of each chat for all of its followers', async () => {
    const chats = await openChats();
    const own = connect();
    const process = new Chats(own, { prefix });
    await chats.post('guild', 'anna', 1);
    const followers = ['bob', 'carl', 'bob'].map((member) => read(process, member));
    for (const follower of followers) await follower.hasText('guild:1');
    const id = await own.client('ID');
    const seen = await seenIn(async () => {
      await redis.client('KILL', 'ID', id);
      await until('the reconnect', () => own.status !== 'ready');
      await until('the client', () => own.status === 'ready');
      await chats.post('guild', 'anna', 2);
      for (const follower of followers) await follower.hasText('guild:2');
    });
    const count = (start: string): number => seen.filter((line) => line.startsWith(start)).length;
    expect(count('zmscore')).toBeLessThanOrEqual(4);
    expect(count('evalsha follow.index')).toBe(3);
    expect(count('evalsha follow.page')).toBeLessThanOrEqual(1);
    expect(count('subscribe')).toBe(1);
  });

  test('typing: one command', async () => {
    const chats = await openChats();
    await chats.typing('guild', 'bob');
    expect(await seenIn(() => chats.typing('guild', 'bob'))).toEqual([
      'evalsha follow.signal messaging:{guild}:chat messaging:{guild}:events',
    ]);
  });

  test('presence: the index, and one command for each chat', async () => {
    const chats = await openChats();
    await chats.presence('bob', 'here');
    expect(await seenIn(() => chats.presence('bob', 'here'))).toEqual([
      'evalsha follow.index messaging:{bob}:chats messaging:{bob}:mutes',
      'evalsha follow.signal messaging:{guild}:chat messaging:{guild}:events',
      'evalsha follow.signal messaging:{other}:chat messaging:{other}:events',
    ]);
  });
});

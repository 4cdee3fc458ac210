/** Followers whose readings are slower than what is pushed: a read from before a leave adds nobody. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';
import { MessagingKeys } from '../../src/keys.js';
import { chatJoin, chatLeave, memberIndex } from '../../src/scripts.gen.js';
import { Reader } from '../fixture/follow-reader.js';
import { delayReplies } from './delayed-replies.js';
import type { DelayedReplies } from './delayed-replies.js';

const redis = connect();
const opened: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  for (const reader of opened.splice(0)) await reader.stop();
});

interface World {
  readonly prefix: string;
  readonly chats: Chats;
  readonly held: DelayedReplies;
  readonly read: (member: string) => Reader;
  /** All earlier pushes to the process have arrived. */
  readonly settle: (reader: Reader) => Promise<void>;
}

/** Bob and carl in `guild`, and a process of followers of which replies can be held. */
async function openWorld(): Promise<World> {
  const prefix = freshPrefix();
  const chats = new Chats(redis, { prefix });
  const held = delayReplies(connect());
  const process = new Chats(held.client, { prefix });
  await chats.create({ chatId: 'guild', sender: 'anna', members: ['bob', 'carl'], body: 1 });
  return {
    prefix,
    chats,
    held,
    read: (member) => {
      const reader = new Reader(process, member);
      opened.push(reader);
      return reader;
    },
    settle: async (reader) => {
      const { id } = await chats.post('guild', 'anna', 'mark');
      await reader.hasText(`guild:${id}`);
    },
  };
}

const ofRaid = (reader: Reader): string[] => reader.texts.filter((text) => text.startsWith('raid'));

describe('a reading that was asked for before its member left', () => {
  test('does not add them again: they left once, and get no later message', async () => {
    const { prefix, chats, held, read, settle } = await openWorld();
    await chats.create({ chatId: 'raid', sender: 'anna', members: ['carl'] });
    // The process follows the chat all the time.
    const carl = read('carl');
    const reader = read('bob');
    for (const each of [carl, reader]) await each.hasText('guild:1');
    await chats.typing('raid', 'anna');
    await carl.hasText('raid typing anna');
    held.hold(`${prefix}:messaging:{raid}:chat`);
    await chats.join('raid', 'bob');
    let release = await held.next();
    while (ofRaid(reader).length === 0) {
      // Something happens where they are looked for: another reading is due behind this one.
      await chats.typing('raid', 'anna');
      await settle(reader);
      release();
      release = await held.next();
    }
    await chats.leave('raid', 'bob');
    await reader.hasText('raid left bob');
    release();
    await chats.post('raid', 'anna', 'not for bob');
    await settle(reader);
    held.letGo();
    await settle(reader);
    expect(ofRaid(reader)).toEqual(['raid joined bob', 'raid left bob']);
  });

  test('does not add a later follower of theirs', async () => {
    const { prefix, chats, held, read, settle } = await openWorld();
    await chats.create({ chatId: 'raid', sender: 'anna', members: ['bob', 'carl'] });
    const carl = read('carl');
    await carl.hasText('guild:1');
    await chats.typing('raid', 'anna');
    await carl.hasText('raid typing anna');
    held.hold(`${prefix}:messaging:{raid}:chat`, `${prefix}:messaging:{bob}:chats`);
    const before = read('bob');
    (await held.next())();
    const release = await held.next();
    await before.stop();
    await chats.leave('raid', 'bob');
    await carl.hasText('raid left bob');
    const behind = read('bob');
    (await held.next())();
    await settle(carl);
    release();
    await chats.post('raid', 'anna', 'not for bob');
    await settle(carl);
    held.letGo();
    await settle(behind);
    expect(ofRaid(behind)).toEqual([]);
  });
});

describe('a member who comes back unnoticed to a chat that they had muted', () => {
  const publish = 'PUBLISH';

  /** Mutes the chat, and waits until the follower has read so. */
  async function openMuted(): Promise<World & { reader: Reader; leave: () => Promise<void>; index: string }> {
    const world = await openWorld();
    const { prefix, chats, held, read } = world;
    const keys = new MessagingKeys(prefix);
    const index = keys.member('bob').chats;
    const reader = read('bob');
    await reader.hasText('guild:1');
    await chats.create({ chatId: 'raid', sender: 'anna', members: ['bob'], body: 1 });
    await reader.hasText('raid:1');
    held.hold(index);
    await chats.mute('raid', 'bob');
    const release = await held.next();
    held.letGo();
    release();
    const leave = async (): Promise<void> => {
      await redis.hdel(keys.member('bob').mutes, 'raid');
      const unheard = { ...keys.chat('raid'), events: `${keys.chat('raid').events}-unheard` };
      await chatLeave.run(redis, unheard, { publish, keepAcked: 0, leavers: ['bob', ''] });
    };
    return { ...world, reader, leave, index };
  }

  test('gets its messages, after a push of their index', async () => {
    const { prefix, chats, reader, leave } = await openMuted();
    await leave();
    const keys = new MessagingKeys(prefix);
    await memberIndex.run(redis, keys.member('bob'), { publish, maxChats: 10, added: ['raid', 0] });
    const joins = ['bob', 0, Date.now() + 60_000, Date.now()];
    const unheard = { ...keys.chat('raid'), events: `${keys.chat('raid').events}-unheard` };
    await chatJoin.run(redis, unheard, { publish, maxMembers: 10, keepMs: 60_000, joins });
    await chats.post('raid', 'anna', 2);
    await reader.hasText('raid:2');
    expect(ofRaid(reader).at(-1)).toBe('raid:2');
  });

  test('gets its messages, after a push of the chat if the index was written before they left', async () => {
    const { prefix, chats, held, reader, leave, index } = await openMuted();
    const keys = new MessagingKeys(prefix);
    held.hold(index);
    await memberIndex.run(redis, keys.member('bob'), { publish, maxChats: 10, added: ['raid', 0] });
    const release = await held.next();
    held.letGo();
    await leave();
    release();
    const joins = ['bob', 0, Date.now() + 60_000, Date.now()];
    await chatJoin.run(redis, keys.chat('raid'), { publish, maxMembers: 10, keepMs: 60_000, joins });
    await chats.post('raid', 'anna', 2);
    await reader.hasText('raid:2');
    expect(ofRaid(reader).at(-1)).toBe('raid:2');
  });
});

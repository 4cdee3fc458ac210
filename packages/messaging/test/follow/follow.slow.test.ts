/** Followers that are slower than what is pushed: those that are not read on, and those whose own readings come late. */
import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { connect } from '@mortise/test-kit';
import { MessagingKeys } from '../../src/keys.js';
import { chatJoin, chatLeave, memberIndex } from '../../src/scripts.gen.js';
import type { DelayedReplies } from '../fixture/delayed-replies.js';
import { delayReplies } from '../fixture/delayed-replies.js';
import type { Reader } from '../fixture/follow-reader.js';
import { open, openChat, prefix, read as follow, redis, upTo } from '../fixture/guild.js';

/** Bob has got the first message, and is not read on. */
async function holding(chats: Chats): Promise<Reader> {
  const reader = follow(chats, 'bob');
  reader.hold();
  await chats.post('guild', 'anna', 1);
  await reader.has(1);
  return reader;
}

/** A chat of anna and bob alone. */
async function openPair(): Promise<Chats> {
  const chats = open();
  await chats.create({ chatId: 'guild', sender: 'anna', members: ['bob'] });
  return chats;
}

describe('a slow reader', () => {
  test('holds nothing up, and loses and doubles nothing', async () => {
    const chats = await openChat();
    const reader = await holding(chats);
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(upTo(20).map((n) => chats.post('guild', 'anna', n)));
    }
    reader.release();
    await reader.hasText('guild:401');
    expect(reader.ids('guild')).toEqual(upTo(401));
  });

  test('that the cap of the chat overtakes gets the gap', async () => {
    const chats = await openChat({ maxMessages: 100 });
    const reader = await holding(chats);
    await Promise.all(upTo(500).map((n) => chats.post('guild', 'anna', n)));
    reader.release();
    await reader.hasText('guild:501');
    expect(reader.texts.slice(0, 3)).toEqual(['guild:1', 'guild gap 2-401', 'guild:402']);
    expect(reader.ids('guild')).toEqual([1, ...upTo(501).slice(401)]);
    // The token of the gap points after it.
    const resumed = follow(chats, 'bob', { after: reader.events[1]!.token });
    await resumed.hasText('guild:501');
    expect(resumed.texts[0]).toBe('guild:402');
  });

  test('gets no gap for freed messages that the member has acked', async () => {
    const chats = await openPair();
    const reader = await holding(chats);
    await Promise.all(upTo(300).map((n) => chats.post('guild', 'anna', n)));
    await new Chats(redis, { prefix }).ack('guild', 'bob', 200);
    reader.release();
    await reader.hasText('guild:301');
    expect(reader.ids('guild')).toEqual([1, ...upTo(301).slice(200)]);
    expect(reader.texts.filter((text) => text.includes('gap'))).toEqual([]);
  });
});

describe('a member who leaves while nobody reads', () => {
  test('gets the stored messages from before that, and no later ones', async () => {
    const chats = await openChat();
    const reader = await holding(chats);
    await Promise.all(upTo(200).map((n) => chats.post('guild', 'anna', n)));
    await chats.leave('guild', 'bob');
    await Promise.all(upTo(20).map((n) => chats.post('guild', 'anna', n)));
    reader.release();
    expect(await reader.textsWith('guild left bob')).toEqual([
      ...upTo(201).map((id) => `guild:${id}`),
      'guild left bob',
    ]);
  });

  test('gets a gap for freed messages, without acked ones', async () => {
    const chats = await openPair();
    const reader = await holding(chats);
    await Promise.all(upTo(300).map((n) => chats.post('guild', 'anna', n)));
    const elsewhere = new Chats(redis, { prefix });
    await elsewhere.ack('guild', 'bob', 200);
    await elsewhere.leave('guild', 'bob');
    await chats.post('guild', 'anna', 'not for bob');
    expect(await chats.history('guild')).toEqual([]);
    reader.release();
    await reader.hasText('guild left bob');
    expect(reader.ids('guild')).toEqual([1, ...upTo(301).slice(-reader.ids('guild').length + 1)]);
    expect(reader.reported('guild')).toEqual([1, ...upTo(301).slice(200)]);
  });

  test('and was the last one, gets the gap, too', async () => {
    const chats = await openPair();
    const reader = await holding(chats);
    await Promise.all(upTo(100).map((n) => chats.post('guild', 'anna', n)));
    for (const member of ['anna', 'bob']) await chats.leave('guild', member);
    reader.release();
    await reader.hasText('guild left bob');
    expect(reader.reported('guild')).toEqual(upTo(101));
  });
});

interface World {
  readonly chats: Chats;
  readonly keys: MessagingKeys;
  readonly held: DelayedReplies;
  readonly read: (member: string) => Reader;
  /** All earlier pushes to the process have arrived. */
  readonly settle: (reader: Reader) => Promise<void>;
}

/** Bob and carl in `guild`, and a process of followers of which replies can be held. */
async function openWorld(): Promise<World> {
  const chats = open();
  const held = delayReplies(connect());
  const process = new Chats(held.client, { prefix });
  await chats.create({ chatId: 'guild', sender: 'anna', members: ['bob', 'carl'], body: 1 });
  return {
    chats,
    keys: new MessagingKeys(prefix),
    held,
    read: (member) => follow(process, member),
    settle: async (reader) => {
      const { id } = await chats.post('guild', 'anna', 'mark');
      await reader.hasText(`guild:${id}`);
    },
  };
}

const ofRaid = (reader: Reader): string[] => reader.texts.filter((text) => text.startsWith('raid'));

describe('a reading that was asked for before its member left', () => {
  test('does not add them again: they left once, and get no later message', async () => {
    const { chats, keys, held, read, settle } = await openWorld();
    await chats.create({ chatId: 'raid', sender: 'anna', members: ['carl'] });
    // The process follows the chat all the time.
    const carl = read('carl');
    const reader = read('bob');
    for (const each of [carl, reader]) await each.hasText('guild:1');
    await chats.typing('raid', 'anna');
    await carl.hasText('raid typing anna');
    held.hold(keys.chat('raid').chat);
    await chats.join('raid', 'bob');
    let release = await held.next();
    while (ofRaid(reader).length === 0) {
      // Something happens where they are looked for: another read is due after this one.
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
    const { chats, keys, held, read, settle } = await openWorld();
    await chats.create({ chatId: 'raid', sender: 'anna', members: ['bob', 'carl'] });
    const carl = read('carl');
    await carl.hasText('guild:1');
    await chats.typing('raid', 'anna');
    await carl.hasText('raid typing anna');
    held.hold(keys.chat('raid').chat, keys.member('bob').chats);
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
  async function openMuted() {
    const world = await openWorld();
    const { chats, keys, held, read } = world;
    const reader = read('bob');
    await reader.hasText('guild:1');
    await chats.create({ chatId: 'raid', sender: 'anna', members: ['bob'], body: 1 });
    await reader.hasText('raid:1');
    const [raid, bob] = [keys.chat('raid'), keys.member('bob')];
    held.hold(bob.chats);
    await chats.mute('raid', 'bob');
    const release = await held.next();
    held.letGo();
    release();
    const unheard = { ...raid, events: `${raid.events}-unheard` };
    return {
      ...world,
      reader,
      index: () => memberIndex.run(redis, bob, { publish, maxChats: 10, added: ['raid', 0] }),
      leave: async () => {
        await redis.hdel(bob.mutes, 'raid');
        await chatLeave.run(redis, unheard, { publish, keepAcked: 0, leavers: ['bob', ''] });
      },
      join: async (isPublished: boolean) => {
        const joins = ['bob', 0, Date.now() + 60_000, Date.now()];
        const args = { publish, maxMembers: 10, keepMs: 60_000, joins };
        await chatJoin.run(redis, isPublished ? raid : unheard, args);
        await chats.post('raid', 'anna', 2);
        await reader.hasText('raid:2');
        return ofRaid(reader).at(-1);
      },
    };
  }

  test('gets its messages, after a push of their index', async () => {
    const { index, leave, join } = await openMuted();
    await leave();
    await index();
    expect(await join(false)).toBe('raid:2');
  });

  test('gets its messages, after a push of the chat if the index was written before they left', async () => {
    const { keys, held, index, leave, join } = await openMuted();
    held.hold(keys.member('bob').chats);
    await index();
    const release = await held.next();
    held.letGo();
    await leave();
    release();
    expect(await join(true)).toBe('raid:2');
  });
});

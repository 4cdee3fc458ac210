import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { FollowOptions } from '@mortise/messaging';
import { connect, transcript, until } from '@mortise/test-kit';
import { HOSTILE } from '../fixture/chat-state.js';
import type { Reader } from '../fixture/follow-reader.js';
import { textOf } from '../fixture/follow-reader.js';
import { open, openChat, prefix, read, redis, upTo } from '../fixture/guild.js';
import { keepPosting } from '../fixture/keep-posting.js';
import { slowlyAfter } from '../fixture/stepwise-client.js';
import { subscribed } from '../fixture/subscribed.js';
import { expectRefusal } from '../fixture/outcomes.js';

/** A follower that has got everything that was there, so what comes now is pushed. */
async function readLive(
  chats: Chats,
  member: string,
  options: Omit<FollowOptions, 'signal'> = {},
): Promise<Reader> {
  const { id } = await chats.post('guild', 'anna', 'live');
  const reader = read(chats, member, options);
  await reader.hasText(`guild:${id}`);
  return reader;
}

describe('messages', () => {
  test('begin after the cursor, and continue as they are posted', async () => {
    const chats = await openChat();
    for (const body of ['1', '2', '3']) await chats.post('guild', 'anna', body);
    await chats.ack('guild', 'bob', 1);
    const reader = read(chats, 'bob');
    await reader.has(2);
    await chats.post('guild', 'carl', '4');
    await reader.has(3);
    expect(reader.events).toEqual([
      {
        type: 'message',
        chatId: 'guild',
        epoch: (await chats.chatsOf('bob'))[0]!.epoch,
        message: { id: 2, kind: 'message', from: 'anna', body: '2', sentAt: expect.any(Number) },
        token: expect.any(String),
      },
      expect.objectContaining({ type: 'message', message: expect.objectContaining({ id: 3, body: '3' }) }),
      expect.objectContaining({ type: 'message', message: expect.objectContaining({ id: 4, from: 'carl' }) }),
    ]);
  });

  test('have the epoch of their chat, so that an ack is not one of a later chat of the name', async () => {
    const chats = await openChat({ maxMessages: 2 });
    for (const body of ['1', '2', '3']) await chats.post('guild', 'anna', body);
    const reader = read(chats, 'bob');
    await reader.hasText('guild:3');
    const [{ epoch } = { epoch: 0 }] = await chats.chatsOf('bob');
    expect(reader.events).toMatchObject([
      { type: 'gap', epoch, fromId: 1, toId: 1 },
      { type: 'message', epoch, message: { id: 2 } },
      { type: 'message', epoch, message: { id: 3 } },
    ]);
    for (const member of ['anna', 'bob', 'carl']) await chats.leave('guild', member);
    await chats.create({ chatId: 'guild', sender: 'anna', members: ['bob'], body: 'new' });
    await expectRefusal(chats.ack('guild', 'bob', 1, { epoch }), 'ERR_UNKNOWN_MESSAGE');
    expect(await chats.pull('bob')).toMatchObject([{ messages: [{ body: 'new' }] }]);
  });

  test("are also the member's own, and move nothing", async () => {
    const chats = await openChat();
    const reader = await readLive(chats, 'bob');
    await chats.post('guild', 'bob', 'own');
    await reader.hasText('guild:2');
    expect((await chats.pull('bob')).map(({ ackedId }) => ackedId)).toEqual([0]);
  });

  test('come from many chats, each in its order', async () => {
    const chats = open();
    const chatIds = upTo(20).map((n) => `chat-${n}`);
    for (const chatId of chatIds) await chats.create({ chatId, sender: 'anna', members: ['bob'] });
    const post = (): Promise<unknown> =>
      Promise.all(chatIds.flatMap((chatId) => upTo(5).map((n) => chats.post(chatId, 'anna', n))));
    await post();
    const reader = read(chats, 'bob');
    await post();
    await reader.has(200);
    for (const chatId of chatIds) expect(reader.ids(chatId)).toEqual(upTo(10));
  });

  test('posted in large batches are fetched if the push was not kept', async () => {
    const chats = await openChat();
    const reader = await readLive(chats, 'bob');
    await Promise.all(upTo(1_000).map((n) => chats.post('guild', 'anna', n)));
    await reader.has(1_001);
    expect(reader.ids('guild')).toEqual(upTo(1_001));
  });

  test('with large bodies are fetched in pages by bytes', async () => {
    const chats = await openChat();
    const body = 'x'.repeat(60_000);
    await Promise.all(upTo(20).map(() => chats.post('guild', 'anna', body)));
    const reader = read(chats, 'bob');
    await reader.has(20);
    expect(reader.ids('guild')).toEqual(upTo(20));
  });

  test('posted while a follower catches up come once and in order', async () => {
    const chats = await openChat();
    const stop = keepPosting((n) => Promise.all([1, 2, 3].map(() => chats.post('guild', 'anna', n))));
    const followers = [];
    for (let round = 0; round < 10; round += 1) {
      followers.push(read(chats, 'bob'));
      await followers.at(-1)!.has(50);
    }
    const count = 3 * (await stop());
    for (const reader of followers) await reader.hasText(`guild:${count}`);
    const ids = upTo(count);
    expect(followers.map((reader) => reader.ids('guild'))).toEqual(followers.map(() => ids));
  });

  test('edits and deletions are events; a later follower gets no deleted message', async () => {
    const chats = await openChat();
    const early = await readLive(chats, 'bob');
    await chats.post('guild', 'anna', 'two');
    await chats.edit('guild', 'anna', 2, 'two, edited');
    await chats.delete('guild', 'anna', 1);
    await early.has(4);
    const late = read(chats, 'carl');
    await late.has(3);
    expect(early.texts).toEqual(['guild:1', 'guild:2', 'guild:3 edit 2', 'guild:4 delete 1']);
    expect(late.texts).toEqual(['guild:2', 'guild:3 edit 2', 'guild:4 delete 1']);
    expect(late.events[0]).toMatchObject({ message: { body: 'two, edited' } });
  });

  test('two followers of one member both get everything', async () => {
    const chats = await openChat();
    const [one, two] = [await readLive(chats, 'bob'), await readLive(chats, 'bob')];
    await Promise.all(upTo(50).map((n) => chats.post('guild', 'anna', n)));
    await Promise.all([one.hasText('guild:52'), two.hasText('guild:52')]);
    const ids = upTo(52);
    expect([one.ids('guild'), two.ids('guild')]).toEqual([ids, ids]);
  });

  test.each(HOSTILE)('pass for a chat and a member called %j', async (name) => {
    const chats = open();
    await chats.create({ chatId: name, sender: 'anna', members: [name], body: 1 });
    const reader = read(chats, name);
    await reader.has(1);
    await chats.post(name, 'anna', 2);
    await chats.typing(name, 'anna');
    expect(await reader.textsWith(`${name} typing anna`)).toEqual([
      `${name}:1`,
      `${name}:2`,
      `${name} typing anna`,
    ]);
    const resumed = read(chats, name, { after: reader.events[0]!.token });
    expect(await resumed.textsWith(`${name}:2`)).toEqual([`${name}:2`]);
  });
});

describe('open()', () => {
  test('starts, and resolves when later posts will be pushed', async () => {
    const chats = await openChat();
    await chats.create({ chatId: 'other', sender: 'anna', members: ['bob'] });
    // The script is known.
    await chats.post('other', 'anna', 'before');
    await chats.ack('other', 'bob', 1);
    const events = chats.follow('bob');
    await events.open();
    const channels = ['{bob}:member-events', '{guild}:events', '{other}:events'];
    const listened = (await redis.pubsub(
      'NUMSUB',
      ...channels.map((channel) => `${prefix}:messaging:${channel}`),
    )) as (string | number)[];
    expect(listened.filter((item) => item === 1)).toHaveLength(3);
    const seen = await transcript(redis, { prefix }, async () => {
      await chats.post('other', 'anna', 'pushed');
      const { value } = await events.next();
      expect(value && textOf(value)).toBe('other:2');
    });
    expect(seen.filter((line) => !line.startsWith(' '))).toHaveLength(1);
    await events.open();
    await events.return?.();
    await events.open();
  });

  test('resolves for a member without chats, and with useless index entries', async () => {
    const chats = await openChat();
    const nothing = chats.follow('nobody');
    await expect(nothing.open()).resolves.toBeUndefined();
    await nothing.return?.();
    await redis.zadd(`${prefix}:messaging:{bob}:chats`, 1, 'dangling', Date.now(), 'fresh');
    const events = chats.follow('bob');
    await expect(events.open()).resolves.toBeUndefined();
    await events.return?.();
  });

  test('resolves with a token of an ended chat, and of one to which the member came back', async () => {
    const chats = await openChat();
    await chats.create({ chatId: 'gone', sender: 'anna', members: ['bob'], body: 1 });
    const reader = await readLive(chats, 'bob');
    await reader.hasText('gone:1');
    for (const member of ['anna', 'bob']) await chats.leave('gone', member);
    await reader.hasText('gone left bob');
    await chats.leave('guild', 'bob');
    await chats.post('guild', 'anna', 2);
    await chats.join('guild', 'bob');
    for (const { token } of reader.events) {
      const events = chats.follow('bob', { after: token });
      await events.open();
      await events.return?.();
    }
    expect(reader.events.length).toBeGreaterThan(2);
  });

  test('resolves when the signal ends the iteration', async () => {
    const chats = await openChat();
    const controller = new AbortController();
    const events = chats.follow('bob', { signal: controller.signal });
    const opened = events.open();
    controller.abort(new Error('enough'));
    expect(await opened).toBeUndefined();
    expect(await events.open()).toBeUndefined();
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  test('rejects with the error that ends the iteration, as `next` does then', async () => {
    const chats = await openChat();
    const own = connect();
    const closed = new Chats(own, { prefix });
    own.disconnect();
    await until('the end', () => own.status === 'end');
    await expectRefusal(closed.follow('bob').open(), 'ERR_CLIENT_CLOSED');
    await redis.del(`${prefix}:messaging:{bob}:chats`);
    await redis.set(`${prefix}:messaging:{bob}:chats`, 'no sorted set');
    await expect(chats.follow('bob').open()).rejects.toThrow('WRONGTYPE');
  });
});

describe('the index of a member who only follows', () => {
  test('is cleaned of chats that do not have them, and of mutes that are over', async () => {
    const chats = await openChat();
    const [index, mutes] = ['chats', 'mutes'].map((part) => `${prefix}:messaging:{bob}:${part}`);
    const fresh = Date.now();
    await redis.zadd(index!, 1, 'dangling', 2, 'other', fresh, 'fresh');
    await redis.hset(mutes!, 'dangling', 0, 'guild', 1);
    await readLive(chats, 'bob');
    await until('the cleaning', async () => (await redis.zcard(index!)) === 2);
    expect(await redis.zrange(index!, '0', '-1')).toEqual(expect.arrayContaining(['guild', 'fresh']));
    expect(await redis.hgetall(mutes!)).toEqual({});
  });
});

describe('membership', () => {
  test('a chat that the member is added to joins in, from the cursor on', async () => {
    const chats = await openChat();
    const reader = await readLive(chats, 'bob');
    await chats.create({ chatId: 'new', sender: 'anna', members: ['bob'], body: 'hello' });
    await reader.hasText('new:1');
    await chats.create({ chatId: 'old', sender: 'anna', members: [] });
    await chats.post('old', 'anna', 'before');
    await chats.join('old', 'bob');
    await reader.hasText('old joined bob');
    await chats.post('old', 'anna', 'behind');
    expect(await reader.textsWith('old:2')).toEqual([
      'guild:1',
      'new joined bob',
      'new:1',
      'old joined bob',
      'old:2',
    ]);
  });

  test('a member who joins or creates a chat elsewhere, and posts or acks at once, gets the messages since then', async () => {
    const chats = await openChat();
    const reader = await readLive(chats, 'bob');
    await chats.create({ chatId: 'new', sender: 'bob', members: ['anna'], body: 'mine' });
    await reader.hasText('new:1');
    await chats.create({ chatId: 'old', sender: 'anna', members: ['carl'] });
    await chats.post('old', 'anna', 'before');
    // As a follower reads it that is slower than the member's other device.
    const old = `${prefix}:messaging:{old}`;
    await redis.multi().zadd(`${old}:chat`, 1, 'bob').zadd(`${old}:joined`, 1, 'bob').exec();
    await chats.post('old', 'bob', 'mine');
    await chats.post('old', 'anna', 'acked');
    await chats.ack('old', 'bob', 3);
    await chats.join('old', 'bob');
    expect(await reader.textsWith('old:3')).toEqual([
      'guild:1',
      'new joined bob',
      'new:1',
      'old joined bob',
      'old:2',
      'old:3',
    ]);
  });

  test('leaving ends the chat for the member, and coming back begins it again', async () => {
    const chats = await openChat();
    const reader = await readLive(chats, 'bob');
    await chats.leave('guild', 'bob');
    await chats.post('guild', 'anna', 'not for bob');
    await reader.hasText('guild left bob');
    await chats.join('guild', 'bob');
    await reader.hasText('guild joined bob');
    await chats.post('guild', 'anna', 'for bob');
    expect(await reader.textsWith('guild:3')).toEqual([
      'guild:1',
      'guild left bob',
      'guild joined bob',
      'guild:3',
    ]);
  });

  test('a leave and a join are reported to a later reader', async () => {
    const chats = await openChat();
    const reader = await readLive(chats, 'bob');
    reader.hold();
    await chats.post('guild', 'anna', 'the last one that is taken');
    await reader.hasText('guild:2');
    await chats.post('guild', 'anna', 'before');
    for (let round = 0; round < 3; round += 1) {
      await chats.leave('guild', 'bob');
      await chats.post('guild', 'anna', 'not for bob');
      await chats.join('guild', 'bob');
    }
    const { id } = await chats.post('guild', 'anna', 'for bob');
    reader.release();
    expect(await reader.textsWith(`guild:${id}`)).toEqual([
      'guild:1',
      'guild:2',
      'guild:3',
      'guild left bob',
      'guild joined bob',
      `guild:${id}`,
    ]);
  });

  test('joins and leaves of others are reported in order', async () => {
    const chats = await openChat();
    const reader = await readLive(chats, 'bob');
    await chats.join('guild', 'dora');
    await chats.post('guild', 'dora', 'hi');
    await chats.leave('guild', 'dora');
    await chats.post('guild', 'anna', 'bye');
    expect(await reader.textsWith('guild:3')).toEqual([
      'guild:1',
      'guild joined dora',
      'guild:2',
      'guild left dora',
      'guild:3',
    ]);
  });

  test('a chat without members has ended; a later one of its name begins with its first id', async () => {
    const chats = await openChat();
    const reader = await readLive(chats, 'bob');
    for (const member of ['anna', 'carl', 'bob']) await chats.leave('guild', member);
    await chats.create({ chatId: 'guild', sender: 'dora', members: ['bob'], body: 'anew' });
    await reader.hasText('guild joined bob');
    await chats.post('guild', 'dora', 'more');
    // Bob follows the later chat when he is in it, so he may or may not see that dora came with him.
    const texts = (await reader.textsWith('guild:2')).filter((text) => text !== 'guild joined dora');
    expect(texts).toEqual([
      'guild:1',
      'guild left anna',
      'guild left carl',
      'guild left bob',
      'guild joined bob',
      'guild:1',
      'guild:2',
    ]);
  });

  test('a member who is added to a later chat of a name gets its messages, and none of the earlier chat', async () => {
    const chats = await openChat();
    // The index of dora has the chat, for a while yet.
    await chats.join('guild', 'dora');
    await chats.leave('guild', 'dora');
    const bob = await readLive(chats, 'bob');
    await chats.create({ chatId: 'own', sender: 'anna', members: ['dora'], body: 'ready' });
    const dora = read(chats, 'dora');
    await dora.hasText('own:1');
    for (const body of ['2', '3']) await chats.post('guild', 'anna', body);
    await bob.hasText('guild:3');
    for (const member of ['anna', 'bob', 'carl']) await chats.leave('guild', member);
    await chats.create({ chatId: 'guild', sender: 'anna', members: ['dora'], body: 'anew' });
    await dora.hasText('guild:1');
    for (const body of ['anew 2', 'anew 3']) await chats.post('guild', 'anna', body);
    await dora.hasText('guild:3');
    const bodies = dora.events.flatMap((event) =>
      event.chatId === 'guild' && 'message' in event ? [event.message.body] : [],
    );
    expect(bodies).toEqual(['anew', 'anew 2', 'anew 3']);
  });

  test('a chat that is deleted and created again unnoticed is a reset', async () => {
    const chats = await openChat();
    for (let count = 0; count < 5; count += 1) await chats.post('guild', 'anna', count);
    const reader = await readLive(chats, 'bob');
    for (const key of await redis.keys(`${prefix}:*`)) await redis.del(key);
    await chats.create({ chatId: 'guild', sender: 'dora', members: ['bob'], body: 'anew' });
    await chats.post('guild', 'dora', 'two');
    await reader.hasText('guild reset');
    await reader.hasText('guild:2');
    const at = reader.texts.indexOf('guild reset');
    await until('what follows', () => reader.texts.length >= at + 3);
    expect(reader.texts.slice(at)).toEqual(['guild reset', 'guild:1', 'guild:2']);
  });

  test('an index entry without a membership is skipped', async () => {
    const chats = await openChat();
    await redis.zadd(`${prefix}:messaging:{bob}:chats`, 1, 'dangling', Date.now(), 'fresh');
    const reader = await readLive(chats, 'bob');
    expect(reader.texts).toEqual(['guild:1']);
    await chats.create({ chatId: 'fresh', sender: 'anna', members: ['bob'], body: 1 });
    await reader.hasText('fresh:1');
  });

  test('a chat that is created long after its index entry has its first message', async () => {
    const chats = await openChat();
    const reader = await readLive(chats, 'bob');
    const { slow, release } = slowlyAfter(redis, 2);
    const creator = new Chats(slow, { prefix });
    const created = creator.create({ chatId: 'late', sender: 'anna', members: ['bob'], body: 'x' });
    const channel = `${prefix}:messaging:{late}:events`;
    await subscribed(redis, channel);
    release();
    await created;
    await reader.hasText('late:1');
    // Bob follows it when he is in it, so he may or may not see that anna came with him.
    const texts = reader.texts.filter((text) => text !== 'late joined anna');
    expect(texts.slice(-2)).toEqual(['late joined bob', 'late:1']);
  });

  test('a member without chats gets later ones', async () => {
    const chats = await openChat();
    const reader = read(chats, 'nobody');
    await chats.join('guild', 'nobody');
    await chats.post('guild', 'anna', 1);
    await reader.hasText('guild:1').catch(() => undefined);
    expect(reader.texts.join()).toMatch(/^(guild joined nobody,)?guild:1$/);
  });
});

describe('mutes', () => {
  test('a muted chat is silent, and continues where it stopped', async () => {
    const chats = await openChat();
    await chats.create({ chatId: 'other', sender: 'anna', members: ['bob'] });
    await chats.mute('guild', 'bob');
    for (const n of [1, 2]) await chats.post('guild', 'anna', n);
    const [reader, all] = [read(chats, 'bob'), read(chats, 'bob', { includeMuted: true })];
    await all.hasText('guild:2');
    await chats.post('other', 'anna', 1);
    expect(await reader.textsWith('other:1')).toEqual(['other:1']);
    await chats.unmute('guild', 'bob');
    expect(await reader.textsWith('guild:2')).toEqual(['other:1', 'guild:1', 'guild:2']);
  });

  test('muting a chat takes effect within a round trip, unmuting as well', async () => {
    const chats = await openChat();
    await chats.create({ chatId: 'other', sender: 'anna', members: ['bob'] });
    const reader = await readLive(chats, 'bob');
    await chats.mute('guild', 'bob');
    // Behind the mute, and the reading that it sets off.
    await until('the mute', async () => {
      const before = reader.texts.length;
      const { id } = await chats.post('guild', 'anna', 'is it?');
      const { id: mark } = await chats.post('other', 'anna', 'mark');
      await reader.hasText(`other:${mark}`);
      return !reader.texts.slice(before).includes(`guild:${id}`);
    });
    await chats.unmute('guild', 'bob');
    const { id } = await chats.post('guild', 'anna', 'again');
    await reader.hasText(`guild:${id}`);
    expect(reader.ids('guild')).toEqual(upTo(id));
  });

  test('a mute that ends by itself is over then', async () => {
    const chats = await openChat();
    await chats.mute('guild', 'bob', { untilMs: Date.now() + 300 });
    const reader = read(chats, 'bob');
    await chats.post('guild', 'anna', 1);
    await reader.hasText('guild:1');
    expect(Date.now()).toBeGreaterThan(reader.events[0]!.type === 'message' ? 0 : Infinity);
  });

  test('leaving a muted chat is an event', async () => {
    const chats = await openChat();
    const reader = await readLive(chats, 'bob');
    await chats.mute('guild', 'bob');
    await chats.leave('guild', 'bob');
    expect(await reader.textsWith('guild left bob')).toEqual(['guild:1', 'guild left bob']);
  });

  test('end with the membership: a member who comes back gets the event and later messages', async () => {
    const chats = await openChat();
    const reader = await readLive(chats, 'bob');
    // The second time, it is known already that the chat was added a moment ago.
    for (const round of [1, 2, 3]) {
      await chats.mute('guild', 'bob');
      await chats.leave('guild', 'bob');
      await until('left', () => reader.texts.filter((text) => text === 'guild left bob').length === round);
      await chats.join('guild', 'bob');
      const { id } = await chats.post('guild', 'anna', 'back');
      await reader.hasText(`guild:${id}`);
    }
    const round = ['guild left bob', 'guild joined bob'];
    expect(reader.texts).toEqual(['guild:1', ...round, 'guild:2', ...round, 'guild:3', ...round, 'guild:4']);
  });
});

describe('typing and presence', () => {
  test('reach other followers, and are not stored', async () => {
    const chats = await openChat();
    await chats.create({ chatId: 'other', sender: 'anna', members: ['carl'] });
    const [bob, carl] = [await readLive(chats, 'bob'), await readLive(chats, 'carl')];
    await carl.hasText('guild:2');
    await bob.hasText('guild:2');
    const before = await redis.keys(`${prefix}:*`);
    await chats.typing('guild', 'bob');
    await chats.presence('anna', 'away: {\0}');
    await carl.hasText('other presence anna away: {\0}');
    expect(await bob.textsWith('guild presence anna away: {\0}')).toEqual([
      'guild:1',
      'guild:2',
      'guild presence anna away: {\0}',
    ]);
    expect(carl.texts.toSorted()).toEqual(
      [
        'guild:1',
        'guild:2',
        'guild typing bob',
        'guild presence anna away: {\0}',
        'other presence anna away: {\0}',
      ].toSorted(),
    );
    expect((await redis.keys(`${prefix}:*`)).toSorted()).toEqual(before.toSorted());
  });

  test('are refused to a non-member, and for an unknown chat', async () => {
    const chats = await openChat();
    await expectRefusal(chats.typing('guild', 'dora'), 'ERR_NOT_A_MEMBER', {
      chatId: 'guild',
      member: 'dora',
    });
    await expectRefusal(chats.typing('nothing', 'bob'), 'ERR_UNKNOWN_CHAT');
    await expect(chats.presence('nobody', 'here')).resolves.toBeUndefined();
    await redis.zadd(`${prefix}:messaging:{dora}:chats`, Date.now(), 'guild', Date.now(), 'nothing');
    const bob = await readLive(chats, 'bob');
    await chats.presence('dora', 'forged');
    await chats.post('guild', 'anna', 'end');
    expect(await bob.textsWith('guild:2')).toEqual(['guild:1', 'guild:2']);
  });

  test.each([[''], ['x'.repeat(1_025)], [undefined], [1]])('the status %j is refused', async (status) => {
    const chats = open();
    await expect(chats.presence('bob', status as string)).rejects.toThrow(/status/);
  });
});

describe('the end', () => {
  test('an aborted signal ends a wait without an error', async () => {
    const chats = await openChat();
    const controller = new AbortController();
    const events = chats.follow('bob', { signal: controller.signal });
    const next = events.next();
    controller.abort(new Error('enough'));
    expect(await next).toEqual({ done: true, value: undefined });
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  test('a signal that is aborted already ends it before anything is sent', async () => {
    const chats = await openChat();
    const signal = AbortSignal.abort(new Error('never'));
    const sent = await transcript(redis, { prefix }, async () => {
      expect(await chats.follow('bob', { signal }).next()).toEqual({ done: true, value: undefined });
    });
    expect(sent).toEqual([]);
  });

  test('return() ends a wait, and gives the subscriptions up', async () => {
    const chats = await openChat();
    const events = chats.follow('bob');
    const next = events.next();
    await chats.post('guild', 'anna', 1);
    expect((await next).value).toMatchObject({ chatId: 'guild' });
    const waiting = events.next();
    expect(await events.return?.()).toEqual({ done: true, value: undefined });
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  test('leaving the loop ends it', async () => {
    const chats = await openChat();
    await chats.post('guild', 'anna', 1);
    const seen: string[] = [];
    for await (const event of chats.follow('bob')) {
      seen.push(textOf(event));
      break;
    }
    expect(seen).toEqual(['guild:1']);
  });

  test('calls of next() at the same time are answered in their order', async () => {
    const chats = await openChat();
    const events = chats.follow('bob');
    const three = Promise.all([events.next(), events.next(), events.next()]);
    for (const n of [1, 2, 3]) await chats.post('guild', 'anna', n);
    const texts = (await three).map(({ value }) => value && textOf(value));
    expect(texts).toEqual(['guild:1', 'guild:2', 'guild:3']);
    await events.return?.();
  });

  test('a client that is closed ends it with ERR_CLIENT_CLOSED', async () => {
    const chats = await openChat();
    const own = connect();
    const reader = read(new Chats(own, { prefix }), 'bob');
    await chats.post('guild', 'anna', 1);
    await reader.hasText('guild:1');
    own.disconnect();
    await reader.isOver;
    expect(reader.error).toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
    const again = new Chats(own, { prefix }).follow('bob');
    await expectRefusal(again.next(), 'ERR_CLIENT_CLOSED');
  });

  test('a refusal of the server ends it, too', async () => {
    const chats = await openChat();
    const reader = await readLive(chats, 'bob');
    await redis.set(`${prefix}:messaging:{bob}:chats`, 'no sorted set');
    await redis.publish(`${prefix}:messaging:{bob}:member-events`, '*:u');
    await reader.isOver;
    expect(reader.error).toMatchObject({ message: expect.stringContaining('WRONGTYPE') });
  });

  test.each([[''], ['x'.repeat(1_025)], [undefined], [7], [null]])('the member %j is refused', (member) => {
    expect(() => open().follow(member as string)).toThrow(/member/);
  });
});

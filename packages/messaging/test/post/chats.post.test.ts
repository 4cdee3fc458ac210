import { describe, expect, test } from '@jest/globals';
import { Chats, InvalidBodyError, Mailboxes, NotAllowedError } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';
import { keyOf, keys, look, open, openChat, prefix, redis, upTo } from '../fixture/guild.js';
import { expectRefusal, outcomesOf } from '../fixture/outcomes.js';

function nest(depth: number): unknown {
  let body: unknown = 'x'.repeat(300);
  for (let level = 0; level < depth; level += 1) body = level % 2 === 0 ? [body] : { body };
  return body;
}

describe('post', () => {
  test('numbers messages from 1, whoever they are from, and returns the ids', async () => {
    const chats = await openChat();
    const results = [];
    for (const sender of ['anna', 'bob', 'anna']) results.push(await chats.post('guild', sender, sender));
    expect(results).toEqual([1, 2, 3].map((id) => ({ id, isDuplicate: false })));
    const { entries } = await look();
    expect(entries).toEqual([
      { id: 1, kind: 'message', from: 'anna', body: 'anna' },
      { id: 2, kind: 'message', from: 'bob', body: 'bob' },
      { id: 3, kind: 'message', from: 'anna', body: 'anna' },
    ]);
  });

  test('calls of one tick get ids in the order of the calls', async () => {
    const chats = await openChat();
    const bodies = Array.from({ length: 350 }, (_, n) => n);
    const results = await Promise.all(bodies.map((n) => chats.post('guild', n % 2 ? 'anna' : 'bob', n)));
    expect(results.map(({ id }) => id)).toEqual(bodies.map((n) => n + 1));
    const { entries } = await look();
    expect(entries.map(({ body }) => body)).toEqual(bodies);
  });

  test('ids are exact up to the largest integer', async () => {
    const chats = await openChat();
    const before = 2 ** 51 - 10;
    const scores = { '\0l': -before, anna: before + 0.5, bob: before, carl: before };
    for (const [name, score] of Object.entries(scores)) await redis.zadd(keyOf('chat'), score, name);
    const ids = [1, 2, 3, 4].map((n) => before + n);
    const { id: first } = await chats.post('guild', 'anna', 'a');
    const others = await Promise.all(['b', 'c'].map((body) => chats.post('guild', 'bob', body)));
    const { id: last } = await chats.edit('guild', 'anna', ids[0]!, 'better');
    expect([first, ...others.map(({ id }) => id), last]).toEqual(ids);
    await chats.delete('guild', 'anna', ids[1]!);
    const [pulled] = await chats.pull('carl');
    expect(pulled!.messages.map(({ id, body, revises }) => [id, revises ?? body])).toEqual([
      [ids[0], 'better'],
      [ids[2], 'c'],
      [ids[3], ids[0]],
      [before + 5, ids[1]],
    ]);
    expect(await chats.ack('guild', 'carl', before + 5)).toBe(before + 5);
  });

  test('an id that was posted by the same sender does nothing, and tells the first one', async () => {
    const chats = await openChat();
    const id = '018f4e5c-7b1a-7c3d-9e2f-0123456789ab';
    for (const senderId of ['a', id, 'a\0b']) {
      const first = await chats.post('guild', 'anna', 1, { id: senderId });
      expect(first.isDuplicate).toBe(false);
      const known = { id: first.id, isDuplicate: true };
      expect(await chats.post('guild', 'anna', 2, { id: senderId })).toEqual(known);
      const [third, fourth] = await Promise.all([
        chats.post('guild', 'anna', 3, { id: senderId }),
        chats.post('guild', 'bob', 4, { id: senderId }),
      ]);
      expect(third).toEqual(known);
      expect(fourth).toEqual({ id: first.id + 1, isDuplicate: false });
    }
    expect((await look()).entries.map(({ body }) => body)).toEqual([1, 4, 1, 4, 1, 4]);
  });

  test('two posts of one id in one tick are one', async () => {
    const chats = await openChat();
    const results = await Promise.all(
      [1, 2, 3].map((body) => chats.post('guild', 'anna', body, { id: body === 2 ? 'y' : 'x' })),
    );
    expect(results).toEqual([
      { id: 1, isDuplicate: false },
      { id: 2, isDuplicate: false },
      { id: 1, isDuplicate: true },
    ]);
  });

  test('ids are still known when a new window of dedupMs has begun, and are kept apart from those of others', async () => {
    const chats = await openChat({ dedupMs: 100 });
    await chats.post('guild', 'anna', 1, { id: 'x' });
    // As if the window of the first message were over.
    const ids = keyOf('ids');
    expect(await redis.hget(ids, '')).toMatch(/^\d+$/);
    await redis.hset(ids, '', '-100');
    expect(await chats.post('guild', 'anna', 2)).toEqual({ id: 2, isDuplicate: false });
    expect(await redis.hlen(keyOf('ids-before'))).toBe(2);
    expect(await chats.post('guild', 'anna', 3, { id: 'x' })).toEqual({ id: 1, isDuplicate: true });
  });

  test('at most some 10,000 ids are remembered in a generation, and the hash gets an index', async () => {
    const chats = await openChat();
    const ids = keyOf('ids');
    await Promise.all(upTo(100).map((n) => chats.post('guild', 'anna', n)));
    expect(await redis.object('ENCODING', ids)).toBe('hashtable');
    await redis.hset(ids, ...upTo(9_500).flatMap((n) => [`x${n}`, '1']));
    await Promise.all(upTo(100).map((n) => chats.post('guild', 'anna', n)));
    expect(await redis.hlen(ids)).toBeLessThan(200);
    expect(await redis.hlen(keyOf('ids-before'))).toBeGreaterThan(9_500);
  });

  test('a sender who left, or may only read now, still gets the id of an earlier post', async () => {
    const chats = await openChat();
    await chats.post('guild', 'bob', 'x', { id: 'lost' });
    await chats.post('guild', 'carl', 'y', { id: 'lost' });
    await chats.leave('guild', 'bob');
    await chats.setRole('guild', 'carl', 'reader');
    const again = (sender: string, id: string) => chats.post('guild', sender, 'again', { id });
    expect(await again('bob', 'lost')).toEqual({ id: 1, isDuplicate: true });
    expect(await again('carl', 'lost')).toEqual({ id: 2, isDuplicate: true });
    await expect(again('bob', 'new')).rejects.toBeInstanceOf(NotAllowedError);
    await expectRefusal(again('carl', 'new'), 'ERR_READ_ONLY_MEMBER');
    // Also when several travel together; messages of others stay theirs.
    const outcomes = await outcomesOf([
      again('bob', 'lost'),
      again('anna', 'lost'),
      again('carl', 'lost'),
      again('bob', 'new'),
      again('mallory', 'lost'),
    ]);
    expect(outcomes).toEqual([
      { id: 1, isDuplicate: true },
      { id: 3, isDuplicate: false },
      { id: 2, isDuplicate: true },
      'ERR_NOT_A_MEMBER',
      'ERR_NOT_A_MEMBER',
    ]);
  });

  test('a refused sender does not delay others of the same tick', async () => {
    const chats = await openChat();
    await chats.join('guild', 'rita', { role: 'reader' });
    const senders = ['anna', 'mallory', 'rita', 'bob', 'mallory', 'anna'];
    const ids = senders.map(async (sender) => (await chats.post('guild', sender, sender)).id);
    const notAMember = 'ERR_NOT_A_MEMBER';
    expect(await outcomesOf(ids)).toEqual([1, notAMember, 'ERR_READ_ONLY_MEMBER', 2, notAMember, 3]);
    const { entries } = await look();
    expect(entries.map(({ from }) => from)).toEqual(['anna', 'bob', 'anna']);
  });

  test("D13: a sender who dies leaves no lock: there are only the chat's own keys", async () => {
    const chats = await openChat();
    const dying = connect();
    const posts = upTo(20).map(async (n) => new Chats(dying, { prefix }).post('guild', 'bob', n));
    dying.disconnect();
    await Promise.allSettled(posts);
    expect((await chats.post('guild', 'anna', 'on')).isDuplicate).toBe(false);
    const own = (await keys()).filter((key) => key.startsWith('{guild}'));
    expect(own).toEqual(['{guild}:chat', '{guild}:ids', '{guild}:log']);
  });

  test('D21: a sender without unread messages has read their own; another one keeps theirs', async () => {
    const chats = await openChat();
    await chats.post('guild', 'anna', 1);
    expect((await look()).cursors).toEqual({ anna: 1, bob: 0, carl: 0 });
    await chats.post('guild', 'bob', 2);
    expect((await look()).cursors).toEqual({ anna: 1, bob: 0, carl: 0 });
    await chats.ack('guild', 'bob', 2);
    await Promise.all([
      chats.post('guild', 'bob', 3),
      chats.post('guild', 'bob', 4),
      chats.post('guild', 'anna', 5),
    ]);
    expect((await look()).cursors).toEqual({ anna: 1, bob: 4, carl: 0 });
  });

  test('a chat of one keeps nothing: all of its members have read it', async () => {
    const chats = open();
    await chats.create({ chatId: 'solo', sender: 'anna', members: [], body: 1 });
    await chats.post('solo', 'anna', 2);
    expect(await look('solo')).toMatchObject({ lastId: 2, entries: [], cursors: { anna: 2 } });
    expect(await keys()).not.toContain('{solo}:log');
  });

  test('a chat of one keeps as many as keepAcked says', async () => {
    const chats = open({ keepAcked: 2 });
    await chats.create({ chatId: 'solo', sender: 'anna', members: [], body: 1 });
    for (const body of [2, 3, 4]) await chats.post('solo', 'anna', body);
    const { entries, bytes, storedBytes } = await look('solo');
    expect(entries.map(({ id }) => id)).toEqual([3, 4]);
    expect(bytes).toBe(storedBytes);
  });

  test('the oldest messages go when there are more than maxMessages, and the sender learns their ids', async () => {
    const chats = await openChat({ maxMessages: 3 });
    for (const body of [1, 2, 3]) await chats.post('guild', 'anna', body);
    expect(await chats.post('guild', 'bob', 4)).toEqual({
      id: 4,
      isDuplicate: false,
      dropped: { fromId: 1, toId: 1 },
    });
    const results = await Promise.all([5, 6].map((body) => chats.post('guild', 'bob', body)));
    expect(results.map(({ dropped }) => dropped)).toEqual([2, 2].map(() => ({ fromId: 2, toId: 3 })));
    const { entries, bytes, storedBytes } = await look();
    expect(entries.map(({ id }) => id)).toEqual([4, 5, 6]);
    expect(bytes).toBe(storedBytes);
  });

  test('the oldest messages go when there are more bytes than maxBytes, but never the newest', async () => {
    const chats = await openChat({ maxBytes: 1_024, maxPayloadBytes: 1_024 });
    for (let n = 1; n <= 3; n += 1) await chats.post('guild', 'anna', 'x'.repeat(400));
    let state = await look();
    expect(state.entries.map(({ id }) => id)).toEqual([2, 3]);
    expect(state.bytes).toBe(state.storedBytes);
    await chats.post('guild', 'anna', 'x'.repeat(1_022));
    state = await look();
    expect(state.entries.map(({ id }) => id)).toEqual([4]);
    expect(state.bytes).toBe(state.storedBytes);
  });

  test('messages older than keepMs go when another one is posted', async () => {
    const chats = await openChat({ keepMs: 60_000 });
    for (const body of [1, 2, 3]) await chats.post('guild', 'anna', body);
    // Made two minutes older: the chat, and its time of the last message.
    const chat = keyOf('chat');
    await redis.zincrby(chat, 120_000, '\0e');
    const { bytes: before } = await look();
    expect(await chats.post('guild', 'anna', 4)).toMatchObject({ id: 4, dropped: { fromId: 1, toId: 3 } });
    const { entries, bytes, storedBytes } = await look();
    expect(entries.map(({ id }) => id)).toEqual([4]);
    expect(before).toBeGreaterThan(bytes);
    expect(bytes).toBe(storedBytes);
  });

  test('a call drops 1,000 messages at most, and the next ones go on', async () => {
    const post = (chats: Chats, count: number, from: number) =>
      Promise.all(Array.from({ length: count }, (_, n) => chats.post('guild', 'anna', from + n)));
    const chats = await openChat({ keepMs: 60_000 });
    await post(chats, 2_500, 1);
    const few = new Chats(redis, { prefix, maxMessages: 10 });
    const dropped = [];
    for (let n = 0; n < 3; n += 1) dropped.push((await few.post('guild', 'anna', n)).dropped);
    expect(dropped).toEqual([
      { fromId: 1, toId: 1_000 },
      { fromId: 1_001, toId: 2_000 },
      { fromId: 2_001, toId: 2_493 },
    ]);
    expect((await look()).entries).toHaveLength(10);

    // Made two minutes older: the next message finds it, and so does every 32nd one then, until nothing old is left.
    await post(chats, 2_000, 1);
    await redis.zincrby(keyOf('chat'), 120_000, '\0e');
    await post(chats, 1, 1);
    expect((await look()).entries).toHaveLength(1_011);
    for (let n = 0; n < 64; n += 1) await chats.post('guild', 'anna', n);
    const { entries, bytes, storedBytes } = await look();
    expect(entries).toHaveLength(65);
    expect(bytes).toBe(storedBytes);
  });

  test('a log that has expired is begun anew: ids go on, its bytes are counted from 0', async () => {
    const chats = await openChat();
    for (const body of [1, 2, 3]) await chats.post('guild', 'anna', body);
    await redis.del(keyOf('log'));
    expect(await chats.post('guild', 'anna', 4)).toEqual({ id: 4, isDuplicate: false });
    const { lastId, bytes, storedBytes } = await look();
    expect({ lastId, bytes }).toEqual({ lastId: 4, bytes: storedBytes });
  });

  test('instants never go back, even if the clock of the server does', async () => {
    const chats = await openChat();
    await chats.post('guild', 'anna', 1);
    const chat = keyOf('chat');
    // The last message, and the chat itself, came from a clock that is a minute ahead.
    await redis.zadd(chat, '-60000', '\0t');
    await chats.post('guild', 'anna', 2);
    await redis.zincrby(chat, -600_000, '\0e');
    await chats.post('guild', 'anna', 3);
    expect((await look()).instants).toEqual([expect.any(Number), 60_000, 60_000]);
  });

  test('bodies are any JSON value, and come back as they were', async () => {
    const chats = await openChat();
    const bodies = [null, false, 0, '', 'a\0b', '\u2028😀', [], {}, [[]], { '': null }, 1e300, '"\\\n'];
    for (const body of bodies) await chats.post('guild', 'anna', body);
    expect((await look()).entries.map(({ body }) => body)).toEqual(bodies);
  });

  test('refuses a body that is too large before it sends anything', async () => {
    const chats = await openChat({ maxPayloadBytes: 8 });
    await expectRefusal(chats.post('guild', 'anna', '1234567'), 'ERR_BODY_TOO_LARGE', {
      bytes: 9,
      maxBytes: 8,
    });
    await expect(chats.post('guild', 'anna', 'ééé')).resolves.toMatchObject({ id: 1 });
    await expect(chats.post('guild', 'anna', 'éééé')).rejects.toBeInstanceOf(InvalidBodyError);
    expect((await look()).lastId).toBe(1);
  });

  test.each([
    ['chatId', '', 'anna', undefined, RangeError],
    ['chatId', 1, 'anna', undefined, TypeError],
    ['sender', 'guild', 'x'.repeat(1_025), undefined, RangeError],
    ['sender', 'guild', null, undefined, TypeError],
    ['id', 'guild', 'anna', '', RangeError],
    ['id', 'guild', 'anna', 7, TypeError],
  ])('a %s that is no name is refused: %j %j %j', async (option, chatId, sender, id, kind) => {
    const chats = open();
    const posting = chats.post(chatId as string, sender as string, 1, { id: id as unknown as string });
    await expect(posting).rejects.toBeInstanceOf(kind);
    await expect(chats.post(chatId as string, sender as string, 1, { id: id as string })).rejects.toThrow(
      option,
    );
    expect(await keys()).toEqual([]);
  });

  test.each<[string, unknown]>([
    ['NaN', Number.NaN],
    ['an infinity deep inside', { a: [Infinity] }],
    ['a Map', new Map([[1, 2]])],
    ['a function in an object', { a: () => 1 }],
    ['undefined', undefined],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['undefined in an array', [undefined]],
    ['a BigInt', 1n],
    ['a Date that is none', new Date(Number.NaN)],
  ])('a body that JSON would change is refused: %s', async (_, body) => {
    const own = freshPrefix();
    const mailboxes = new Mailboxes(redis, { prefix: own });
    const chats = new Chats(redis, { prefix: own });
    for (const call of [mailboxes.send('jack', body, { from: 'anna' }), chats.post('c', 'anna', body)]) {
      await expect(call).rejects.toMatchObject({ name: 'InvalidBodyError', code: 'ERR_INVALID_BODY' });
    }
    expect(await redis.keys(`${own}:*`)).toEqual([]);
  });

  test.each([129, 100_000])('bodies nested %d deep are refused, and nothing is sent', async (depth) => {
    const chats = await openChat({ maxPayloadBytes: 1_048_576 });
    const mailboxes = new Mailboxes(redis, { prefix, maxPayloadBytes: 1_048_576 });
    await chats.post('guild', 'anna', 'x');
    const body = nest(depth);
    const before = await keys();
    const refusals = await Promise.allSettled([
      mailboxes.send('jack', body, { from: 'anna' }),
      mailboxes.sendMany([1, body].map((each) => ({ recipient: 'jack', body: each, from: 'anna' }))),
      chats.post('guild', 'anna', body),
      chats.edit('guild', 'anna', 1, body),
      chats.create({ chatId: 'new', sender: 'anna', members: [], body }),
    ]);
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({ status: 'rejected', reason: expect.any(InvalidBodyError) });
      expect(refusal).toMatchObject({ reason: { code: 'ERR_INVALID_BODY', maxDepth: 128 } });
    }
    expect(await keys()).toEqual(before);
    expect(await chats.history('guild')).toHaveLength(1);
  });

  test('bodies of 128 levels, and brackets in strings, are taken', async () => {
    const mailboxes = new Mailboxes(redis, { prefix: freshPrefix() });
    const bodies = [nest(128), ['"['.repeat(300), '\\'.repeat(300)]];
    for (const body of bodies) await mailboxes.send('joe', body, { from: 'anna' });
    expect((await mailboxes.receive('joe')).map(({ body }) => body)).toEqual(bodies);
  });
});

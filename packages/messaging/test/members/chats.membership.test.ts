import { describe, expect, test } from '@jest/globals';
import { HOSTILE } from '../fixture/chat-state.js';
import { keyOf, keys, look, open, openChat, redis, upTo } from '../fixture/guild.js';
import { expectRefusal, outcomesOf } from '../fixture/outcomes.js';

describe('create', () => {
  test('makes a chat of the sender, its owner, and the members, all at the beginning', async () => {
    const chats = open();
    const given = { chatId: 'guild', sender: 'anna', members: ['bob', 'anna', 'bob'] };
    expect(await chats.create(given)).toEqual({ chatId: 'guild', isNew: true });
    expect(await look()).toMatchObject({
      lastId: 0,
      cursors: { anna: 0, bob: 0 },
      roles: { anna: 'owner', bob: 'member' },
      entries: [],
    });
    expect(await redis.zrange(keyOf('chats', 'bob'), '0', '-1')).toEqual(['guild']);
  });

  test('with a body the chat begins with a message, which its sender has read', async () => {
    const chats = open();
    const given = { chatId: 'guild', sender: 'anna', members: ['bob'], body: { n: 1 } };
    expect(await chats.create(given)).toEqual({ chatId: 'guild', isNew: true, id: 1 });
    const { cursors, entries, bytes, storedBytes, epoch } = await look();
    expect({ cursors, entries }).toEqual({
      cursors: { anna: 1, bob: 0 },
      entries: [{ id: 1, kind: 'message', from: 'anna', body: { n: 1 } }],
    });
    expect(bytes).toBe(storedBytes);
    expect(Math.abs(epoch - Date.now())).toBeLessThan(60_000);
    expect(await chats.post('guild', 'bob', 2)).toEqual({ id: 2, isDuplicate: false });
  });

  test('gives the chat an id when it gets none', async () => {
    const chats = open();
    const [first, second] = await Promise.all(
      [1, 2].map(() => chats.create({ sender: 'anna', members: ['bob'] })),
    );
    expect(first!.chatId).toMatch(/^[0-9a-f-]{36}$/);
    expect(first!.chatId).not.toBe(second!.chatId);
  });

  test('an existing chat is not changed; its first message is known by its id', async () => {
    const chats = open();
    const first = { chatId: 'guild', sender: 'anna', members: ['bob'], body: 1, id: 'x' };
    expect(await chats.create(first)).toEqual({ chatId: 'guild', isNew: true, id: 1 });
    await chats.post('guild', 'bob', 2);
    await chats.ack('guild', 'anna', 2);
    const before = await look();
    expect(await chats.create(first)).toEqual({ chatId: 'guild', isNew: false, id: 1 });
    const other = { ...first, sender: 'mallory', members: ['eve'], id: 'y' };
    expect(await chats.create(other)).toEqual({ chatId: 'guild', isNew: false });
    expect(await chats.post('guild', 'anna', 3, { id: 'x' })).toEqual({ id: 1, isDuplicate: true });
    expect(await look()).toEqual(before);
  });

  test('many that create the same chat at once make one', async () => {
    const chats = open();
    const given = { chatId: 'guild', sender: 'anna', members: ['bob'], body: 1 };
    const results = await Promise.all(upTo(20).map(() => chats.create(given)));
    expect(results.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect((await look()).lastId).toBe(1);
  });

  test('a chat that is created again has a higher epoch, and nothing of the earlier one', async () => {
    const chats = open();
    let epoch = 0;
    for (let n = 0; n < 20; n += 1) {
      await chats.create({ chatId: 'guild', sender: 'anna', members: ['bob'], body: n, id: 'x' });
      const state = await look();
      expect(state.epoch).toBeGreaterThan(epoch);
      expect(state.entries).toEqual([{ id: 1, kind: 'message', from: 'anna', body: n }]);
      epoch = state.epoch;
      await Promise.all(['anna', 'bob'].map((member) => chats.leave('guild', member)));
    }
  });

  test('never has the epoch of an earlier chat of its name, whatever the clocks show', async () => {
    const chats = open();
    const ahead = Date.now() + 600_000;
    // As if two masters were 10 minutes ahead: their index entries have the same instant.
    for (const member of ['anna', 'bob']) await redis.zadd(keyOf('chats', member), ahead, 'guild');
    const epochs: number[] = [];
    for (const member of ['anna', 'bob', 'carl']) {
      const given = { chatId: 'guild', sender: member, members: ['eve'], body: 1 };
      expect(await chats.create(given)).toMatchObject({ isNew: true });
      epochs.push((await look()).epoch);
      for (const epoch of epochs.slice(0, -1)) {
        await expectRefusal(chats.ack('guild', 'eve', 1, { epoch }), 'ERR_UNKNOWN_MESSAGE');
      }
      await Promise.all([member, 'eve'].map((leaver) => chats.leave('guild', leaver)));
    }
    expect(epochs).toEqual([ahead + 1, ahead + 2, ahead + 3]);
  });

  test('the epoch of an ended chat is remembered for an hour, and until the clock is past it', async () => {
    const chats = open();
    const ahead = Date.now() + 600_000;
    const remember = async (member: string): Promise<[epoch: number, expiresAt: number]> => {
      await chats.create({ chatId: 'guild', sender: member, members: [] });
      const { epoch } = await look();
      await chats.leave('guild', member);
      expect(await redis.get(keyOf('ended'))).toBe(`${epoch}`);
      return [epoch, Number(await redis.call('pexpiretime', keyOf('ended')))];
    };
    const [epoch, expiresAt] = await remember('anna');
    const [seconds] = await redis.time();
    expect(expiresAt).toBeGreaterThanOrEqual(epoch + 3_600_000);
    expect(expiresAt).toBeLessThan(1_000 * Number(seconds) + 3_601_000);

    await redis.zadd(keyOf('chats', 'bob'), ahead, 'guild');
    expect(await remember('bob')).toEqual([ahead + 1, ahead + 1 + 3_600_000]);
  });

  test('leftovers of a chat whose head was evicted are not taken over', async () => {
    const chats = await openChat();
    await chats.post('guild', 'bob', 'old', { id: 'x' });
    await redis.del(keyOf('chat'));
    await chats.create({ chatId: 'guild', sender: 'anna', members: ['bob'] });
    expect(await chats.post('guild', 'bob', 'new', { id: 'x' })).toEqual({ id: 1, isDuplicate: false });
    expect((await look()).entries.map(({ body }) => body)).toEqual(['new']);
  });

  test('holds as many members as maxMembers says, also more than a thousand', async () => {
    const chats = open({ maxMembers: 1_200 });
    const members = Array.from({ length: 1_200 }, (_, n) => `m${n}`);
    await expectRefusal(chats.create({ chatId: 'guild', sender: 'anna', members }), 'ERR_TOO_MANY_MEMBERS', {
      members: 1_201,
      maxMembers: 1_200,
    });
    expect(await keys()).toEqual([]);
    await chats.create({ chatId: 'guild', sender: 'anna', members: members.slice(1), body: 1 });
    expect(await redis.zcard(keyOf('chat'))).toBe(1_204);
    await expectRefusal(chats.join('guild', 'm0'), 'ERR_TOO_MANY_MEMBERS');
  });

  test('refuses invalid names, lists and bodies, and changes nothing', async () => {
    const chats = open({ maxPayloadBytes: 8 });
    const bad = { chatId: 'guild', sender: 'anna', members: ['bob'] };
    await expect(chats.create({ ...bad, sender: '' })).rejects.toThrow('sender');
    await expect(chats.create({ ...bad, chatId: '' })).rejects.toThrow('chatId');
    await expect(chats.create({ ...bad, members: ['bob', ''] })).rejects.toThrow('member');
    await expect(chats.create({ ...bad, members: 'bob' as unknown as string[] })).rejects.toThrow('members');
    await expectRefusal(chats.create({ ...bad, body: 1n }), 'ERR_INVALID_BODY');
    await expectRefusal(chats.create({ ...bad, body: 'x'.repeat(7) }), 'ERR_BODY_TOO_LARGE');
    await expect(chats.create({ ...bad, body: 1, id: '' })).rejects.toThrow('id');
    expect(await keys()).toEqual([]);
  });
});

describe('join', () => {
  test('begins after the newest message', async () => {
    const chats = await openChat();
    await chats.post('guild', 'anna', 1);
    expect(await chats.join('guild', 'dora')).toEqual({ isNew: true, ackedId: 1 });
    expect(await look()).toMatchObject({
      cursors: { anna: 1, bob: 0, carl: 0, dora: 1 },
      roles: { dora: 'member' },
    });
    expect(await redis.zrange(keyOf('chats', 'dora'), '0', '-1')).toEqual(['guild']);
  });

  test('remembers the id before it while older messages are stored, until the member leaves', async () => {
    const chats = await openChat();
    const joined = (): Promise<string[]> => redis.zrange(keyOf('joined'), '0', '-1', 'WITHSCORES');
    await chats.join('guild', 'early');
    expect(await joined()).toEqual([]);
    for (const body of [1, 2]) await chats.post('guild', 'anna', body);
    await Promise.all([chats.join('guild', 'dora'), chats.join('guild', 'eve', { role: 'reader' })]);
    await chats.join('guild', 'dora');
    expect(await joined()).toEqual(['dora', '2', 'eve', '2']);
    await chats.post('guild', 'anna', 3);
    await chats.leave('guild', 'dora');
    await chats.join('guild', 'dora');
    expect(await joined()).toEqual(['eve', '2', 'dora', '3']);
    for (const member of ['early', 'bob', 'carl', 'eve']) await chats.ack('guild', member, 2);
    await chats.join('guild', 'finn');
    expect(await joined()).toEqual(['dora', '3', 'finn', '3']);
    for (const member of ['early', 'bob', 'carl', 'eve']) await chats.ack('guild', member, 3);
    await chats.join('guild', 'gus');
    expect(await joined()).toEqual([]);
  });

  test('D9: a member who joins again keeps their cursor and their role', async () => {
    const chats = await openChat();
    for (const body of [1, 2]) await chats.post('guild', 'anna', body);
    await chats.ack('guild', 'bob', 1);
    expect(await chats.join('guild', 'bob', { role: 'reader' })).toEqual({ isNew: false, ackedId: 1 });
    expect(await chats.join('guild', 'anna')).toEqual({ isNew: false, ackedId: 2 });
    const { cursors, roles } = await look();
    expect(cursors).toEqual({ anna: 2, bob: 1, carl: 0 });
    expect(roles).toEqual({ anna: 'owner', bob: 'member', carl: 'member' });
  });

  test('D9: refuses an unknown chat', async () => {
    const chats = await openChat();
    await expectRefusal(chats.join('other', 'anna'), 'ERR_UNKNOWN_CHAT', { chatId: 'other' });
    for (const member of ['anna', 'bob', 'carl']) await chats.leave('guild', member);
    await expectRefusal(chats.join('guild', 'anna'), 'ERR_UNKNOWN_CHAT');
    expect(await keys()).toEqual(['{guild}:ended', '{guild}:left', '{other}:left']);
    expect(await redis.pttl(keyOf('left', 'other'))).toBeGreaterThan(0);
  });

  test('many that join at once are all in, once each', async () => {
    const chats = await openChat();
    const names = Array.from({ length: 60 }, (_, n) => `m${n % 30}`);
    const results = await Promise.all(names.map((name) => chats.join('guild', name, { role: 'reader' })));
    expect(results.filter(({ isNew }) => isNew)).toHaveLength(30);
    expect(Object.keys((await look()).cursors)).toHaveLength(33);
  });

  test('a full chat is not changed', async () => {
    const chats = await openChat({ maxMembers: 4 });
    const results = await Promise.allSettled(['d', 'e', 'bob'].map((name) => chats.join('guild', name)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    await expectRefusal(chats.join('guild', 'e'), 'ERR_TOO_MANY_MEMBERS', { members: 5, maxMembers: 4 });
    expect(Object.keys((await look()).cursors)).toHaveLength(4);
  });

  test('refuses an unknown role', async () => {
    const chats = await openChat();
    await expect(chats.join('guild', 'dora', { role: 'admin' as 'owner' })).rejects.toThrow('role');
    expect((await look()).cursors).not.toHaveProperty('dora');
  });
});

describe('leave', () => {
  test('takes the member out and frees what the others have acked', async () => {
    const chats = await openChat();
    for (const body of [1, 2, 3]) await chats.post('guild', 'anna', body);
    await chats.ack('guild', 'bob', 2);
    expect(await chats.leave('guild', 'carl')).toBe(true);
    const { cursors, entries, bytes, storedBytes } = await look();
    expect(cursors).toEqual({ anna: 3, bob: 2 });
    expect(entries.map(({ id }) => id)).toEqual([3]);
    expect(bytes).toBe(storedBytes);
    await chats.leave('guild', 'bob');
    expect(await redis.exists(keyOf('log'))).toBe(0);
  });

  test('happens once; a non-member has not left, nor has anybody an unknown chat', async () => {
    const chats = await openChat();
    const leaves = ['bob', 'bob', 'eve'].map((name) => chats.leave('guild', name));
    expect(await Promise.all(leaves)).toEqual([true, false, false]);
    expect(await chats.leave('guild', 'bob')).toBe(false);
    expect(await chats.leave('other', 'bob')).toBe(false);
    expect(await redis.exists(keyOf('chat', 'other'))).toBe(0);
  });

  test('with the last member all keys of the chat go, but for its epoch and who left', async () => {
    const chats = await openChat();
    await chats.post('guild', 'anna', 1, { id: 'x' });
    await chats.edit('guild', 'anna', 1, 2);
    await redis.rename(keyOf('ids'), keyOf('ids-before'));
    await chats.post('guild', 'anna', 1, { id: 'y' });
    expect((await keys()).filter((name) => name.startsWith('{guild}'))).toEqual(
      ['chat', 'ids', 'ids-before', 'log', 'uncounted'].map((part) => `{guild}:${part}`),
    );
    await Promise.all(['anna', 'bob', 'carl'].map((member) => chats.leave('guild', member)));
    expect(await keys()).toEqual(['{guild}:ended', '{guild}:left']);
  });

  test('a member who comes back begins after the newest message', async () => {
    const chats = await openChat();
    await chats.post('guild', 'anna', 1);
    await chats.leave('guild', 'bob');
    await chats.post('guild', 'anna', 2);
    expect(await chats.join('guild', 'bob')).toEqual({ isNew: true, ackedId: 2 });
  });

  test('keeps as many acked messages as keepAcked says', async () => {
    const chats = await openChat({ keepAcked: 2 });
    for (const body of [1, 2, 3, 4]) await chats.post('guild', 'anna', body);
    await chats.ack('guild', 'bob', 4);
    await chats.leave('guild', 'carl');
    const { entries, bytes, storedBytes } = await look();
    expect(entries.map(({ id }) => id)).toEqual([3, 4]);
    expect(bytes).toBe(storedBytes);
  });
});

describe('ack', () => {
  test('moves the cursor forward and frees what all have acked', async () => {
    const chats = await openChat();
    for (const body of [1, 2, 3]) await chats.post('guild', 'anna', body);
    expect(await chats.ack('guild', 'bob', 3)).toBe(3);
    expect((await look()).entries).toHaveLength(3);
    expect(await chats.ack('guild', 'carl', 2)).toBe(2);
    let state = await look();
    expect(state.entries.map(({ id }) => id)).toEqual([3]);
    expect(state.bytes).toBe(state.storedBytes);
    expect(await chats.ack('guild', 'carl', 3)).toBe(3);
    state = await look();
    expect(state.cursors).toEqual({ anna: 3, bob: 3, carl: 3 });
    expect(await redis.exists(keyOf('log'))).toBe(0);
  });

  test('never moves it back: a lower id returns the cursor', async () => {
    const chats = await openChat();
    for (const body of [1, 2, 3]) await chats.post('guild', 'anna', body);
    const acks = [2, 0, 3, 1].map((id) => chats.ack('guild', 'bob', id));
    expect(await Promise.all(acks)).toEqual([2, 2, 3, 3]);
    expect(await chats.ack('guild', 'bob', 1)).toBe(3);
  });

  test('an id that no message has yet is refused, and nothing is changed', async () => {
    const chats = await openChat();
    await chats.post('guild', 'anna', 1);
    await expectRefusal(chats.ack('guild', 'bob', 2), 'ERR_UNKNOWN_MESSAGE', { id: 2, lastId: 1 });
    await expect(chats.ack('guild', 'bob', Number.MAX_SAFE_INTEGER)).rejects.toThrow(
      'chat "guild" has no message',
    );
    expect((await look()).cursors).toMatchObject({ bob: 0 });
  });

  test('an id of a chat that has ended acks nothing in one of the same name', async () => {
    const chats = await openChat();
    for (const body of [1, 2]) await chats.post('guild', 'anna', body);
    const [{ epoch } = { epoch: 0 }] = await chats.pull('bob');
    expect(await chats.ack('guild', 'bob', 1, { epoch })).toBe(1);
    for (const member of ['anna', 'bob', 'carl']) await chats.leave('guild', member);
    await chats.create({ chatId: 'guild', sender: 'anna', members: ['bob', 'carl'] });
    for (const body of [3, 4]) await chats.post('guild', 'anna', body);
    const [{ epoch: present } = { epoch: 0 }] = await chats.pull('bob');
    expect(present).toBeGreaterThan(epoch);
    await expectRefusal(chats.ack('guild', 'bob', 2, { epoch }), 'ERR_UNKNOWN_MESSAGE', {
      message: expect.stringContaining(`chat "guild" has no message 2 of epoch ${epoch}, the last one is 2`),
    });
    // Also where several travel together, each with its own.
    const acks = [
      chats.ack('guild', 'bob', 2, { epoch }),
      chats.ack('guild', 'carl', 1, { epoch }),
      chats.ack('guild', 'eve', 1, { epoch }),
      chats.ack('guild', 'bob', 1, { epoch: present }),
      chats.ack('guild', 'carl', 1),
    ];
    const unknown = 'ERR_UNKNOWN_MESSAGE';
    expect(await outcomesOf(acks)).toEqual([unknown, unknown, 'ERR_NOT_A_MEMBER', 1, 1]);
    expect((await look()).cursors).toMatchObject({ bob: 1, carl: 1 });
  });

  test.each([Number.NaN, 0, -1, 0.5, '1', null])('refuses an invalid epoch: %p', async (epoch) => {
    const chats = await openChat();
    await expect(chats.ack('guild', 'bob', 0, { epoch: epoch as number })).rejects.toThrow('epoch');
  });

  test('refuses a non-member, and adds none', async () => {
    const chats = await openChat();
    await chats.post('guild', 'anna', 1);
    const [eve, bob] = ['eve', 'bob'].map((name) => chats.ack('guild', name, 1));
    await expectRefusal(eve!, 'ERR_NOT_A_MEMBER', { member: 'eve' });
    expect(await bob).toBe(1);
    await expectRefusal(chats.ack('other', 'bob', 0), 'ERR_UNKNOWN_CHAT');
    expect(Object.keys((await look()).cursors)).toEqual(['carl', 'bob', 'anna']);
  });

  test.each([Number.NaN, -1, 0.5, Infinity, '1', null])('refuses an invalid id: %p', async (id) => {
    const chats = await openChat();
    await expect(chats.ack('guild', 'bob', id as number)).rejects.toThrow('upToId');
  });

  test('frees the oldest of very many in one call', async () => {
    const chats = await openChat();
    await Promise.all(upTo(2_500).map((n) => chats.post('guild', 'anna', n)));
    await chats.leave('guild', 'carl');
    await chats.ack('guild', 'bob', 2_400);
    const { entries, bytes, storedBytes } = await look();
    expect(entries).toHaveLength(100);
    expect(bytes).toBe(storedBytes);
  });
});

describe('setRole', () => {
  test('a reader reads and acks, and writes nothing', async () => {
    const chats = await openChat();
    await chats.post('guild', 'bob', 1);
    await chats.setRole('guild', 'bob', 'reader', { by: 'anna' });
    await expectRefusal(chats.post('guild', 'bob', 2), 'ERR_READ_ONLY_MEMBER', {
      chatId: 'guild',
      member: 'bob',
    });
    await expectRefusal(chats.edit('guild', 'bob', 1, 2), 'ERR_READ_ONLY_MEMBER');
    await expectRefusal(chats.delete('guild', 'bob', 1), 'ERR_READ_ONLY_MEMBER');
    await chats.post('guild', 'anna', 2);
    expect(await chats.ack('guild', 'bob', 2)).toBe(2);
    const { cursors, roles } = await look();
    expect(cursors).toEqual({ anna: 0, bob: 2, carl: 0 });
    expect(roles).toEqual({ anna: 'owner', bob: 'reader', carl: 'member' });
    await chats.setRole('guild', 'bob', 'owner');
    expect(await chats.post('guild', 'bob', 3)).toMatchObject({ id: 3 });
    expect((await look()).cursors).toMatchObject({ bob: 3 });
  });

  test('with `by`, only an owner may do it', async () => {
    const chats = await openChat();
    await expectRefusal(chats.setRole('guild', 'bob', 'owner', { by: 'carl' }), 'ERR_NOT_ALLOWED', {
      member: 'carl',
    });
    await expectRefusal(chats.setRole('guild', 'bob', 'owner', { by: 'eve' }), 'ERR_NOT_A_MEMBER', {
      member: 'eve',
    });
    await expectRefusal(chats.setRole('guild', 'eve', 'owner', { by: 'anna' }), 'ERR_NOT_A_MEMBER', {
      member: 'eve',
    });
    await expectRefusal(chats.setRole('other', 'bob', 'owner'), 'ERR_UNKNOWN_CHAT');
    await expect(chats.setRole('guild', 'bob', 'god' as 'owner')).rejects.toThrow('role');
    const { roles, cursors } = await look();
    expect(roles).toEqual({ anna: 'owner', bob: 'member', carl: 'member' });
    expect(Object.keys(cursors)).toHaveLength(3);
  });
});

test('any names will do, for chats, members and ids', async () => {
  const chats = open();
  for (const name of HOSTILE) {
    await chats.create({ chatId: name, sender: 'anna', members: HOSTILE });
    for (const isDuplicate of [false, true])
      expect(await chats.post(name, name, name, { id: name })).toEqual({ id: 1, isDuplicate });
    const { entries, cursors } = await look(name);
    expect(entries).toMatchObject([{ from: name, body: name }]);
    expect(Object.keys(cursors).toSorted()).toEqual(['anna', ...HOSTILE].toSorted());
    expect(await chats.ack(name, name, 1)).toBe(1);
    expect(await chats.leave(name, name)).toBe(true);
    expect(await chats.join(name, name, { role: 'reader' })).toEqual({ isNew: true, ackedId: 1 });
    await chats.setRole(name, name, 'owner', { by: 'anna' });
    expect(await look(name)).toMatchObject({ roles: { [name]: 'owner' } });
  }
});

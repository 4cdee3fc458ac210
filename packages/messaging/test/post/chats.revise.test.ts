import { describe, expect, test } from '@jest/globals';
import type { Chats, ChatsOptions } from '@mortise/messaging';
import { keyOf, look, openChat as openGuild, redis } from '../fixture/guild.js';
import { expectRefusal } from '../fixture/outcomes.js';

/** A chat of anna (its owner), bob and carl, with a message of bob's. */
async function openChat(options: ChatsOptions = {}): Promise<Chats> {
  const chats = await openGuild(options);
  await chats.post('guild', 'bob', 'one');
  return chats;
}

describe('edit', () => {
  test('changes the message in place, and appends an event with an id of its own', async () => {
    const chats = await openChat();
    await chats.post('guild', 'anna', 'two');
    expect(await chats.edit('guild', 'bob', 1, 'ONE')).toEqual({ id: 3, isDuplicate: false });
    const { entries, instants, bytes, storedBytes, uncounted, lastId } = await look();
    expect(entries).toEqual([
      { id: 1, kind: 'message', from: 'bob', body: 'ONE' },
      { id: 2, kind: 'message', from: 'anna', body: 'two' },
      { id: 3, kind: 'edit', from: 'bob', body: 'ONE', revises: 1 },
    ]);
    expect(instants[0]).toBeLessThanOrEqual(instants[1]!);
    expect({ bytes, uncounted, lastId }).toEqual({ bytes: storedBytes, uncounted: [3], lastId: 3 });
  });

  test('with an id it is done once', async () => {
    const chats = await openChat();
    expect(await chats.edit('guild', 'bob', 1, 'a', { id: 'x' })).toEqual({ id: 2, isDuplicate: false });
    expect(await chats.edit('guild', 'bob', 1, 'b', { id: 'x' })).toEqual({ id: 2, isDuplicate: true });
    await chats.delete('guild', 'bob', 1);
    expect(await chats.edit('guild', 'bob', 1, 'c', { id: 'x' })).toEqual({ id: 2, isDuplicate: true });
    expect((await look()).lastId).toBe(3);
  });

  test('an id is one of the edits of one message: not of a post, nor of an edit of another one', async () => {
    const chats = await openChat();
    await chats.post('guild', 'bob', 'two', { id: 'x' });
    expect(await chats.edit('guild', 'bob', 2, 'TWO', { id: 'x' })).toEqual({ id: 3, isDuplicate: false });
    expect(await chats.edit('guild', 'bob', 1, 'ONE', { id: 'x' })).toEqual({ id: 4, isDuplicate: false });
    expect(await chats.edit('guild', 'bob', 1, '1', { id: 'x' })).toEqual({ id: 4, isDuplicate: true });
    expect(await chats.post('guild', 'bob', 'two', { id: 'x' })).toEqual({ id: 2, isDuplicate: true });
    const uuid = '0197a5b2-7c1e-7d3a-9f00-0123456789ab';
    await chats.edit('guild', 'bob', 1, '1', { id: uuid });
    expect(await chats.edit('guild', 'bob', 2, '2', { id: uuid })).toEqual({ id: 6, isDuplicate: false });
    expect((await look()).entries.slice(0, 2).map(({ body }) => body)).toEqual(['1', '2']);
  });

  test('only the author may, not even an owner', async () => {
    const chats = await openChat();
    const before = await look();
    for (const sender of ['anna', 'carl']) {
      await expectRefusal(chats.edit('guild', sender, 1, 'x'), 'ERR_NOT_ALLOWED', {
        chatId: 'guild',
        member: sender,
      });
    }
    await expectRefusal(chats.edit('guild', 'eve', 1, 'x'), 'ERR_NOT_A_MEMBER');
    await expectRefusal(chats.edit('other', 'bob', 1, 'x'), 'ERR_UNKNOWN_CHAT');
    expect(await look()).toEqual(before);
  });

  test('a name that begins like the author is another one', async () => {
    const chats = await openChat();
    await chats.join('guild', 'bo');
    await expect(chats.edit('guild', 'bo', 1, 'x')).rejects.toMatchObject({ code: 'ERR_NOT_ALLOWED' });
  });

  test('refuses to edit an event, and a deleted, freed or future message', async () => {
    const chats = await openChat();
    await chats.edit('guild', 'bob', 1, 'x');
    await chats.post('guild', 'bob', 'three');
    await chats.delete('guild', 'bob', 3);
    const before = await look();
    for (const id of [2, 3, 4, 5, Number.MAX_SAFE_INTEGER]) {
      await expectRefusal(chats.edit('guild', 'bob', id, 'y'), 'ERR_UNKNOWN_MESSAGE', { id, lastId: 4 });
    }
    expect(await look()).toEqual(before);
    await Promise.all(['anna', 'bob', 'carl'].map((member) => chats.ack('guild', member, 4)));
    await expectRefusal(chats.edit('guild', 'bob', 1, 'y'), 'ERR_UNKNOWN_MESSAGE');
  });

  test('a message that all have acked can be edited while keepAcked keeps it', async () => {
    const chats = await openChat({ keepAcked: 2 });
    await Promise.all(['anna', 'bob', 'carl'].map((member) => chats.ack('guild', member, 1)));
    expect(await chats.edit('guild', 'bob', 1, 'x')).toMatchObject({ id: 2 });
    expect((await look()).entries).toMatchObject([
      { id: 1, body: 'x' },
      { id: 2, body: 'x' },
    ]);
  });

  test.each([0, -1, 1.5, Number.NaN, '1'])('refuses an invalid id: %p', async (id) => {
    const chats = await openChat();
    await expect(chats.edit('guild', 'bob', id as number, 'x')).rejects.toThrow('messageId');
    await expect(chats.delete('guild', 'bob', id as number)).rejects.toThrow('messageId');
  });

  test('bodies are checked as those of messages are', async () => {
    const chats = await openChat({ maxPayloadBytes: 8 });
    await expectRefusal(chats.edit('guild', 'bob', 1, 'x'.repeat(7)), 'ERR_BODY_TOO_LARGE');
    await expectRefusal(chats.edit('guild', 'bob', 1, undefined), 'ERR_INVALID_BODY');
    expect((await look()).lastId).toBe(1);
  });

  test('limits hold for events too, and dropped ids are reported', async () => {
    const chats = await openChat({ maxMessages: 2 });
    await chats.post('guild', 'bob', 'two');
    expect(await chats.edit('guild', 'bob', 2, 'TWO')).toEqual({
      id: 3,
      isDuplicate: false,
      dropped: { fromId: 1, toId: 1 },
    });
    const { entries, bytes, storedBytes } = await look();
    expect(entries.map(({ id, body }) => [id, body])).toEqual([
      [2, 'TWO'],
      [3, 'TWO'],
    ]);
    expect(bytes).toBe(storedBytes);
  });
});

describe('delete', () => {
  test('leaves an empty place and tells so in an event; neither counts as unread', async () => {
    const chats = await openChat();
    await chats.post('guild', 'anna', 'two');
    expect(await chats.delete('guild', 'bob', 1)).toEqual({ id: 3, isDuplicate: false });
    const { entries, bytes, storedBytes, uncounted } = await look();
    expect(entries).toEqual([
      { id: 1, kind: 'deleted', from: '', body: undefined, revises: 3 },
      { id: 2, kind: 'message', from: 'anna', body: 'two' },
      { id: 3, kind: 'delete', from: 'bob', body: undefined, revises: 1 },
    ]);
    expect({ bytes, uncounted }).toEqual({ bytes: storedBytes, uncounted: [1, 3] });
  });

  test.each([
    ['stored', 'bob'],
    ['freed', 'anna'],
  ])('of a message that is %s, repeated, it tells the first one', async (place, sender) => {
    const chats = await openChat();
    if (place === 'freed') {
      await Promise.all(['anna', 'bob', 'carl'].map((member) => chats.ack('guild', member, 1)));
    }
    for (const isDuplicate of [false, true])
      expect(await chats.delete('guild', sender, 1)).toEqual({ id: 2, isDuplicate });
    expect((await look()).lastId).toBe(2);
  });

  test('a member who only reads by now gets the id of the deletion that they made before', async () => {
    const chats = await openChat();
    await chats.delete('guild', 'bob', 1);
    await chats.setRole('guild', 'bob', 'reader');
    expect(await chats.delete('guild', 'bob', 1)).toEqual({ id: 2, isDuplicate: true });
    await expectRefusal(chats.delete('guild', 'bob', 2), 'ERR_READ_ONLY_MEMBER');
  });

  test('the author may, and an owner; others may not', async () => {
    const chats = await openChat();
    await expectRefusal(chats.delete('guild', 'carl', 1), 'ERR_NOT_ALLOWED', { member: 'carl' });
    expect(await chats.delete('guild', 'anna', 1)).toMatchObject({ id: 2 });
    expect((await look()).entries[1]).toMatchObject({ kind: 'delete', from: 'anna' });
  });

  test('an owner may tell the deletion of a message that has been freed; others may not', async () => {
    const chats = await openChat();
    await Promise.all(['anna', 'bob', 'carl'].map((member) => chats.ack('guild', member, 1)));
    await expectRefusal(chats.delete('guild', 'bob', 1), 'ERR_UNKNOWN_MESSAGE');
    await expectRefusal(chats.delete('guild', 'anna', 2), 'ERR_UNKNOWN_MESSAGE');
    expect(await chats.delete('guild', 'anna', 1)).toEqual({ id: 2, isDuplicate: false });
    expect(await look()).toMatchObject({
      entries: [{ id: 2, kind: 'delete', revises: 1 }],
      cursors: { anna: 2, bob: 1, carl: 1 },
      uncounted: [2],
    });
  });

  test('entries that all have acked go, with their marks', async () => {
    const chats = await openChat();
    await chats.delete('guild', 'bob', 1);
    await chats.post('guild', 'bob', 'three');
    await Promise.all(['anna', 'bob'].map((member) => chats.ack('guild', member, 3)));
    await chats.ack('guild', 'carl', 1);
    expect(await look()).toMatchObject({ entries: [{ id: 2 }, { id: 3 }], uncounted: [2] });
    await chats.ack('guild', 'carl', 3);
    expect(await redis.exists(keyOf('uncounted'))).toBe(0);
  });
});

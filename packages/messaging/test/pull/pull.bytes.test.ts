import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { Pulled, PullOptions } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';

const redis = connect();

/** As JSON it has 1,000 bytes. */
const KILO = 'x'.repeat(998);

interface Filled {
  readonly prefix: string;
  readonly chats: Chats;
  readonly chatIds: readonly string[];
}

/** Chats of Anna and Ben, in which she has posted. */
async function filled(count: number, messages: number): Promise<Filled> {
  const prefix = freshPrefix();
  const chats = new Chats(redis, { prefix });
  const chatIds = Array.from({ length: count }, (_, index) => `chat ${10 + index}`);
  for (const chatId of chatIds) await chats.create({ sender: 'anna', members: ['ben'], chatId });
  const post = async (chatId: string): Promise<void> => {
    for (let message = 0; message < messages; message += 1) await chats.post(chatId, 'anna', KILO);
  };
  await Promise.all(chatIds.map(post));
  return { prefix, chats, chatIds };
}

const idsOf = (pulled: readonly Pulled[]): unknown[] =>
  pulled.map(({ chatId, messages }) => [chatId, messages.map(({ id }) => id)]);

/** Pulls and acks until nothing comes any more. */
async function drain(chats: Chats, options: PullOptions): Promise<Pulled[]> {
  const all: Pulled[] = [];
  for (;;) {
    const pulled = await chats.pull('ben', options);
    if (pulled.length === 0) return all;
    all.push(...pulled);
    for (const { chatId, messages } of pulled) await chats.ack(chatId, 'ben', messages.at(-1)!.id);
  }
}

describe('maxReplyBytes of pull', () => {
  test('bounds one reply; the other messages come with the next ones, in order', async () => {
    const { chats, chatIds } = await filled(3, 8);
    const first = await chats.pull('ben', { maxReplyBytes: 6_000 });
    const bytes = first.flatMap(({ messages }) => messages).length * 1_000;
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(6_000);
    const all = await drain(chats, { maxReplyBytes: 6_000 });
    for (const chatId of chatIds) {
      const ids = all.filter((chat) => chat.chatId === chatId).flatMap(({ messages }) => messages);
      expect(ids.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    }
  });

  test('counts all unread messages, also those without room', async () => {
    const { chats } = await filled(1, 8);
    const [pulled] = await chats.pull('ben', { maxReplyBytes: 3_500 });
    expect(pulled).toMatchObject({ unread: 8, lastId: 8, ackedId: 0 });
    expect(pulled!.messages.map(({ id }) => id)).toEqual([1, 2, 3]);
    await chats.ack('chat 10', 'ben', 3);
    expect(await chats.pull('ben', { maxReplyBytes: 3_500, limit: 4 })).toMatchObject([
      { unread: 5, ackedId: 3 },
    ]);
  });

  test('the first message of all comes at any size, and then no other', async () => {
    const { chats, chatIds } = await filled(3, 2);
    expect(idsOf(await chats.pull('ben', { maxReplyBytes: 1 }))).toEqual([[chatIds[0], [1]]]);
    expect(await drain(chats, { maxReplyBytes: 1 })).toHaveLength(6);
  });

  test('a message without room stays unread, also the only one of its chat', async () => {
    const { chats, chatIds } = await filled(3, 1);
    expect(idsOf(await chats.pull('ben', { maxReplyBytes: 1_500 }))).toEqual([[chatIds[0], [1]]]);
    expect(await chats.chatsOf('ben')).toMatchObject(chatIds.map(() => ({ unread: 1 })));
    expect(idsOf(await drain(chats, { maxReplyBytes: 1_500 }))).toEqual(
      chatIds.map((chatId) => [chatId, [1]]),
    );
  });

  test('each chat has its share: one with much does not delay the others', async () => {
    const { chats, chatIds } = await filled(3, 2);
    for (let message = 0; message < 20; message += 1) await chats.post(chatIds[0]!, 'anna', KILO);
    const pulled = await chats.pull('ben', { maxReplyBytes: 7_000 });
    expect(pulled.map(({ chatId }) => chatId)).toEqual(chatIds);
    for (const { messages } of pulled) expect(messages).toHaveLength(2);
  });

  test('deleted messages take no room', async () => {
    const { chats } = await filled(1, 5);
    for (const id of [1, 2, 3]) await chats.delete('chat 10', 'anna', id);
    const pulled = await chats.pull('ben', { maxReplyBytes: 2_200 });
    expect(idsOf(pulled)).toEqual([['chat 10', [4, 5, 6, 7, 8]]]);
    expect(pulled[0]!.unread).toBe(2);
  });

  test('autoAck acks the returned messages and no others', async () => {
    const { chats } = await filled(2, 3);
    const seen: string[] = [];
    for (;;) {
      const pulled = await chats.pull('ben', { maxReplyBytes: 2_300, autoAck: true });
      if (pulled.length === 0) break;
      seen.push(...pulled.flatMap(({ chatId, messages }) => messages.map(({ id }) => `${chatId}: ${id}`)));
    }
    expect(seen.toSorted()).toEqual(
      [1, 2, 3].map((id) => `chat 10: ${id}`).concat([1, 2, 3].map((id) => `chat 11: ${id}`)),
    );
  });
});

test('bounds messages of chats that were quiet, too', async () => {
  const { chats, chatIds } = await filled(3, 0);
  // The first look finds the chats read, the second one their logs empty.
  for (let look = 0; look < 2; look += 1) expect(await chats.pull('ben')).toEqual([]);
  for (const chatId of chatIds)
    for (let message = 0; message < 4; message += 1) await chats.post(chatId, 'anna', KILO);
  const pulled = await chats.pull('ben', { maxReplyBytes: 6_200 });
  expect(idsOf(pulled)).toEqual(chatIds.map((chatId) => [chatId, [1, 2]]));
  expect(pulled.map(({ unread }) => unread)).toEqual([4, 4, 4]);
  expect(await drain(chats, { maxReplyBytes: 1_900 })).toHaveLength(12);
});

test('Redis sends at most twice the bytes and one message', async () => {
  const { prefix, chats, chatIds } = await filled(2, 0);
  for (const chatId of chatIds)
    await Promise.all(Array.from({ length: 300 }, () => chats.post(chatId, 'anna', KILO)));
  const own = connect();
  const pulling = new Chats(own, { prefix });
  await own.ping();
  const before = own.stream.bytesRead;
  await pulling.pull('ben', { limit: 300, maxReplyBytes: 10_000 });
  expect(own.stream.bytesRead - before).toBeLessThan(2 * 10_000 + 1_000);
});

test('refuses an invalid bound', async () => {
  const chats = new Chats(redis, { prefix: freshPrefix() });
  for (const maxReplyBytes of [0, -1, 1.5, Number.NaN, 2 ** 28 + 1])
    await expect(chats.pull('ben', { maxReplyBytes })).rejects.toThrow(RangeError);
});

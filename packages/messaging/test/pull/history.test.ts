import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { ChatsOptions, HistoryOptions } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';

const redis = connect();

/** A chat with so many messages, of which none goes away. */
async function filled(count: number, options: ChatsOptions = {}) {
  const chats = new Chats<string>(redis, { prefix: freshPrefix(), ...options });
  const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
  await Promise.all(Array.from({ length: count }, (_, index) => chats.post(chatId, 'anna', `m${index + 1}`)));
  const ids = async (page: HistoryOptions = {}): Promise<number[]> =>
    (await chats.history(chatId, page)).map(({ id }) => id);
  return { chats, chatId, ids };
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

describe('history', () => {
  test('gives the last messages, with ascending ids', async () => {
    const { chats, chatId, ids } = await filled(5);
    expect(await ids()).toEqual([1, 2, 3, 4, 5]);
    expect(await ids({ limit: 2 })).toEqual([4, 5]);
    expect((await chats.history(chatId, { limit: 1 }))[0]).toEqual({
      id: 5,
      kind: 'message',
      from: 'anna',
      body: 'm5',
      sentAt: expect.any(Number),
    });
  });

  test('goes back by `before`, and forth by `after`', async () => {
    const { ids } = await filled(10);
    expect(await ids({ before: 9, limit: 3 })).toEqual([6, 7, 8]);
    expect(await ids({ before: 3, limit: 3 })).toEqual([1, 2]);
    expect(await ids({ before: 1 })).toEqual([]);
    expect(await ids({ before: 100, limit: 2 })).toEqual([9, 10]);
    expect(await ids({ after: 2, limit: 3 })).toEqual([3, 4, 5]);
    expect(await ids({ after: 8, limit: 3 })).toEqual([9, 10]);
    expect(await ids({ after: 10 })).toEqual([]);
    expect(await ids({ after: 1_000 })).toEqual([]);
    expect(await ids({ after: 2, before: 6 })).toEqual([3, 4, 5]);
    expect(await ids({ after: 2, before: 9, limit: 2 })).toEqual([3, 4]);
    expect(await ids({ after: 5, before: 5 })).toEqual([]);
  });

  test('pages are full, and have everything together, despite deletions', async () => {
    const { chats, chatId, ids } = await filled(300);
    for (const id of [...range(1, 130), 140, ...range(200, 299)]) await chats.delete(chatId, 'anna', id);
    const kept = [...range(131, 139), ...range(141, 199), 300];
    const events = range(301, 531);
    const forth: number[] = [];
    for (let after = 0; ; after = forth.at(-1)!) {
      const page = await ids({ after, limit: 7 });
      forth.push(...page);
      if (page.length < 7) break;
    }
    expect(forth).toEqual([...kept, ...events]);
    const back: number[][] = [];
    for (let before = 1_000; ; before = back[0]![0]!) {
      const page = await ids({ before, limit: 7 });
      back.unshift(page);
      if (page.length < 7) break;
    }
    expect(back.flat()).toEqual([...kept, ...events]);
    expect(await ids({ before: 131 })).toEqual([]);
    expect(await ids({ after: 199, limit: 1 })).toEqual([300]);
  });

  test('reads on over more deleted messages than one script call looks at', async () => {
    const prefix = freshPrefix();
    const chats = new Chats(redis, { prefix, maxMessages: 100_000 });
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'], body: 'first' });
    const count = 12_000;
    const log = `${prefix}:messaging:{${chatId}}:log`;
    await redis.rpush(log, ...range(2, count).map((id) => `${id}:X1:99999`));
    await redis.zadd(`${prefix}:messaging:{${chatId}}:chat`, -count, '\0l');
    await redis.zadd(
      `${prefix}:messaging:{${chatId}}:uncounted`,
      ...range(2, count).flatMap((id) => [id, id]),
    );
    await chats.post(chatId, 'anna', 'last');
    const ids = async (page: HistoryOptions): Promise<number[]> =>
      (await chats.history(chatId, page)).map(({ id }) => id);
    expect(await ids({ after: 1 })).toEqual([count + 1]);
    expect(await ids({ before: count + 1 })).toEqual([1]);
    expect(await ids({ after: 1, before: count + 1 })).toEqual([]);
    await chats.ack(chatId, 'ben', 1);
    const [chat] = await chats.pull('ben');
    expect(chat).toMatchObject({ unread: 1, messages: [{ id: count + 1, body: 'last' }] });
  });

  test('has edited bodies in their places, and edits and deletions as events', async () => {
    const { chats, chatId } = await filled(3);
    await chats.edit(chatId, 'anna', 1, 'better');
    await chats.delete(chatId, 'anna', 2);
    expect(
      (await chats.history(chatId)).map(({ id, kind, body, revises }) => [id, kind, body, revises]),
    ).toEqual([
      [1, 'message', 'better', undefined],
      [3, 'message', 'm3', undefined],
      [4, 'edit', 'better', 1],
      [5, 'delete', undefined, 2],
    ]);
  });

  test('keeps acked messages only as far as `keepAcked`', async () => {
    const { chats, chatId, ids } = await filled(10, { keepAcked: 4 });
    await chats.ack(chatId, 'ben', 8);
    expect(await ids()).toEqual([7, 8, 9, 10]);
    const none = await filled(10);
    await none.chats.ack(none.chatId, 'ben', 10);
    expect(await none.ids()).toEqual([]);
    expect(await none.ids({ after: 3 })).toEqual([]);
  });

  test('of an unknown chat is refused', async () => {
    const { chats } = await filled(0);
    await expect(chats.history('no chat')).rejects.toMatchObject({
      code: 'ERR_UNKNOWN_CHAT',
      chatId: 'no chat',
    });
  });

  test.each([
    { limit: 0 },
    { limit: 1_001 },
    { before: 0 },
    { before: -1 },
    { after: -1 },
    { after: 1.5 },
    { before: Number.NaN },
  ])('%p is refused', async (options) => {
    const { chats, chatId } = await filled(0);
    await expect(chats.history(chatId, options)).rejects.toThrow(RangeError);
  });
});

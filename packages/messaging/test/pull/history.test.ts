import { describe, expect, test } from '@jest/globals';
import type { ChatsOptions, HistoryOptions } from '@mortise/messaging';
import { keyOf, open, redis, upTo } from '../fixture/guild.js';

/** A chat with so many messages, of which none goes away. */
async function filled(count: number, options: ChatsOptions = {}) {
  const chats = open(options);
  const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
  await Promise.all(upTo(count).map((n) => chats.post(chatId, 'anna', `m${n}`)));
  const ids = async (page: HistoryOptions = {}): Promise<number[]> =>
    (await chats.history(chatId, page)).map(({ id }) => id);
  return { chats, chatId, ids };
}

const range = (from: number, to: number): number[] => upTo(to).slice(from - 1);

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
    const pages: [HistoryOptions, number[]][] = [
      [{ before: 9, limit: 3 }, [6, 7, 8]],
      [{ before: 3, limit: 3 }, [1, 2]],
      [{ before: 1 }, []],
      [{ before: 100, limit: 2 }, [9, 10]],
      [{ after: 2, limit: 3 }, [3, 4, 5]],
      [{ after: 8, limit: 3 }, [9, 10]],
      [{ after: 10 }, []],
      [{ after: 1_000 }, []],
      [{ after: 2, before: 6 }, [3, 4, 5]],
      [{ after: 2, before: 9, limit: 2 }, [3, 4]],
      [{ after: 5, before: 5 }, []],
    ];
    for (const [page, wanted] of pages) expect([page, await ids(page)]).toEqual([page, wanted]);
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
    const { chats, chatId, ids } = await filled(1, { maxMessages: 100_000 });
    const count = 12_000;
    const deleted = range(2, count);
    await redis.rpush(keyOf('log', chatId), ...deleted.map((id) => `${id}:X1:99999`));
    await redis.zadd(keyOf('chat', chatId), -count, '\0l');
    await redis.zadd(keyOf('uncounted', chatId), ...deleted.flatMap((id) => [id, id]));
    await chats.post(chatId, 'anna', 'last');
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
    const refusal = { code: 'ERR_UNKNOWN_CHAT', chatId: 'no chat' };
    await expect(chats.history('no chat')).rejects.toMatchObject(refusal);
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

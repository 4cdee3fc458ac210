/** How the bytes of a reply are divided, and what that asks of Redis. */
import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { ChatsOptions, Pulled, PullOptions } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';
import { stepwise } from '../fixture/stepwise-client.js';

const redis = connect();
/** Bytes of an entry besides its body, at most. */
const HEAD_BYTES = 40;
/** Bytes of a reply for a chat besides its entries: head, cursor, counts. */
const CHAT_BYTES = 500;

/** A body of so many bytes as JSON. */
const bodyOf = (bytes: number): string => 'x'.repeat(bytes - 2);

interface Room {
  readonly prefix: string;
  readonly chats: Chats;
  readonly post: (chatId: string, bytes: number, count?: number) => Promise<void>;
}

/** Chats of anna, ben and cleo. */
async function create(chatIds: readonly string[]): Promise<Room> {
  const prefix = freshPrefix();
  const chats = new Chats(redis, { prefix });
  const writer = new Chats(redis, { prefix, maxPayloadBytes: 8 * 1_048_576 });
  await Promise.all(
    chatIds.map((chatId) => chats.create({ sender: 'anna', members: ['ben', 'cleo'], chatId })),
  );
  const post = async (chatId: string, bytes: number, count = 1): Promise<void> => {
    for (let message = 0; message < count; message += 1) await writer.post(chatId, 'anna', bodyOf(bytes));
  };
  return { prefix, chats, post };
}

const namesOf = (count: number): string[] => Array.from({ length: count }, (_, index) => `c${100 + index}`);

const bytesIn = (pulled: readonly Pulled[]): number =>
  pulled.flatMap(({ messages }) => messages).reduce((sum, { body }) => sum + (body as string).length + 2, 0);

async function ack(chats: Chats, pulled: readonly Pulled[]): Promise<void> {
  for (const { chatId, messages } of pulled) await chats.ack(chatId, 'ben', messages.at(-1)!.id);
}

/** Chats in which anna has posted messages of 1,000 bytes. */
async function filled(count: number, messages: number): Promise<Room & { chatIds: readonly string[] }> {
  const chatIds = namesOf(count);
  const room = await create(chatIds);
  await Promise.all(chatIds.map((chatId) => room.post(chatId, 1_000, messages)));
  return { ...room, chatIds };
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
    await ack(chats, pulled);
  }
}

/** The bytes that Redis sends for a pull, and its result. */
async function sentFor(
  prefix: string,
  { isQuiet, ...options }: PullOptions & { isQuiet: boolean },
  fill: () => Promise<unknown>,
): Promise<{ sent: number; pulled: Pulled[] }> {
  const own = connect();
  const chats = new Chats(own, { prefix });
  await own.ping();
  // The first look finds the chats read, the others their logs empty.
  for (let look = 0; look < (isQuiet ? 3 : 0); look += 1) expect(await chats.pull('ben')).toEqual([]);
  await fill();
  const before = own.stream.bytesRead;
  const pulled = await chats.pull('ben', options);
  return { sent: own.stream.bytesRead - before, pulled };
}

describe.each([
  ['one that was read natively', 6_000, [1, 2]],
  ['one that was read by the script', 1, [1]],
])('D1: a chat that cannot be decoded takes no room: %s', (_, maxReplyBytes, ids) => {
  test('another one has all of it, though the damaged one waits for longer', async () => {
    const { prefix, chats, post } = await create(['a', 'b']);
    await post('a', 2_000);
    await post('b', 2_500, 2);
    await redis.lset(`${prefix}:messaging:{a}:log`, 0, `1:0:anna\0{${'x'.repeat(2_000)}`);
    const reported: string[] = [];
    const pulled = await chats.pull('ben', {
      maxReplyBytes,
      onUnreadable: ({ chatId }) => reported.push(chatId),
    });
    expect(pulled).toMatchObject([{ chatId: 'b', unread: 2 }]);
    expect(pulled[0]!.messages.map(({ id }) => id)).toEqual(ids);
    expect(reported).toEqual(['a']);
  });
});

test('D1: of many that cannot be decoded, none keeps a small pull from the one that can', async () => {
  const names = namesOf(6);
  const { prefix, chats, post } = await create(names);
  for (const chatId of names) await post(chatId, 1_000);
  for (const chatId of names.slice(0, -1))
    await redis.lset(`${prefix}:messaging:{${chatId}}:log`, 0, `1:0:anna\0{${'x'.repeat(1_000)}`);
  const onUnreadable = (): void => undefined;
  expect(await chats.pull('ben', { maxReplyBytes: 1_500, onUnreadable })).toMatchObject([
    { chatId: names.at(-1), messages: [{ id: 1 }] },
  ]);
});

test.each([
  ['that were quiet', true],
  ['of which nothing is known', false],
])('D2: Redis sends for 200 chats %s no more than twice the bytes and a message', async (_, isQuiet) => {
  const names = namesOf(200);
  const { prefix, post } = await create(names);
  const { sent, pulled } = await sentFor(prefix, { maxReplyBytes: 10_000, isQuiet }, () =>
    Promise.all(names.map((chatId) => post(chatId, 60_000))),
  );
  expect(bytesIn(pulled)).toBe(60_000);
  expect(sent).toBeLessThan(2 * 10_000 + 60_000 + names.length * CHAT_BYTES);
});

describe('D3: a message that is larger than what is left', () => {
  test('comes next when it has waited longest', async () => {
    const busy = namesOf(4);
    const { prefix, chats, post } = await create([...busy, 'large']);
    await post('large', 8_000);
    // Not in the same millisecond as the others, of which the first one would come.
    await redis.zincrby(`${prefix}:messaging:{large}:chat`, 10, '\0e');
    for (const chatId of busy) await post(chatId, 1_000, 10);
    const pulled = await chats.pull('ben', { maxReplyBytes: 10_000 });
    expect(pulled.at(-1)).toMatchObject({ chatId: 'large', messages: [{ id: 1 }] });
    expect(pulled.length).toBeGreaterThan(1);
    expect(bytesIn(pulled)).toBeLessThanOrEqual(10_000);
  });

  test.each([8_000, 12_000])('comes when older ones are read: %d bytes', async (bytes) => {
    const busy = namesOf(4);
    const { chats, post } = await create([...busy, 'large']);
    for (const chatId of busy) await post(chatId, 1_000, 10);
    await post('large', bytes);
    // 40 older messages, nine in each reply.
    let hasCome = false;
    for (let pulls = 0; pulls < 6 && !hasCome; pulls += 1) {
      const pulled = await chats.pull('ben', { maxReplyBytes: 10_000 });
      hasCome = pulled.some(({ chatId }) => chatId === 'large');
      await ack(chats, pulled);
      // As much as was read is posted again: no chat ever has less.
      for (const { chatId, messages } of pulled) await post(chatId, 1_000, messages.length);
    }
    expect(hasCome).toBe(true);
  });
});

test('D4: Redis sends at most twice the bytes and one message, also with larger messages of other writers', async () => {
  const names = namesOf(10);
  const { prefix, post } = await create(names);
  const maxReplyBytes = 2_000_000;
  const { sent, pulled } = await sentFor(prefix, { maxReplyBytes, isQuiet: true }, async () => {
    for (const chatId of names) await post(chatId, 500_000, 3);
  });
  expect(bytesIn(pulled)).toBe(1_500_000);
  expect(sent).toBeLessThan(2 * maxReplyBytes + 500_000 + names.length * CHAT_BYTES);
});

describe('D5: room that one chat leaves goes to others', () => {
  test('where its log holds what only others have yet to read', async () => {
    const { chats, post } = await create(['a', 'b']);
    await post('a', 1_000, 30);
    await post('b', 1_000, 20);
    await chats.ack('b', 'ben', 19);
    const pulled = await chats.pull('ben', { maxReplyBytes: 20 * (1_000 + HEAD_BYTES) });
    expect(pulled.map(({ messages }) => messages.length)).toEqual([19, 1]);
  });

  test('where its next message is too large for it', async () => {
    const { chats, post } = await create(['a', 'b', 'large']);
    for (const chatId of ['a', 'b']) await post(chatId, 1_000, 20);
    await post('large', 15_000);
    const pulled = await chats.pull('ben', { maxReplyBytes: 12 * (1_000 + HEAD_BYTES) });
    expect(pulled.map(({ chatId, messages }) => [chatId, messages.length])).toEqual([
      ['a', 6],
      ['b', 6],
    ]);
  });

  test('where it holds less than its part', async () => {
    const { chats, post } = await create(['a', 'b', 'c']);
    await post('a', 1_000, 20);
    await post('b', 1_000, 2);
    await post('c', 1_000, 30);
    const pulled = await chats.pull('ben', { maxReplyBytes: 20 * (1_000 + HEAD_BYTES) });
    expect(pulled.map(({ messages }) => messages.length)).toEqual([9, 2, 9]);
  });
});

/** How many round trips each pull takes: what is sent while a reply is under way shares its. And how many steps these have. */
async function roundTripsOf(
  prefix: string,
  pulls: readonly PullOptions[],
  options: ChatsOptions = {},
): Promise<[number[], number[]]> {
  let [trips, steps, underWay] = [0, 0, 0];
  const counting = stepwise(redis, async (_, send) => {
    steps += 1;
    if (underWay === 0) trips += 1;
    underWay += 1;
    try {
      return await send();
    } finally {
      underWay -= 1;
    }
  });
  const chats = new Chats(counting, { prefix, ...options });
  const counts: [number[], number[]] = [[], []];
  for (const wanted of pulls) {
    [trips, steps] = [0, 0];
    await chats.pull('ben', wanted);
    counts[0].push(trips);
    counts[1].push(steps);
  }
  return counts;
}

describe('round trips of pull', () => {
  test('two when nothing is new, then one; on a single node with slots it is refused once to ask for several logs together', async () => {
    const { prefix } = await create(namesOf(30));
    expect((await roundTripsOf(prefix, [{}, {}, {}, {}]))[0]).toEqual([2, 2, 1, 1]);
  });

  test('three if all fits, four if not, for any number of chats', async () => {
    const names = namesOf(30);
    const { prefix, post } = await create(names);
    for (const [index, chatId] of names.entries()) await post(chatId, 100 + 200 * index, 5);
    // Scripts that the server may not know.
    await roundTripsOf(prefix, [{ maxReplyBytes: 1_000 }]);
    const bounds = [1, 5_000, 20_000, 200_000].map((maxReplyBytes) => ({ maxReplyBytes }));
    // The first one learns that the server has slots.
    const [[, whole, ...bounded]] = await roundTripsOf(prefix, [{}, {}, ...bounds]);
    expect(whole).toBe(3);
    expect(Math.max(...bounded)).toBe(4);
  });

  test('three also if not all fits, while less than an eighth of the bytes is left', async () => {
    const names = namesOf(4);
    const { prefix, chats, post } = await create(names);
    for (const chatId of names) await post(chatId, 1_000, 30);
    const maxReplyBytes = 4 * 10 * 1_050;
    await roundTripsOf(prefix, [{ maxReplyBytes }]);
    expect(await roundTripsOf(prefix, [{ maxReplyBytes }])).toEqual([[3], [2 + names.length]]);
    expect((await chats.pull('ben', { maxReplyBytes })).map(({ messages }) => messages.length)).toEqual([
      10, 10, 10, 10,
    ]);
    // One more message goes out when an eighth of the bytes is left.
    const less = 4 * 1_700;
    expect((await roundTripsOf(prefix, [{ maxReplyBytes: less }]))[0]).toEqual([4]);
    expect(
      (await chats.pull('ben', { maxReplyBytes: less })).flatMap(({ messages }) => messages),
    ).toHaveLength(6);
  });

  test('three for a new chat, and for one that has dropped more than it may keep', async () => {
    const { prefix, chats, post } = await create(['a', 'b']);
    await post('a', 100, 12);
    await post('b', 100, 2);
    await roundTripsOf(prefix, [{ maxReplyBytes: 100 }]);
    expect((await roundTripsOf(prefix, [{}, {}]))[0][1]).toBe(3);
    const writer = new Chats(redis, { prefix, maxMessages: 5 });
    await writer.post('a', 'anna', 'x');
    expect(await chats.pull('ben')).toMatchObject([{ gap: { fromId: 1 } }, {}]);
    const trips = async (options: ChatsOptions): Promise<number> =>
      (await roundTripsOf(prefix, [{}], options))[0][0]!;
    expect(await trips({ maxMessages: 5 })).toBe(3);
  });

  test('unused bytes go to few chats, not a byte to each', async () => {
    const names = namesOf(40);
    const { prefix, post } = await create(names);
    for (const chatId of names) await post(chatId, 150, 4);
    // Each part has one message of some 165 bytes, and some 80 are left of it.
    const [, [steps]] = await roundTripsOf(prefix, [{ maxReplyBytes: 40 * 250 }]);
    // Index and heads; then a script for each chat; then one for each 1,024 bytes.
    expect(steps).toBeGreaterThan(2 + names.length);
    expect(steps).toBeLessThanOrEqual(2 + names.length + 4);
  });
});

describe('a chat that gets a second pass', () => {
  const idsFrom = (first: number, last: number): number[] =>
    Array.from({ length: last + 1 - first }, (_, index) => first + index);

  /** The first pass has ten of twelve messages of `a`; `b` leaves room for the others. */
  test.each<[string, object, number[], (room: Room) => Promise<unknown>]>([
    ['returns what fits', { unread: 12 }, idsFrom(1, 12), () => Promise.resolve()],
    ['counts a post in between', { unread: 13, lastId: 13 }, idsFrom(1, 12), ({ post }) => post('a', 1_000)],
    [
      'begins after an ack in between',
      { unread: 1, ackedId: 11 },
      [12],
      ({ chats }) => chats.ack('a', 'ben', 11),
    ],
    [
      'has no gap after a trim in between',
      { unread: 1, ackedId: 11 },
      [12],
      async ({ chats }) => {
        for (const member of ['ben', 'cleo']) await chats.ack('a', member, 11);
      },
    ],
    ['is omitted after a leave in between', {}, [], ({ chats }) => chats.leave('a', 'ben')],
    [
      'is the later chat of its name',
      { unread: 12, messages: idsFrom(1, 12).map((id) => ({ id, body: bodyOf(100) })) },
      idsFrom(1, 12),
      async ({ prefix, chats, post }) => {
        for (const member of ['anna', 'ben', 'cleo']) await chats.leave('a', member);
        await chats.create({ sender: 'anna', members: ['ben'], chatId: 'a' });
        await redis.zincrby(`${prefix}:messaging:{a}:chat`, -5, '\0e');
        await post('a', 100, 12);
      },
    ],
  ])('%s', async (_, wanted, ids, happen) => {
    const room = await create(['a', 'b']);
    const { prefix, chats, post } = room;
    await post('a', 1_000, 12);
    await post('b', 1_000, 20);
    await chats.ack('b', 'ben', 19);
    // Index and heads, then a script for each of the two.
    const firstPass = 4;
    const interrupted = stepwise(redis, async (step, send) => {
      const reply = await send();
      if (step === firstPass) await happen(room);
      return reply;
    });
    const pulled = await new Chats(interrupted, { prefix }).pull('ben', {
      maxReplyBytes: 20 * (1_000 + HEAD_BYTES),
    });
    const a = { chatId: 'a', lastId: 12, ackedId: 0, ...wanted };
    expect(pulled).toMatchObject([...(ids.length > 0 ? [a] : []), { chatId: 'b', unread: 1 }]);
    expect(pulled.slice(0, -1).flatMap(({ messages }) => messages.map(({ id }) => id))).toEqual(ids);
  });
});

test('a chat that was quiet and lost its new messages by hand or eviction reports the gap', async () => {
  const { prefix, chats, post } = await create(['a', 'b']);
  for (let look = 0; look < 3; look += 1) expect(await chats.pull('ben')).toEqual([]);
  await post('a', 100, 2);
  expect(await chats.pull('ben')).toMatchObject([{ chatId: 'a', unread: 2 }]);
  await redis.del(`${prefix}:messaging:{a}:log`);
  expect(await chats.pull('ben')).toMatchObject([{ chatId: 'a', gap: { fromId: 1, toId: 2 }, unread: 0 }]);
});

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
    await chats.ack('c100', 'ben', 3);
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
    const { chats, chatIds, post } = await filled(3, 2);
    await post(chatIds[0]!, 1_000, 20);
    const pulled = await chats.pull('ben', { maxReplyBytes: 7_000 });
    expect(pulled.map(({ chatId }) => chatId)).toEqual(chatIds);
    for (const { messages } of pulled) expect(messages).toHaveLength(2);
  });

  test('deleted messages take no room', async () => {
    const { chats } = await filled(1, 5);
    for (const id of [1, 2, 3]) await chats.delete('c100', 'anna', id);
    const pulled = await chats.pull('ben', { maxReplyBytes: 2_200 });
    expect(idsOf(pulled)).toEqual([['c100', [4, 5, 6, 7, 8]]]);
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
      [1, 2, 3].map((id) => `c100: ${id}`).concat([1, 2, 3].map((id) => `c101: ${id}`)),
    );
  });
});

test('bounds messages of chats that were quiet, too', async () => {
  const { chats, chatIds, post } = await filled(3, 0);
  // The first look finds the chats read, the second one their logs empty.
  for (let look = 0; look < 2; look += 1) expect(await chats.pull('ben')).toEqual([]);
  for (const chatId of chatIds) await post(chatId, 1_000, 4);
  const pulled = await chats.pull('ben', { maxReplyBytes: 6_200 });
  expect(idsOf(pulled)).toEqual(chatIds.map((chatId) => [chatId, [1, 2]]));
  expect(pulled.map(({ unread }) => unread)).toEqual([4, 4, 4]);
  expect(await drain(chats, { maxReplyBytes: 1_900 })).toHaveLength(12);
});

test('Redis sends at most twice the bytes and one message', async () => {
  const { prefix, chatIds, post } = await filled(2, 0);
  const { sent } = await sentFor(prefix, { limit: 300, maxReplyBytes: 10_000, isQuiet: false }, () =>
    Promise.all(chatIds.map((chatId) => post(chatId, 1_000, 300))),
  );
  expect(sent).toBeLessThan(2 * 10_000 + 1_000);
});

test('refuses an invalid bound', async () => {
  const chats = new Chats(redis, { prefix: freshPrefix() });
  for (const maxReplyBytes of [0, -1, 1.5, Number.NaN, 2 ** 28 + 1])
    await expect(chats.pull('ben', { maxReplyBytes })).rejects.toThrow(RangeError);
});

/** Changes between two round trips of one pull, at each place where one can happen. */
import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { ChatsOptions, Pulled } from '@mortise/messaging';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { stepwise } from '../fixture/stepwise-client.js';
import { subscribed } from '../fixture/subscribed.js';

const redis = connect();
const HEADS = 2;
const MAX_MESSAGES = 5;

/** A chat of three, with three messages of the first. */
async function found(chats: Chats): Promise<void> {
  await chats.create({ sender: 'anna', members: ['ben', 'cleo'], chatId: 'c' });
  for (const body of [1, 2, 3]) await chats.post('c', 'anna', body);
}

/** Chats for others, and the same for a member to whom something happens after a step. */
async function play(
  behind: number,
  happen: (chats: Chats, prefix: string) => Promise<unknown>,
  options: ChatsOptions = {},
) {
  const prefix = freshPrefix();
  const chats = new Chats(redis, { prefix, ...options });
  const interrupted = new Chats(
    stepwise(redis, async (step, send) => {
      const reply = await send();
      if (step === behind) await happen(chats, prefix);
      return reply;
    }),
    { prefix, ...options },
  );
  await found(chats);
  return { prefix, chats, interrupted };
}

const idsOf = (pulled: readonly Pulled[]): number[][] =>
  pulled.map(({ messages }) => messages.map(({ id }) => id));

test('a post between heads and entries hides no message', async () => {
  const { interrupted } = await play(HEADS, (chats) => chats.post('c', 'anna', 4));
  expect(idsOf(await interrupted.pull('ben'))).toEqual([[1, 2, 3, 4]]);
});

test('a log that is trimmed between heads and entries', async () => {
  const { chats, interrupted } = await play(HEADS, async (others) => {
    for (const member of ['ben', 'cleo']) await others.ack('c', member, 2);
  });
  expect(await interrupted.pull('ben')).toMatchObject([{ ackedId: 2, messages: [{ id: 3 }], unread: 1 }]);
  expect((await chats.pull('ben'))[0]).not.toHaveProperty('gap');
});

test('a chat whose last entry is acked between heads and entries is omitted', async () => {
  const { interrupted } = await play(HEADS, async (others) => {
    for (const member of ['ben', 'cleo']) await others.ack('c', member, 3);
  });
  expect(await interrupted.pull('ben')).toEqual([]);
});

test.each([
  ['with the member', ['ben'], [[1, 2, 3]]],
  ['without the member', ['cleo'], []],
])('a chat of the same name, %s, in place of the one whose head was read', async (_, members, wanted) => {
  const { chats, interrupted } = await play(HEADS, async (others) => {
    for (const member of ['anna', 'ben', 'cleo']) await others.leave('c', member);
    await others.create({ sender: 'anna', members, chatId: 'c' });
    for (const body of ['new 1', 'new 2', 'new 3']) await others.post('c', 'anna', body);
  });
  const pulled = await interrupted.pull('ben');
  expect(idsOf(pulled)).toEqual(wanted);
  expect(pulled.map(({ epoch }) => epoch)).toEqual((await chats.chatsOf('ben')).map(({ epoch }) => epoch));
});

/** A change of a chat before a member reads its entries, and the result of the read. */
interface Meanwhile {
  readonly what: string;
  /** @param first The id of the first message that the member has not acked. */
  readonly happen: (others: Chats, first: number) => Promise<unknown>;
  readonly wanted: (first: number) => object[];
  /** Where it happens before the head is read. Default: the same. */
  readonly beforeHeads?: object[];
}

const messagesFrom = (first: number, count: number): object[] =>
  Array.from({ length: count }, (_, index) => ({ id: first + index, kind: 'message' }));

const MEANWHILE: readonly Meanwhile[] = [
  {
    what: 'that the member leaves still gives what was there before',
    happen: (others) => others.leave('c', 'ben'),
    wanted: (first) => [
      { ackedId: first - 1, lastId: first + 2, messages: messagesFrom(first, 3), unread: 3 },
    ],
    beforeHeads: [],
  },
  {
    what: 'that the member leaves gives nothing that is posted behind that',
    happen: async (others) => {
      await others.leave('c', 'ben');
      await others.post('c', 'anna', 'new');
    },
    wanted: () => [],
  },
  {
    what: 'that the member, the last one who had not read it, leaves is trimmed, and has no gap',
    happen: async (others, first) => {
      await others.ack('c', 'cleo', first + 2);
      await others.leave('c', 'ben');
    },
    wanted: () => [],
  },
  {
    what: 'that the member leaves and joins again begins after the older messages',
    happen: async (others) => {
      await others.leave('c', 'ben');
      await others.join('c', 'ben');
      await others.post('c', 'anna', 'new');
    },
    wanted: (first) => [
      { ackedId: first + 2, lastId: first + 3, messages: messagesFrom(first + 3, 1), unread: 1 },
    ],
  },
  {
    what: 'that ends gives nothing',
    happen: async (others) => {
      for (const member of ['anna', 'ben', 'cleo']) await others.leave('c', member);
    },
    wanted: () => [],
  },
  {
    what: 'that drops unread messages has a gap',
    happen: async (others) => {
      for (let count = 0; count < 4; count += 1) await others.post('c', 'anna', 'new');
    },
    wanted: (first) => [
      {
        ackedId: first - 1,
        lastId: first + 6,
        gap: { fromId: first, toId: first + 1 },
        messages: messagesFrom(first + 2, MAX_MESSAGES),
        unread: MAX_MESSAGES,
      },
    ],
  },
  {
    what: 'of which the next message is deleted gives the others',
    happen: (others, first) => others.delete('c', 'anna', first),
    wanted: (first) => [
      {
        ackedId: first - 1,
        lastId: first + 3,
        messages: [...messagesFrom(first + 1, 2), { id: first + 3, kind: 'delete' }],
        unread: 2,
      },
    ],
  },
];

test.each(MEANWHILE)('a chat $what, between heads and entries', async ({ happen, wanted }) => {
  const options = { maxMessages: MAX_MESSAGES };
  const { interrupted } = await play(HEADS, (others) => happen(others, 1), options);
  const pulled = await interrupted.pull('ben');
  expect(pulled).toMatchObject(wanted(1));
  expect(pulled.filter(({ gap }) => gap)).toHaveLength(wanted(1).filter((chat) => 'gap' in chat).length);
});

describe.each([
  ['index and heads', 4],
  ['heads and entries', 5],
])('where it was quiet before, between %s', (_, behind) => {
  test.each(MEANWHILE)('a chat $what', async ({ happen, wanted, beforeHeads }) => {
    // The first pull has index and heads, the second one the index alone; the third one finds something.
    const first = 4;
    const options = { maxMessages: MAX_MESSAGES };
    const { chats, interrupted } = await play(behind, (others) => happen(others, first), options);
    for (const member of ['anna', 'ben', 'cleo']) await chats.ack('c', member, first - 1);
    for (let times = 0; times < 2; times += 1) expect(await interrupted.pull('ben')).toEqual([]);
    for (const body of [1, 2, 3]) await chats.post('c', 'anna', body);
    const isBeforeHeads = behind === 4 && beforeHeads;
    expect(await interrupted.pull('ben')).toMatchObject(isBeforeHeads ? beforeHeads : wanted(first));
  });
});

describe.each([
  ['index and heads', 5],
  ['heads and entries', 6],
])('where it was just acked, between %s', (_, behind) => {
  test.each(MEANWHILE)('a chat $what', async ({ happen, wanted, beforeHeads }) => {
    // The first pull has index, heads and entries; then come the acks, and the index of the second one.
    const first = 4;
    const options = { maxMessages: MAX_MESSAGES };
    const { chats, interrupted } = await play(behind, (others) => happen(others, first), options);
    for (const member of ['anna', 'cleo']) await chats.ack('c', member, first - 1);
    await interrupted.ackAll('ben', await interrupted.pull('ben'));
    for (const body of [1, 2, 3]) await chats.post('c', 'anna', body);
    const isBeforeHeads = behind === 5 && beforeHeads;
    expect(await interrupted.pull('ben')).toMatchObject(isBeforeHeads ? beforeHeads : wanted(first));
  });
});

test.each([
  [
    'ends',
    [],
    (others: Chats) => Promise.all(['anna', 'ben', 'cleo'].map((name) => others.leave('c', name))),
  ],
  ['loses the member', [], (others: Chats) => others.leave('c', 'ben')],
  ['is trimmed again', [[3]], (others: Chats) => others.ack('c', 'ben', 2)],
])('a chat that is trimmed before its entries are read, and then %s', async (_, wanted, happen) => {
  const prefix = freshPrefix();
  const chats = new Chats(redis, { prefix });
  const entries = 3;
  const interrupted = new Chats(
    stepwise(redis, async (step, send) => {
      const reply = await send();
      if (step === HEADS) for (const member of ['ben', 'cleo']) await chats.ack('c', member, 1);
      if (step === entries) await happen(chats);
      return reply;
    }),
    { prefix },
  );
  await found(chats);
  expect(idsOf(await interrupted.pull('ben'))).toEqual(wanted);
});

test('a message between the first look and the subscription ends the wait at once', async () => {
  const { chats, interrupted } = await play(HEADS, (others) => others.post('c', 'anna', 'between'));
  await chats.ack('c', 'ben', 3);
  const before = performance.now();
  expect(idsOf(await interrupted.pull('ben', { waitMs: 60_000 }))).toEqual([[4]]);
  expect(performance.now() - before).toBeLessThan(4_000);
});

test('a post wakes a waiting pull, long before the next recheck', async () => {
  const { prefix, chats } = await play(0, () => Promise.resolve());
  await chats.ack('c', 'ben', 3);
  const pull = chats.pull('ben', { waitMs: 60_000 });
  await subscribed(redis, `${prefix}:messaging:{c}:events`);
  // The read after the subscription has ended when another one has.
  await chats.pull('ben');
  const before = performance.now();
  await chats.post('c', 'anna', 'wake');
  expect(idsOf(await pull)).toEqual([[4]]);
  expect(performance.now() - before).toBeLessThan(4_000);
});

test('a join during the removal of an old index entry keeps the entry', async () => {
  // Index and heads, then the instant of the entry, the chat once more, and the script that removes it.
  for (const behind of [1, 2, 3, 4]) {
    const { prefix, chats, interrupted } = await play(behind, (others) => others.join('c', 'ben'));
    await chats.leave('c', 'ben');
    await redis.zadd(`${prefix}:messaging:{ben}:chats`, 1, 'c');
    await interrupted.pull('ben');
    // The cleaning runs after the pull, and its last step after the join.
    await until('the join', async () => {
      const { members } = await chats.members('c');
      return members.some(({ member }) => member === 'ben');
    });
    await chats.post('c', 'anna', 'hello');
    expect([behind, idsOf(await chats.pull('ben'))]).toEqual([behind, [[4]]]);
  }
});

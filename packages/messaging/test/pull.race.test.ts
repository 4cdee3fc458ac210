/** What happens between two round trips of one pull, at each place where something can. */
import { expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { Pulled } from '@mortise/messaging';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { stepwise } from './stepwise-client.js';

const redis = connect();
const HEADS = 2;

/** Chats for others, and the same for one with whom something happens behind a step. */
async function play(behind: number, happen: (chats: Chats, prefix: string) => Promise<unknown>) {
  const prefix = freshPrefix();
  const chats = new Chats(redis, { prefix });
  const interrupted = new Chats(
    stepwise(redis, async (step, send) => {
      const reply = await send();
      if (step === behind) await happen(chats, prefix);
      return reply;
    }),
    { prefix },
  );
  await chats.create({ sender: 'anna', members: ['ben', 'cleo'], chatId: 'c' });
  for (const body of [1, 2, 3]) await chats.post('c', 'anna', body);
  // Not in the millisecond of its creation, which is read by a script.
  await redis.zincrby(`${prefix}:messaging:{c}:chat`, 1_000, '\0e');
  return { prefix, chats, interrupted };
}

const idsOf = (pulled: readonly Pulled[]): number[][] =>
  pulled.map(({ messages }) => messages.map(({ id }) => id));

test('a message that is posted between heads and entries pushes out none', async () => {
  const { interrupted } = await play(HEADS, (chats) => chats.post('c', 'anna', 4));
  expect(idsOf(await interrupted.pull('ben'))).toEqual([[1, 2, 3, 4]]);
});

test('a log that is trimmed between heads and entries', async () => {
  const { chats, interrupted } = await play(HEADS, async (others) => {
    for (const member of ['ben', 'cleo']) await others.ack(member, 'c', 2);
  });
  expect(await interrupted.pull('ben')).toMatchObject([{ ackedId: 2, messages: [{ id: 3 }], unread: 1 }]);
  expect((await chats.pull('ben'))[0]).not.toHaveProperty('gap');
});

test('a chat that is read to its end between heads and entries is not new', async () => {
  const { interrupted } = await play(HEADS, async (others) => {
    for (const member of ['ben', 'cleo']) await others.ack(member, 'c', 3);
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

test('what is posted behind the first look and before the subscription is not waited for', async () => {
  const { chats, interrupted } = await play(HEADS, (others) => others.post('c', 'anna', 'between'));
  await chats.ack('ben', 'c', 3);
  const before = performance.now();
  expect(idsOf(await interrupted.pull('ben', { waitMs: 60_000 }))).toEqual([[4]]);
  expect(performance.now() - before).toBeLessThan(4_000);
});

test('a post wakes who waits, long before they would look again', async () => {
  const { prefix, chats } = await play(0, () => Promise.resolve());
  await chats.ack('ben', 'c', 3);
  const pull = chats.pull('ben', { waitMs: 60_000 });
  await until('the channel to be subscribed', async () => {
    const counts = (await redis.call('pubsub', ['numsub', `${prefix}:messaging:{c}:events`])) as unknown[];
    return Number(counts[1]) > 0;
  });
  // The look behind the subscription is over when another one is.
  await chats.pull('ben');
  const before = performance.now();
  await chats.post('c', 'anna', 'wake');
  expect(idsOf(await pull)).toEqual([[4]]);
  expect(performance.now() - before).toBeLessThan(4_000);
});

test('somebody who joins while their old entry of the index is being cleaned away keeps it', async () => {
  // Index and heads, then the instant of the entry, the chat once more, and the script that removes it.
  for (const behind of [1, 2, 3, 4]) {
    const { prefix, chats, interrupted } = await play(behind, (others) => others.join('c', 'ben'));
    await chats.leave('c', 'ben');
    await redis.zadd(`${prefix}:messaging:{ben}:chats`, 1, 'c');
    await interrupted.pull('ben');
    await chats.post('c', 'anna', 'hello');
    expect([behind, idsOf(await chats.pull('ben'))]).toEqual([behind, [[4]]]);
  }
});

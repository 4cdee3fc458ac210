/** A chat of which something is damaged takes nothing else with it. */
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Chats, ChatUnreadableError } from '@mortise/messaging';
import type { Metric } from '@mortise/redis';
import { monitor, until } from '@mortise/test-kit';
import { keyOf, open, prefix, redis } from '../fixture/guild.js';
import { stepwise } from '../fixture/stepwise-client.js';
import { subscribed } from '../fixture/subscribed.js';

/** When a chat that could not be read is looked at again, and heads of quiet ones are not yet. */
const LATER_MS = 5_000;
const ALL = ['a', 'b', 'c', 'd'];
const OTHERS = ['a', 'c', 'd'];

afterEach(() => {
  jest.restoreAllMocks();
});

/** Four chats of ben, with three messages each. */
async function create(): Promise<Chats> {
  const chats = open();
  for (const chatId of ALL) {
    await chats.create({ sender: 'anna', members: ['ben', 'cleo'], chatId });
    for (const body of [1, 2, 3]) await chats.post(chatId, 'anna', body);
  }
  return chats;
}

/** A key of the chat that is damaged. */
const keyOfB = (part: string): string => keyOf(part, 'b');

/** Damages of a chat, and the error of Redis or the decoder. */
const DAMAGES: Readonly<Record<string, [act: () => Promise<unknown>, says: RegExp]>> = {
  'a chat of another type': [() => redis.set(keyOfB('chat'), 'x'), /^WRONGTYPE/],
  'a log of another type': [() => redis.set(keyOfB('log'), 'x'), /^WRONGTYPE/],
  'marks of another type, with more behind the cursor than is asked for': [
    () => redis.set(keyOfB('uncounted'), 'x'),
    /^WRONGTYPE/,
  ],
  'an entry that is no JSON': [() => redis.lset(keyOfB('log'), 0, '1:7:anna\0{'), /JSON/],
  'an entry without a beginning, and a log that was trimmed by hand': [
    () => redis.multi().ltrim(keyOfB('log'), 1, -1).lset(keyOfB('log'), 0, 'x').exec(),
    /user_script/,
  ],
};

describe.each(Object.keys(DAMAGES))('pull with %s', (damage) => {
  const [act, says] = DAMAGES[damage]!;

  test('returns the other chats and tells of this one, each time, until it is mended', async () => {
    const chats = await create();
    const state = await Promise.all(
      ['chat', 'log', 'uncounted'].map((part) => redis.dumpBuffer(keyOfB(part))),
    );
    await act();
    const reported: ChatUnreadableError[] = [];
    const pull = async () =>
      (await chats.pull('ben', { limit: 2, onUnreadable: (error) => reported.push(error) })).map(
        ({ chatId, messages, unread }) => [chatId, messages.map(({ body }) => body), unread],
      );
    const others = OTHERS.map((chatId) => [chatId, [1, 2], 3]);
    expect(await pull()).toEqual(others);
    expect(await pull()).toEqual(others);
    expect(reported.map(({ code, chatId }) => [code, chatId])).toEqual([
      ['ERR_CHAT_UNREADABLE', 'b'],
      ['ERR_CHAT_UNREADABLE', 'b'],
    ]);
    expect(reported[0]).toBeInstanceOf(ChatUnreadableError);
    expect((reported[0]!.cause as Error).message).toMatch(says);

    for (const [index, part] of ['chat', 'log', 'uncounted'].entries()) {
      if (state[index]) await redis.restore(keyOfB(part), 0, state[index], 'REPLACE');
      else await redis.del(keyOfB(part));
    }
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + LATER_MS);
    expect(await pull()).toHaveLength(ALL.length);
  });
});

describe('pull past a chat that cannot be read', () => {
  test('acks what it returns', async () => {
    const chats = await create();
    await redis.set(keyOfB('chat'), 'x');
    const onUnreadable = jest.fn();
    const pulled = await chats.pull('ben', { autoAck: true, onUnreadable });
    expect(pulled.map(({ chatId }) => chatId)).toEqual(OTHERS);
    expect(await chats.pull('ben', { onUnreadable })).toEqual([]);
    expect(onUnreadable).toHaveBeenCalledTimes(2);
  });

  test('returns and tells of a chat that was read and cannot be acked', async () => {
    await create();
    const entries = 3;
    const damaged = stepwise(redis, async (step, send) => {
      const reply = await send();
      if (step === entries) await redis.set(keyOfB('chat'), 'x');
      return reply;
    });
    const onUnreadable = jest.fn();
    const pulled = await new Chats(damaged, { prefix }).pull('ben', { autoAck: true, onUnreadable });
    expect(pulled.map(({ chatId }) => chatId)).toEqual(ALL);
    expect(onUnreadable.mock.calls).toEqual([[expect.objectContaining({ chatId: 'b' })]]);
    const chats = new Chats(redis, { prefix });
    expect(await chats.pull('ben', { onUnreadable })).toEqual([]);
  });

  test('goes on waiting, and is woken by another chat', async () => {
    const chats = await create();
    for (const chatId of ALL) await chats.ack(chatId, 'ben', 3);
    await redis.set(keyOfB('chat'), 'x');
    const onUnreadable = jest.fn();
    const pull = chats.pull('ben', { waitMs: 60_000, onUnreadable });
    await subscribed(redis, keyOf('events', 'c'));
    await chats.post('c', 'anna', 'wake');
    expect(await pull).toMatchObject([{ chatId: 'c', messages: [{ body: 'wake' }] }]);
    expect(onUnreadable).toHaveBeenCalledTimes(1);
  });

  test('costs no round trip more, once it is known', async () => {
    const chats = await create();
    await redis.set(keyOfB('chat'), 'x');
    const onUnreadable = jest.fn();
    await chats.pull('ben', { onUnreadable });
    const seen: string[] = [];
    const close = await monitor(redis, ({ command, args }) => {
      if (args.some((arg) => arg.startsWith(prefix))) seen.push(command);
    });
    await chats.pull('ben', { onUnreadable });
    await redis.echo(prefix);
    await until('all to be seen', () => seen.includes('echo'));
    close();
    const reads = OTHERS.flatMap(() => ['lrange', 'get']);
    // Index and mutes, three heads, the entries of three.
    expect(seen).toEqual(['zrange', 'hgetall', ...OTHERS.map(() => 'zmscore'), ...reads, 'echo']);
  });

  test('prints it once a minute without a listener, and counts it', async () => {
    const print = jest.spyOn(console, 'error').mockReturnValue(undefined);
    const counts: Record<string, number> = {};
    const telemetry = {
      count: ({ name }: Metric, value: number): void => {
        counts[name] = (counts[name] ?? 0) + value;
      },
    };
    await create();
    const chats = new Chats(redis, { prefix, telemetry });
    await redis.set(keyOfB('log'), 'x');
    for (let times = 0; times < 3; times += 1) await chats.pull('ben');
    expect(print.mock.calls).toEqual([['mortise chats:', expect.any(ChatUnreadableError)]]);
    expect(counts['mortise.messaging.unreadable']).toBe(3);
  });

  test('survives a listener that throws', async () => {
    const print = jest.spyOn(console, 'error').mockReturnValue(undefined);
    const chats = await create();
    await redis.set(keyOfB('log'), 'x');
    const onUnreadable = (): never => {
      throw new Error('enough');
    };
    expect(await chats.pull('ben', { autoAck: true, onUnreadable })).toHaveLength(OTHERS.length);
    expect(print).toHaveBeenCalledTimes(1);
  });

  test('reports a chat that was quiet before, when something is in its log', async () => {
    const chats = await create();
    for (const chatId of ALL) for (const member of ['ben', 'cleo']) await chats.ack(chatId, member, 3);
    // Quiet, and then known to be empty.
    for (let times = 0; times < 2; times += 1) await chats.pull('ben');
    for (const chatId of ALL) await chats.post(chatId, 'anna', 'new');
    await redis.set(keyOfB('log'), 'x');
    const onUnreadable = jest.fn();
    const pulled = await chats.pull('ben', { onUnreadable });
    expect(pulled.map(({ chatId, messages }) => [chatId, messages.map(({ body }) => body)])).toEqual(
      OTHERS.map((chatId) => [chatId, ['new']]),
    );
    expect(onUnreadable).toHaveBeenCalledTimes(1);
  });

  test('fails where the index of the member itself is damaged', async () => {
    const chats = await create();
    await redis.set(keyOf('chats', 'ben'), 'x');
    await expect(chats.pull('ben')).rejects.toThrow('WRONGTYPE');
  });
});

describe('chatsOf with a chat that cannot be read', () => {
  test.each(['chat', 'log', 'uncounted'])('lists the others: another type of %s', async (part) => {
    const chats = await create();
    await redis.set(keyOfB(part), 'x');
    const onUnreadable = jest.fn();
    const list = await chats.chatsOf('ben', { onUnreadable });
    expect(list.map(({ chatId, unread }) => [chatId, unread])).toEqual(OTHERS.map((chatId) => [chatId, 3]));
    expect(onUnreadable.mock.calls).toEqual([[expect.objectContaining({ chatId: 'b' })]]);
  });
});

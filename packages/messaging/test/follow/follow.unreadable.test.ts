/** Following past damaged chats, and messages that no script of ours has published. */
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { ChatUnreadableError } from '@mortise/messaging';
import { freshPrefix, until } from '@mortise/test-kit';
import * as fc from 'fast-check';
import { decodeFrames } from '../../src/follow/frame.js';
import type { Frame } from '../../src/follow/frame.js';
import type { Reader } from '../fixture/follow-reader.js';
import { read, redis, upTo } from '../fixture/guild.js';

/** Damaged chats are tried again after this time; here, soon. */
const RETRY_MS = 5_000;

beforeEach(() => {
  const { setTimeout } = globalThis;
  jest
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation((act: () => void, ms?: number) => setTimeout(act, ms === RETRY_MS ? 20 : ms));
});

afterEach(() => {
  jest.restoreAllMocks();
});

const keyOf = (prefix: string, chatId: string, part: string): string =>
  `${prefix}:messaging:{${chatId}}:${part}`;

async function create(chatIds: readonly string[]): Promise<{ prefix: string; chats: Chats }> {
  const prefix = freshPrefix();
  const chats = new Chats(redis, { prefix });
  for (const chatId of chatIds) {
    await chats.create({ chatId, sender: 'anna', members: ['ben', 'cleo'] });
    for (const body of [1, 2, 3]) await chats.post(chatId, 'anna', body);
  }
  return { prefix, chats };
}

const readBen = (chats: Chats, onUnreadable: (error: ChatUnreadableError) => void): Reader =>
  read(chats, 'ben', { onUnreadable });

const DAMAGES: Readonly<Record<string, (prefix: string) => Promise<unknown>>> = {
  'a chat of another type': (prefix) => redis.set(keyOf(prefix, 'bad', 'chat'), 'x'),
  'a log of another type': (prefix) => redis.set(keyOf(prefix, 'bad', 'log'), 'x'),
  'an entry that is no JSON': (prefix) => redis.lset(keyOf(prefix, 'bad', 'log'), 1, '2:7:anna\0{'),
  'an entry without a beginning': (prefix) => redis.lset(keyOf(prefix, 'bad', 'log'), 1, 'x'),
  'an entry with the id of a later one': (prefix) =>
    redis.lset(keyOf(prefix, 'bad', 'log'), 1, '99:7:anna\0"x"'),
};

test.each(Object.keys(DAMAGES))('%s leaves the other chats readable', async (damage) => {
  const { prefix, chats } = await create(['bad', 'good']);
  const parts = ['chat', 'log'].map((part) => keyOf(prefix, 'bad', part));
  const state = await Promise.all(parts.map((key) => redis.dumpBuffer(key)));
  await DAMAGES[damage]!(prefix);
  const reported: ChatUnreadableError[] = [];
  const reader = readBen(chats, (error) => reported.push(error));
  await until('two calls', () => reported.length > 1);
  expect(reported[0]).toMatchObject({ code: 'ERR_CHAT_UNREADABLE', chatId: 'bad', cause: expect.anything() });
  await chats.post('good', 'anna', 4);
  await reader.hasText('good:4');
  expect(reader.ids('good')).toEqual([1, 2, 3, 4]);

  for (const [index, key] of parts.entries()) await redis.restore(key, 0, state[index]!, 'REPLACE');
  await reader.hasText('bad:3');
  expect(reader.ids('bad')).toEqual([1, 2, 3]);
  expect(reader.error).toBeUndefined();
});

test('many of them leave the others the room to fetch', async () => {
  const bad = Array.from({ length: 10 }, (_, index) => `bad-${index}`);
  const { prefix, chats } = await create([...bad, 'good']);
  for (const chatId of bad) await redis.set(keyOf(prefix, chatId, 'log'), 'x');
  const reported = new Set<string>();
  const reader = readBen(chats, ({ chatId }) => reported.add(chatId));
  await reader.hasText('good:3');
  await until('a call for each', () => reported.size === bad.length);
  expect(reader.ids('good')).toEqual([1, 2, 3]);
});

test('open() does not wait for it', async () => {
  const { prefix, chats } = await create(['bad', 'good']);
  await redis.set(keyOf(prefix, 'bad', 'chat'), 'x');
  const onUnreadable = jest.fn();
  const events = chats.follow('ben', { onUnreadable });
  await events.open();
  await events.return!();
  expect(onUnreadable).toHaveBeenCalledWith(expect.objectContaining({ chatId: 'bad' }));
});

test('a leave is an event, with the gap', async () => {
  const { prefix, chats } = await create(['bad']);
  await redis.lset(keyOf(prefix, 'bad', 'log'), 1, '2:7:anna\0{');
  const onUnreadable = jest.fn();
  const reader = readBen(chats, onUnreadable);
  await until('a call', () => onUnreadable.mock.calls.length > 0);
  await chats.leave('bad', 'ben');
  expect(await reader.textsWith('bad left ben')).toEqual(['bad:1', 'bad gap 2-3', 'bad left ben']);
});

test('a foreign message on the channel of a chat harms nothing', async () => {
  const { prefix, chats } = await create(['good']);
  const reader = readBen(chats, jest.fn());
  await reader.hasText('good:3');
  const channel = keyOf(prefix, 'good', 'events');
  for (const said of ['hello', '*:m\0\0\0\x05xxxxx', '*:m\x7f\x7f\x7f\x7f', '*:\0']) {
    await redis.publish(channel, said);
  }
  // More than is kept of what was pushed: some have to be fetched.
  await Promise.all(upTo(97).map((body) => chats.post('good', 'anna', body)));
  await reader.hasText('good:100');
  expect(reader.ids('good')).toEqual(upTo(100));
});

/** As a script packs them. */
function encode(frames: readonly Frame[]): Buffer {
  return Buffer.concat(
    frames.flatMap(({ kind, text }) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(Buffer.byteLength(text));
      return [Buffer.from(kind), length, Buffer.from(text)];
    }),
  );
}

const frames = fc.array(
  fc.record({
    kind: fc.constantFrom('m', 'j', 'l', 't', 'p', 'x', '?'),
    text: fc.string({ unit: 'binary' }),
  }),
);

test('frames are read as they were packed', () => {
  fc.assert(
    fc.property(frames, (some) => {
      expect(decodeFrames(encode(some))).toEqual(some);
    }),
  );
});

test('a truncated frame is left out, and any bytes are read', () => {
  fc.assert(
    fc.property(frames, fc.nat(), (some, at) => {
      const bytes = encode(some);
      const cut = decodeFrames(bytes.subarray(0, at % (bytes.length + 1)));
      expect(cut).toEqual(some.slice(0, cut.length));
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(Array.isArray(decodeFrames(Buffer.from(bytes)))).toBe(true);
    }),
  );
});

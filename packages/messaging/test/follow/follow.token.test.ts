import { randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import fc from 'fast-check';
import {
  encodePosition,
  joinToken,
  MAX_TOKEN_LENGTH,
  seedOf,
  splitToken,
} from '../../src/follow/resume-token.js';
import type { Position } from '../../src/follow/resume-token.js';
import type { Reader } from '../fixture/follow-reader.js';
import { openChat, prefix, read as follow, redis, upTo } from '../fixture/guild.js';

const read = (chats: Chats, after?: string): Reader =>
  follow(chats, 'bob', after === undefined ? {} : { after });

async function post(chats: Chats, count: number, chatId = 'guild'): Promise<void> {
  for (let n = 0; n < count; n += 1) await chats.post(chatId, 'anna', n);
}

/** A follower that has ended, after so many messages. */
async function readOnce(chats: Chats, count: number): Promise<Reader> {
  await post(chats, count);
  const reader = read(chats);
  await reader.has(count);
  await reader.stop();
  return reader;
}

const token = (...positions: Position[]): string => joinToken(seedOf('bob'), positions.map(encodePosition));

describe('resuming', () => {
  test('after each of the events loses and repeats nothing', async () => {
    const chats = await openChat();
    const first = await readOnce(chats, 10);
    for (const [index, { token: after }] of first.events.entries()) {
      const resumed = read(chats, after);
      await chats.post('guild', 'anna', 'more');
      await resumed.hasText(`guild:${11 + index}`);
      expect(resumed.ids('guild')).toEqual(upTo(10).map((n) => index + 1 + n));
    }
  });

  test('continues after the last delivered message of every chat, acked or not', async () => {
    const chats = await openChat();
    for (const chatId of ['a', 'b', randomUUID()]) {
      await chats.create({ chatId, sender: 'anna', members: ['bob'] });
      await post(chats, 3, chatId);
    }
    const first = read(chats);
    await first.has(9);
    for (const [index, { token: after }] of first.events.entries()) {
      const resumed = read(chats, after);
      await resumed.has(8 - index);
      const texts = (reader: Reader, from = 0): string[] => reader.texts.slice(from).toSorted();
      expect(texts(resumed)).toEqual(texts(first, index + 1));
    }
  });

  test('continues after the cursor if everything is acked, and the token is short', async () => {
    const chats = await openChat();
    const first = read(chats);
    await post(chats, 3);
    await first.has(3);
    expect(first.token!.length).toBeGreaterThan(7);
    await chats.ack('guild', 'bob', 3);
    await post(chats, 1);
    await first.has(4);
    await chats.ack('guild', 'bob', 4);
    await chats.typing('guild', 'anna');
    await first.has(5);
    await first.stop();
    // One position.
    expect(first.token).toHaveLength(31);
    await post(chats, 1);
    const resumed = read(chats, first.token);
    expect(await resumed.textsWith('guild:5')).toEqual(['guild:5']);
  });

  test('is as short after a pull of this process has acked everything', async () => {
    const chats = await openChat();
    const first = read(chats);
    await post(chats, 3);
    await first.has(3);
    await chats.pull('bob', { autoAck: true });
    await chats.typing('guild', 'anna');
    await first.has(4);
    await first.stop();
    expect(first.token).toHaveLength(31);
  });

  test('has positions of few chats without unacked messages, those that moved last among them', async () => {
    const chats = await openChat();
    const chatIds = Array.from({ length: 50 }, (_, index) => `chat-${index}`);
    for (const chatId of chatIds) await chats.create({ chatId, sender: 'anna', members: ['bob', 'carl'] });
    const moved = chatIds.slice(10, 30);
    const first = follow(chats, 'bob', {}, async (event) => {
      if ('message' in event) await chats.ack(event.chatId, 'bob', event.message.id);
    });
    for (const chatId of moved) await post(chats, 1, chatId);
    await first.has(moved.length);
    await chats.typing('guild', 'anna');
    await first.has(moved.length + 1);
    await first.stop();
    expect(first.token!.length).toBeLessThan(1_400);
    for (const chatId of moved) await chats.post(chatId, 'bob', 'from elsewhere');
    const resumed = read(chats, first.token);
    await resumed.has(moved.length);
    expect(resumed.texts.toSorted()).toEqual(moved.map((chatId) => `${chatId}:2`).toSorted());
  });

  test('reports dropped messages as a gap', async () => {
    const chats = await openChat({ maxMessages: 10 });
    const first = await readOnce(chats, 3);
    await Promise.all(upTo(50).map((n) => chats.post('guild', 'anna', n)));
    const resumed = read(chats, first.events[1]!.token);
    await resumed.hasText('guild:53');
    expect(resumed.texts.slice(0, 2)).toEqual(['guild gap 3-43', 'guild:44']);
  });

  test('in a chat that was created again is a reset', async () => {
    const chats = await openChat();
    const first = await readOnce(chats, 3);
    for (const member of ['anna', 'bob', 'carl']) await chats.leave('guild', member);
    await chats.create({ chatId: 'guild', sender: 'anna', members: ['bob'], body: 'anew' });
    const resumed = read(chats, first.token);
    expect(await resumed.textsWith('guild:1')).toEqual(['guild reset', 'guild:1']);
    expect(resumed.events[0]).toMatchObject({ epoch: (await chats.pull('bob'))[0]!.epoch });
    // The reset comes once.
    const again = read(chats, resumed.events[0]!.token);
    expect(await again.textsWith('guild:1')).toEqual(['guild:1']);
  });

  test('reports that the member has left, or the chat has ended', async () => {
    const chats = await openChat();
    await chats.create({ chatId: 'gone', sender: 'anna', members: ['bob'] });
    await post(chats, 1);
    await post(chats, 1, 'gone');
    const first = read(chats);
    await first.has(2);
    await first.stop();
    await chats.leave('guild', 'bob');
    await chats.leave('gone', 'bob');
    await chats.leave('gone', 'anna');
    await redis.del(`${prefix}:messaging:{bob}:chats`);
    const resumed = read(chats, first.token);
    await resumed.has(2);
    expect(resumed.texts.toSorted()).toEqual(['gone ended', 'guild left bob']);
  });

  test('of a member who left and came back begins after that, whether or not they have acked since', async () => {
    for (const acked of [0, 4]) {
      const chats = await openChat();
      const first = await readOnce(chats, 2);
      await chats.leave('guild', 'bob');
      await post(chats, 1);
      await chats.join('guild', 'bob');
      await post(chats, 2);
      if (acked > 0) await chats.ack('guild', 'bob', acked);
      const resumed = read(chats, first.events[0]!.token);
      expect(await resumed.textsWith('guild:5')).toEqual([
        'guild left bob',
        'guild joined bob',
        'guild:4',
        'guild:5',
      ]);
      // The gap is reported once.
      const again = read(chats, resumed.events[1]!.token);
      expect(await again.textsWith('guild:5')).toEqual(['guild:4', 'guild:5']);
    }
  });

  test('returns messages that were acked elsewhere, if they are still stored', async () => {
    const chats = await openChat();
    const first = await readOnce(chats, 3);
    await chats.ack('guild', 'bob', 3);
    const resumed = read(chats, first.events[0]!.token);
    expect(await resumed.textsWith('guild:3')).toEqual(['guild:2', 'guild:3']);
  });

  test("returns the member's own posts from elsewhere, once, also if everything was acked", async () => {
    const chats = await openChat();
    await chats.create({ chatId: 'quiet', sender: 'anna', members: ['bob', 'carl'] });
    const first = read(chats);
    await post(chats, 1);
    await first.has(1);
    await chats.ack('guild', 'bob', 1);
    await chats.typing('guild', 'anna');
    await first.has(2);
    await first.stop();
    const device = new Chats(redis, { prefix });
    await device.post('guild', 'bob', 'from elsewhere');
    await device.post('quiet', 'bob', 'here as well');
    expect(await chats.pull('bob')).toEqual([]);
    const resumed = read(chats, first.token);
    await resumed.has(2);
    expect(resumed.texts.toSorted()).toEqual(['guild:2', 'quiet:1']);
    const again = read(chats, resumed.token);
    await post(chats, 1);
    expect(await again.textsWith('guild:3')).toEqual(['guild:3']);
  });

  test('keeps the positions of chats that had no event yet', async () => {
    const chats = await openChat();
    await chats.create({ chatId: 'other', sender: 'anna', members: ['bob'] });
    await post(chats, 2);
    await post(chats, 2, 'other');
    const first = read(chats);
    await first.has(4);
    await post(chats, 1);
    const second = read(chats, first.events[3]!.token);
    await second.has(1);
    const third = read(chats, second.token);
    await post(chats, 1, 'other');
    expect(await third.textsWith('other:3')).toEqual(['other:3']);
  });
});

describe('a forged or foreign token', () => {
  test('with an id above the newest is a reset', async () => {
    const chats = await openChat();
    await post(chats, 2);
    const { epoch } = (await chats.pull('bob'))[0]!;
    const reader = read(chats, token({ chatId: 'guild', epoch, id: 3 }));
    expect(await reader.textsWith('guild:2')).toEqual(['guild reset', 'guild:1', 'guild:2']);
  });

  test('with a chat of others gives no access to it', async () => {
    const chats = await openChat();
    await chats.create({ chatId: 'secret', sender: 'anna', members: [], body: 'secret' });
    await post(chats, 1);
    const { epoch } = (await chats.chatsOf('anna')).find(({ chatId }) => chatId === 'secret')!;
    const reader = read(chats, token({ chatId: 'secret', epoch, id: 0 }));
    await reader.has(2);
    await chats.post('secret', 'anna', 'more');
    await chats.typing('secret', 'anna');
    await post(chats, 1);
    await reader.has(3);
    expect(reader.texts.toSorted()).toEqual(['guild:1', 'guild:2', 'secret left bob']);
  });

  test.each([
    ['', 'empty'],
    ['b', 'no check'],
    ['a000000', 'another version'],
    ['b!!!!!!', 'other characters'],
    [`b${'A'.repeat(MAX_TOKEN_LENGTH)}`, 'too long'],
    [7 as unknown as string, 'a number'],
    [null as unknown as string, 'null'],
    [{} as unknown as string, 'an object'],
  ])('%j (%s) is refused', async (after) => {
    const chats = await openChat();
    expect(() => chats.follow('bob', { after })).toThrow(RangeError);
    expect(() => chats.follow('bob', { after })).toThrow(
      /^after must be the token of an event of this member, got /,
    );
  });

  test('of another member is refused, and a truncated one', async () => {
    const chats = await openChat();
    await post(chats, 1);
    const reader = read(chats);
    await reader.has(1);
    expect(() => chats.follow('carl', { after: reader.token! })).toThrow(RangeError);
    for (let length = 0; length < reader.token!.length; length += 1) {
      expect(() => chats.follow('bob', { after: reader.token!.slice(0, length) })).toThrow(RangeError);
    }
    expect(() => chats.follow('bob', { after: reader.token! })).not.toThrow();
  });
});

describe('the text', () => {
  const position = fc.record({
    chatId: fc.oneof(fc.uuid(), fc.string({ minLength: 1, maxLength: 50, unit: 'binary' })),
    epoch: fc.nat({ max: 2 ** 48 - 1 }),
    id: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
  });
  const positions = fc.uniqueArray(position, { selector: ({ chatId }) => chatId, maxLength: 20 });

  test('has the same positions after decoding', () => {
    fc.assert(
      fc.property(positions, fc.string({ minLength: 1 }), (some, member) => {
        const text = joinToken(seedOf(member), some.map(encodePosition));
        expect(text).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(splitToken(member, text)).toEqual(some);
      }),
    );
  });

  test('damaged or forged, throws nothing but RangeError', () => {
    const check = (text: string): string => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(crc32(text, crc32('bob')));
      return text + bytes.toString('base64url');
    };
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 99 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
      fc.string({ maxLength: 60 }),
    );
    fc.assert(
      fc.property(body, fc.boolean(), (text, isChecked) => {
        let thrown: unknown;
        try {
          for (const { epoch, chatId, id } of splitToken('bob', isChecked ? check(`b${text}`) : text)) {
            expect([Number.isSafeInteger(epoch), chatId.length > 0]).toEqual([true, true]);
            expect(Number.isSafeInteger(id)).toBe(true);
          }
        } catch (error) {
          thrown = error;
        }
        expect(thrown === undefined || thrown instanceof RangeError).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test('is bounded: the first positions stay', () => {
    const many = upTo(1_000).map((id) => ({ chatId: randomUUID(), epoch: 1.7e12, id }));
    const text = joinToken(seedOf('bob'), many.map(encodePosition));
    expect(text.length).toBeLessThanOrEqual(MAX_TOKEN_LENGTH);
    const kept = splitToken('bob', text);
    expect(kept.length).toBeGreaterThan(200);
    expect(kept).toEqual(many.slice(0, kept.length));
  });
});

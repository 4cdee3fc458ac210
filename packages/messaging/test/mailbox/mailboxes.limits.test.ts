/** Messages that a mailbox drops: beyond its limits, too old, or expired. */
import { describe, expect, test } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import { until } from '@mortise/test-kit';
import { ANNA, bodies, create, keyOf, prefix, redis, sendAll } from '../fixture/mailboxes.js';

const HOUR_MS = 3_600_000;

/** Messages to jack; those whose bodies begin with `x` can expire. */
async function send(mailboxes: Mailboxes, ...all: readonly string[]): Promise<void> {
  await mailboxes.sendMany(
    all.map((body) => ({
      recipient: 'jack',
      body,
      from: 'anna',
      ...(body.startsWith('x') && { ttlMs: HOUR_MS }),
    })),
  );
}

/** As when the time of these messages is over. */
async function expire(...ids: readonly number[]): Promise<void> {
  await redis.zadd(keyOf('-expiring'), 'XX', ...ids.flatMap((id) => [1, id]));
}

/** The stored log, without payloads. */
async function stored(): Promise<string[]> {
  const entries = await redis.lrange(keyOf('-log'), 0, -1);
  return entries.map((entry) => /^(\d+:X?)/.exec(entry)![1]!);
}

async function sizes(): Promise<{ uncounted: number; expiring: number }> {
  return {
    uncounted: await redis.zcard(keyOf('-uncounted')),
    expiring: await redis.zcard(keyOf('-expiring')),
  };
}

describe('maxMessages', () => {
  test('drops the oldest messages and tells sender, receiver and status which', async () => {
    const mailboxes = create({ maxMessages: 3 });
    const results = await sendAll(mailboxes, [1, 2, 3, 4, 5]);
    // Messages of one call are stored, then dropped together.
    expect(results).toEqual(
      [1, 2, 3, 4, 5].map((id) => ({ id, isDuplicate: false, dropped: { fromId: 1, toId: 2 } })),
    );
    const [third, fourth] = await mailboxes.receive('jack');
    expect(third).toMatchObject({ id: 3, body: 3, droppedBefore: { fromId: 1, toId: 2 } });
    expect(fourth).not.toHaveProperty('droppedBefore');
    const latest = await mailboxes.receive('jack', { order: 'latest', limit: 2 });
    expect(latest.map((message) => message.droppedBefore)).toEqual([undefined, undefined]);
    expect((await mailboxes.receive('jack', { order: 'latest' })).at(-1)).toEqual(third);
    expect(await mailboxes.status('jack')).toMatchObject({ unread: 3, dropped: { fromId: 1, toId: 2 } });

    await mailboxes.ack('jack', 3);
    expect(await mailboxes.status('jack')).toMatchObject({ unread: 2, dropped: null });
    expect((await mailboxes.receive('jack'))[0]).not.toHaveProperty('droppedBefore');
  });

  test('counts acked messages neither as stored nor as dropped', async () => {
    const mailboxes = create({ maxMessages: 2 });
    await mailboxes.send('jack', 1, ANNA);
    await mailboxes.ack('jack', 1);
    for (const body of [2, 3]) expect(await mailboxes.send('jack', body, ANNA)).not.toHaveProperty('dropped');
    expect(await mailboxes.send('jack', 4, ANNA)).toMatchObject({ dropped: { fromId: 2, toId: 2 } });
  });

  test('takes effect when it was lowered', async () => {
    await sendAll(
      create(),
      Array.from({ length: 1_500 }, (_, body) => body),
    );
    const mailboxes = new Mailboxes(redis, { prefix, maxMessages: 10 });
    // So many at most for one call; the next ones go on.
    expect(await mailboxes.send('jack', 1_500, ANNA)).toMatchObject({ dropped: { fromId: 1, toId: 1_000 } });
    expect(await mailboxes.unread('jack')).toBe(501);
    expect(await mailboxes.send('jack', 1_501, ANNA)).toMatchObject({
      dropped: { fromId: 1_001, toId: 1_492 },
    });
    expect(await mailboxes.unread('jack')).toBe(10);
    expect((await mailboxes.receive('jack'))[0]).toMatchObject({ droppedBefore: { fromId: 1, toId: 1_492 } });
  });
});

describe('maxBytes', () => {
  test('drops as many messages as the new one needs', async () => {
    const mailboxes = create({ maxBytes: 1_024, maxPayloadBytes: 1_000 });
    for (let body = 1; body <= 10; body += 1) await mailboxes.send('jack', 'x'.repeat(50), ANNA);
    expect(await mailboxes.status('jack')).toMatchObject({ unread: 10, dropped: null });
    const { dropped } = await mailboxes.send('jack', 'x'.repeat(500), ANNA);
    expect(dropped?.fromId).toBe(1);
    expect(dropped?.toId).toBeGreaterThan(1);
    const { sizeBytes, unread } = await mailboxes.status('jack');
    expect(sizeBytes).toBeGreaterThan(1_024 - 100);
    expect(sizeBytes).toBeLessThanOrEqual(1_024);
    expect(unread).toBe(11 - dropped!.toId);
  });

  test('keeps the newest message however large it is', async () => {
    const mailboxes = create({ maxBytes: 1_024, maxPayloadBytes: 1_024 });
    await mailboxes.send('jack', 'small', ANNA);
    const { dropped } = await mailboxes.send('jack', 'x'.repeat(1_022), ANNA);
    expect(dropped).toEqual({ fromId: 1, toId: 1 });
    expect(await mailboxes.unread('jack')).toBe(1);
  });

  test('sizeBytes is the sum of the stored entries', async () => {
    const mailboxes = create();
    for (const body of ['a', 'éé', { b: [1] }, '😀']) await mailboxes.send('jack', body, { from: 'änna' });
    await mailboxes.ack('jack', 1);
    const entries = await redis.lrangeBuffer(keyOf('-log'), 0, -1);
    const sum = entries.reduce((bytes, entry) => bytes + entry.length, 0);
    expect(await mailboxes.status('jack')).toMatchObject({ size: 3, sizeBytes: sum });
  });
});

describe('keepMs', () => {
  test('lets the next send drop messages that are too old, and report them', async () => {
    const mailboxes = create({ keepMs: 60_000 });
    await sendAll(mailboxes, ['old', 'old']);
    // Made two minutes older: the mailbox, and its time of the last message.
    await redis.zincrby(keyOf(), 120_000, '\0e');
    const { id, dropped } = await mailboxes.send('jack', 'new', ANNA);
    expect({ id, dropped }).toEqual({ id: 3, dropped: { fromId: 1, toId: 2 } });
    expect(await mailboxes.receive('jack')).toMatchObject([
      { id: 3, body: 'new', droppedBefore: { fromId: 1, toId: 2 } },
    ]);
  });

  test('empties a mailbox without new messages, and `status` has the dropped ones', async () => {
    const mailboxes = create({ keepMs: 300 });
    await sendAll(mailboxes, [1, 2, 3]);
    await mailboxes.ack('jack', 1);
    await until('the messages to expire', async () => (await mailboxes.unread('jack')) === 0);
    expect(await mailboxes.receive('jack')).toEqual([]);
    const status = await mailboxes.status('jack');
    expect(status).toMatchObject({ lastId: 3, ackedId: 1, sizeBytes: 0, dropped: { fromId: 2, toId: 3 } });
    // Stored for longer, however slow the test is.
    const later = new Mailboxes(redis, { prefix });
    expect(await later.send('jack', 4, ANNA)).toEqual({ id: 4, isDuplicate: false });
    expect(await later.receive('jack')).toMatchObject([{ id: 4, droppedBefore: { fromId: 2, toId: 3 } }]);
  });
});

describe('the ids of senders', () => {
  test('are remembered for the last 9,000 messages and more, in two generations', async () => {
    const mailboxes = create();
    const messages = Array.from({ length: 10_100 }, (_, index) => ({
      recipient: 'jack',
      body: 1,
      from: 'anna',
      id: `id ${index}`,
    }));
    await mailboxes.sendMany(messages);
    // Each of them with a field that tells where it begins.
    const before = (await redis.hlen(keyOf('-ids-before'))) - 1;
    expect(before).toBeGreaterThanOrEqual(9_000);
    expect(before).toBeLessThanOrEqual(10_000);
    expect(before + (await redis.hlen(keyOf('-ids'))) - 1).toBe(10_100);
    const again = await mailboxes.send('jack', 1, { from: 'anna', id: 'id 0' });
    expect(again).toEqual({ id: 1, isDuplicate: true });
  });
});

describe('sentAt', () => {
  test('does not run back when the clock of the server does', async () => {
    const mailboxes = create();
    await mailboxes.send('jack', 1, ANNA);
    // As if a master whose clock was ahead had stored the message.
    await redis.zadd(keyOf(), -60_000, '\0t');
    await mailboxes.send('jack', 2, ANNA);
    const { epoch, lastReceivedAt } = await mailboxes.status('jack');
    expect((await mailboxes.receive('jack')).at(-1)?.sentAt).toBe(epoch! + 60_000);
    expect(lastReceivedAt).toBe(epoch! + 60_000);
  });
});

describe('a mailbox without its numbering', () => {
  test('begins anew, in another epoch, with nothing of the old one', async () => {
    const mailboxes = create();
    await mailboxes.sendMany(
      [1, 2, 3].map((body) => ({ recipient: 'jack', body, from: 'anna', id: `x${body}` })),
    );
    const { epoch } = await mailboxes.status('jack');
    await redis.del(keyOf());
    await until('the clock to move', async () => Date.now() > epoch!);
    const anew = await mailboxes.send('jack', 'new', { from: 'anna', id: 'x1' });
    expect(anew).toEqual({ id: 1, isDuplicate: false });
    expect(await mailboxes.receive('jack')).toMatchObject([{ id: 1, body: 'new' }]);
    expect((await mailboxes.status('jack')).epoch).toBeGreaterThan(epoch!);
  });
});

describe('a message with ttlMs', () => {
  test('is there until its time is over', async () => {
    const mailboxes = create();
    const { id } = await mailboxes.send('jack', 'short', { from: 'anna', id: 'x', ttlMs: 60_000 });
    await mailboxes.send('jack', 'long', { from: 'anna', ttlMs: HOUR_MS });
    expect(await mailboxes.receive('jack')).toMatchObject([{ body: 'short' }, { body: 'long' }]);
    await expire(id);
    expect(await mailboxes.unread('jack')).toBe(1);
    const [message, ...others] = await mailboxes.receive('jack');
    expect(others).toEqual([]);
    expect(message).toEqual({ id: 2, from: 'anna', body: 'long', sentAt: expect.any(Number) });
    expect(message!.sentAt + HOUR_MS).toBeGreaterThan(Date.now());
    // The id of an expired message is still known.
    const again = await mailboxes.send('jack', 'again', { from: 'anna', id: 'x' });
    expect(again).toEqual({ id, isDuplicate: true });
  });

  test('is over on the clock of the server', async () => {
    const mailboxes = create();
    await mailboxes.send('jack', 'short', { from: 'anna', ttlMs: 50 });
    await until('it to expire', async () => (await mailboxes.unread('jack')) === 0);
    expect(await mailboxes.receive('jack')).toEqual([]);
  });

  test.each([0, -1, Number.NaN, Infinity, 0.5])('refuses a ttlMs of %d', async (ttlMs) => {
    const mailboxes = create();
    await expect(mailboxes.send('jack', 1, { from: 'anna', ttlMs })).rejects.toThrow(RangeError);
    const ofOtherType = { from: 'anna', ttlMs: '7' as unknown as number };
    await expect(mailboxes.send('jack', 1, ofOtherType)).rejects.toThrow(TypeError);
    expect(await mailboxes.unread('jack')).toBe(0);
  });

  test('is skipped between others, from both ends, and the limit is filled', async () => {
    const mailboxes = create();
    await send(mailboxes, 'a', 'x2', 'b', 'x4', 'x5', 'c', 'x7');
    await expire(2, 4, 5);
    expect(await mailboxes.unread('jack')).toBe(4);
    expect(await bodies(mailboxes)).toEqual(['a', 'b', 'c', 'x7']);
    expect(await bodies(mailboxes, { limit: 2 })).toEqual(['a', 'b']);
    expect(await bodies(mailboxes, { limit: 3 })).toEqual(['a', 'b', 'c']);
    expect(await bodies(mailboxes, { limit: 1, order: 'latest' })).toEqual(['x7']);
    expect(await bodies(mailboxes, { limit: 3, order: 'latest' })).toEqual(['x7', 'c', 'b']);
    expect(await bodies(mailboxes, { order: 'latest' })).toEqual(['x7', 'c', 'b', 'a']);
    expect(await stored()).toEqual(['1:', '2:X', '3:', '4:X', '5:X', '6:', '7:']);
    const { sizeBytes, unread, oldestUnreadAt } = await mailboxes.status('jack');
    const entries = await redis.lrange(keyOf('-log'), 0, -1);
    expect({ sizeBytes, unread }).toEqual({ sizeBytes: entries.join('').length, unread: 4 });
    expect(oldestUnreadAt).toBe((await mailboxes.receive('jack'))[0]!.sentAt);
  });

  test('is not counted by an ack, and no gap', async () => {
    const mailboxes = create();
    await send(mailboxes, 'a', 'x2', 'b', 'x4', 'c');
    await expire(2, 4);
    expect(await mailboxes.ack('jack', 1)).toBe(1);
    expect(await mailboxes.status('jack')).toMatchObject({ ackedId: 2, dropped: null });
    expect((await mailboxes.receive('jack'))[0]).toEqual({
      id: 3,
      body: 'b',
      from: 'anna',
      sentAt: expect.any(Number),
    });
    expect(await mailboxes.ack('jack', 5)).toBe(2);
    expect(await stored()).toEqual([]);
    expect(await sizes()).toEqual({ uncounted: 0, expiring: 0 });
  });

  test('is freed without an ack when nothing is before it', async () => {
    const mailboxes = create();
    await send(mailboxes, 'x1', 'x2', 'a', 'x4');
    await expire(1, 2);
    expect(await mailboxes.unread('jack')).toBe(2);
    expect(await stored()).toEqual(['3:', '4:']);
    expect(await mailboxes.status('jack')).toMatchObject({ ackedId: 2, dropped: null });
    await expire(4);
    await mailboxes.ack('jack', 3);
    expect(await stored()).toEqual([]);
    expect(await mailboxes.status('jack')).toMatchObject({ ackedId: 4, lastId: 4, unread: 0 });
  });

  test('leaves nothing in a mailbox that nobody reads', async () => {
    const mailboxes = create();
    for (let round = 0; round < 10; round += 1) {
      const ids = [3 * round + 1, 3 * round + 2, 3 * round + 3];
      await send(mailboxes, ...ids.map((id) => `x${id}`));
      await expire(...ids);
    }
    await send(mailboxes, 'a');
    expect(await stored()).toEqual(['31:']);
    expect(await sizes()).toEqual({ uncounted: 0, expiring: 0 });
  });

  test('is forgotten when it was acked or dropped before its time', async () => {
    const mailboxes = create({ maxMessages: 3 });
    await send(mailboxes, 'x1', 'x2', 'x3');
    await mailboxes.ack('jack', 2);
    expect(await sizes()).toMatchObject({ expiring: 1 });
    await send(mailboxes, 'x4', 'x5', 'x6', 'x7');
    expect(await sizes()).toMatchObject({ expiring: 3 });
    await expire(5);
    expect(await mailboxes.receive('jack')).toMatchObject([
      { id: 6, droppedBefore: { fromId: 3, toId: 4 } },
      { id: 7 },
    ]);
  });

  test('takes no place from those that stay', async () => {
    const mailboxes = create({ maxMessages: 3 });
    await send(mailboxes, 'a', 'x2', 'x3');
    await expire(2, 3);
    await send(mailboxes, 'b', 'c');
    expect(await bodies(mailboxes)).toEqual(['a', 'b', 'c']);
    expect(await mailboxes.send('jack', 'd', ANNA)).toMatchObject({ dropped: { fromId: 1, toId: 1 } });
    expect(await bodies(mailboxes)).toEqual(['b', 'c', 'd']);
  });

  test('between messages leaves no more of these than may be', async () => {
    const mailboxes = create({ maxMessages: 5 });
    await send(mailboxes, 'a', 'x2', 'x3', 'x4', 'b');
    await expire(2, 3, 4);
    for (const body of ['c', 'd', 'e']) await send(mailboxes, body);
    expect(await bodies(mailboxes)).toEqual(['a', 'b', 'c', 'd', 'e']);
    const dropped: unknown[] = [];
    for (const body of ['f', 'g', 'h']) {
      dropped.push((await mailboxes.send('jack', body, ANNA)).dropped);
      expect((await mailboxes.status('jack')).size).toBe(5);
    }
    expect(dropped).toEqual([
      { fromId: 1, toId: 1 },
      { fromId: 2, toId: 5 },
      { fromId: 6, toId: 6 },
    ]);
    expect(await bodies(mailboxes)).toEqual(['d', 'e', 'f', 'g', 'h']);
    expect(await stored()).toEqual(['7:', '8:', '9:', '10:', '11:']);
  });

  test('without its marks troubles nobody', async () => {
    const mailboxes = create();
    await send(mailboxes, 'a', 'x2', 'x3', 'b');
    await expire(2, 3);
    await bodies(mailboxes);
    // As when a Redis that may evict has evicted them.
    await redis.del(keyOf('-uncounted'));
    expect(await bodies(mailboxes)).toEqual(['a', 'b']);
    expect(await bodies(mailboxes, { order: 'latest' })).toEqual(['b', 'a']);
    await send(mailboxes, 'x5', 'c');
    await expire(5);
    expect(await bodies(mailboxes)).toEqual(['a', 'b', 'c']);
    expect(await bodies(mailboxes, { order: 'latest' })).toEqual(['c', 'b', 'a']);
    await mailboxes.ack('jack', 1);
    expect((await mailboxes.status('jack')).lastId).toBe(6);
    await mailboxes.clear('jack');
    expect(await stored()).toEqual([]);
  });

  test('that many expire at once takes several calls, and is exact', async () => {
    const mailboxes = create();
    const all = Array.from({ length: 1_700 }, (_, index) => (index % 17 === 0 ? 'a' : 'x'));
    await send(mailboxes, ...all);
    await expire(...all.flatMap((body, index) => (body === 'x' ? index + 1 : [])));
    // All of them look at the same time.
    const [unread, messages, status] = await Promise.all([
      mailboxes.unread('jack'),
      bodies(mailboxes, { limit: 1_000 }),
      mailboxes.status('jack'),
    ]);
    expect(unread).toBe(100);
    expect(messages).toEqual(Array.from({ length: 100 }, () => 'a'));
    expect(status).toMatchObject({ unread: 100, size: 100 });
    expect(await mailboxes.clear('jack')).toBe(100);
    expect(await stored()).toEqual([]);
  });

  test('expires for all devices, wherever they are', async () => {
    const mailboxes = create();
    await mailboxes.addDevice('jack', 'main');
    await mailboxes.addDevice('jack', 'phone');
    await send(mailboxes, 'a', 'x2', 'x3', 'b');
    await mailboxes.ack('jack', 1, { device: 'phone' });
    await expire(2, 3);
    expect(await mailboxes.devices('jack')).toMatchObject([
      { device: 'main', ackedId: 0, unread: 2 },
      { device: 'phone', ackedId: 1, unread: 1 },
    ]);
    await mailboxes.ack('jack', 1);
    expect(await stored()).toEqual(['4:']);
    expect(await mailboxes.devices('jack')).toMatchObject([
      { device: 'main', ackedId: 3, unread: 1 },
      { device: 'phone', ackedId: 3, unread: 1 },
    ]);
  });

  test('of a mailbox without its numbering troubles nobody', async () => {
    const mailboxes = create();
    await send(mailboxes, 'x1', 'x2', 'x3');
    await expire(1, 2);
    await redis.del(keyOf());
    expect(await bodies(mailboxes)).toEqual([]);
    expect(await mailboxes.unread('jack')).toBe(0);
    await send(mailboxes, 'a');
    expect(await stored()).toEqual(['1:']);
    expect(await sizes()).toEqual({ uncounted: 0, expiring: 0 });
  });

  test('of a message that was dropped by age brings nothing back', async () => {
    const mailboxes = create({ keepMs: 1_000 });
    await send(mailboxes, 'x1', 'a');
    await until('the log to expire', async () => (await stored()).length === 0);
    await expire(1);
    expect(await mailboxes.status('jack')).toMatchObject({ unread: 0, dropped: { fromId: 1, toId: 2 } });
    await send(mailboxes, 'b');
    expect(await bodies(mailboxes)).toEqual(['b']);
  });
});

import { describe, expect, test } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import { connect, freshPrefix, until } from '@mortise/test-kit';

const redis = connect();
const ANNA = { from: 'anna' };

describe('maxMessages', () => {
  test('drops the oldest messages and tells sender, receiver and status which', async () => {
    const mailboxes = new Mailboxes(redis, { prefix: freshPrefix(), maxMessages: 3 });
    const results = await mailboxes.sendMany(
      [1, 2, 3, 4, 5].map((body) => ({ recipient: 'jack', body, from: 'anna' })),
    );
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
    const mailboxes = new Mailboxes(redis, { prefix: freshPrefix(), maxMessages: 2 });
    await mailboxes.send('jack', 1, ANNA);
    await mailboxes.ack('jack', 1);
    for (const body of [2, 3]) expect(await mailboxes.send('jack', body, ANNA)).not.toHaveProperty('dropped');
    expect(await mailboxes.send('jack', 4, ANNA)).toMatchObject({ dropped: { fromId: 2, toId: 2 } });
  });

  test('takes effect when it was lowered', async () => {
    const prefix = freshPrefix();
    const many = Array.from({ length: 1_500 }, (_, body) => ({ recipient: 'jack', body, from: 'anna' }));
    await new Mailboxes(redis, { prefix }).sendMany(many);
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
    const mailboxes = new Mailboxes(redis, {
      prefix: freshPrefix(),
      maxBytes: 1_024,
      maxPayloadBytes: 1_000,
    });
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
    const mailboxes = new Mailboxes(redis, {
      prefix: freshPrefix(),
      maxBytes: 1_024,
      maxPayloadBytes: 1_024,
    });
    await mailboxes.send('jack', 'small', ANNA);
    const { dropped } = await mailboxes.send('jack', 'x'.repeat(1_022), ANNA);
    expect(dropped).toEqual({ fromId: 1, toId: 1 });
    expect(await mailboxes.unread('jack')).toBe(1);
  });

  test('sizeBytes is the sum of the stored entries', async () => {
    const prefix = freshPrefix();
    const mailboxes = new Mailboxes(redis, { prefix });
    for (const body of ['a', 'éé', { b: [1] }, '😀']) await mailboxes.send('jack', body, { from: 'änna' });
    await mailboxes.ack('jack', 1);
    const entries = await redis.lrangeBuffer(`${prefix}:messaging:{jack}:mailbox-log`, 0, -1);
    const sum = entries.reduce((bytes, entry) => bytes + entry.length, 0);
    expect(await mailboxes.status('jack')).toMatchObject({ size: 3, sizeBytes: sum });
  });
});

describe('keepMs', () => {
  test('lets the next send drop messages that are too old, and report them', async () => {
    const prefix = freshPrefix();
    const mailboxes = new Mailboxes(redis, { prefix, keepMs: 60_000 });
    await mailboxes.sendMany(['old', 'old'].map((body) => ({ recipient: 'jack', body, from: 'anna' })));
    // Made two minutes older: the mailbox, and its time of the last message.
    await redis.zincrby(`${prefix}:messaging:{jack}:mailbox`, 120_000, '\0e');
    const { id, dropped } = await mailboxes.send('jack', 'new', ANNA);
    expect({ id, dropped }).toEqual({ id: 3, dropped: { fromId: 1, toId: 2 } });
    expect(await mailboxes.receive('jack')).toMatchObject([
      { id: 3, body: 'new', droppedBefore: { fromId: 1, toId: 2 } },
    ]);
  });

  test('empties a mailbox without new messages, and `status` has the dropped ones', async () => {
    const mailboxes = new Mailboxes(redis, { prefix: freshPrefix(), keepMs: 1_500 });
    await mailboxes.sendMany([1, 2, 3].map((body) => ({ recipient: 'jack', body, from: 'anna' })));
    await mailboxes.ack('jack', 1);
    await until('the messages to expire', async () => (await mailboxes.unread('jack')) === 0);
    expect(await mailboxes.receive('jack')).toEqual([]);
    const status = await mailboxes.status('jack');
    expect(status).toMatchObject({ lastId: 3, ackedId: 1, sizeBytes: 0, dropped: { fromId: 2, toId: 3 } });
    expect(await mailboxes.send('jack', 4, ANNA)).toEqual({ id: 4, isDuplicate: false });
    expect(await mailboxes.receive('jack')).toMatchObject([{ id: 4, droppedBefore: { fromId: 2, toId: 3 } }]);
  });
});

describe('the ids of senders', () => {
  test('are remembered for the last 9,000 messages and more, in two generations', async () => {
    const prefix = freshPrefix();
    const mailboxes = new Mailboxes(redis, { prefix });
    const send = (from: number, count: number): Promise<unknown> =>
      mailboxes.sendMany(
        Array.from({ length: count }, (_, index) => ({
          recipient: 'jack',
          body: 1,
          from: 'anna',
          id: `id ${from + index}`,
        })),
      );
    await send(0, 10_100);
    const [ids, oldIds] = ['ids', 'ids-before'].map((part) => `${prefix}:messaging:{jack}:mailbox-${part}`);
    // Each of them with a field that tells where it begins.
    const sizes = [await redis.hlen(oldIds!), await redis.hlen(ids!)].map((size) => size - 1);
    expect(sizes[0]).toBeGreaterThanOrEqual(9_000);
    expect(sizes[0]).toBeLessThanOrEqual(10_000);
    expect(sizes[0]! + sizes[1]!).toBe(10_100);
    expect(await mailboxes.send('jack', 1, { from: 'anna', id: 'id 0' })).toEqual({
      id: 1,
      isDuplicate: true,
    });
  });
});

describe('sentAt', () => {
  test('does not run back when the clock of the server does', async () => {
    const prefix = freshPrefix();
    const mailboxes = new Mailboxes(redis, { prefix });
    await mailboxes.send('jack', 1, ANNA);
    // As a message that a master took whose clock was ahead.
    await redis.zadd(`${prefix}:messaging:{jack}:mailbox`, -60_000, '\0t');
    await mailboxes.send('jack', 2, ANNA);
    const { epoch, lastReceivedAt } = await mailboxes.status('jack');
    expect((await mailboxes.receive('jack')).at(-1)?.sentAt).toBe(epoch! + 60_000);
    expect(lastReceivedAt).toBe(epoch! + 60_000);
  });
});

describe('a mailbox without its numbering', () => {
  test('begins anew, in another epoch, with nothing of the old one', async () => {
    const prefix = freshPrefix();
    const mailboxes = new Mailboxes(redis, { prefix });
    await mailboxes.sendMany(
      [1, 2, 3].map((body) => ({ recipient: 'jack', body, from: 'anna', id: `x${body}` })),
    );
    const { epoch } = await mailboxes.status('jack');
    await redis.del(`${prefix}:messaging:{jack}:mailbox`);
    await until('the clock to move', async () => Date.now() > epoch!);
    expect(await mailboxes.send('jack', 'new', { from: 'anna', id: 'x1' })).toEqual({
      id: 1,
      isDuplicate: false,
    });
    expect(await mailboxes.receive('jack')).toMatchObject([{ id: 1, body: 'new' }]);
    expect((await mailboxes.status('jack')).epoch).toBeGreaterThan(epoch!);
  });
});

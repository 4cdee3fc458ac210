import { describe, expect, test } from '@jest/globals';
import { NotAllowedError, TooManyError, UnknownIdError } from '@mortise/messaging';
import type { Mailboxes, MailboxesOptions } from '@mortise/messaging';
import { HOSTILE } from '../fixture/chat-state.js';
import { ANNA, bodies, create, isAwaited, keyOf, prefix, redis, sendAll } from '../fixture/mailboxes.js';
import { outcomesOf } from '../fixture/outcomes.js';

const PHONE = { device: 'phone' };

/** With the devices `main` and `phone`. */
async function createWithPhone(options: MailboxesOptions = {}): Promise<Mailboxes> {
  const mailboxes = create(options);
  await mailboxes.addDevice('jack', 'main');
  await mailboxes.addDevice('jack', 'phone');
  return mailboxes;
}

describe('addDevice', () => {
  test('begins after the newest message, or before the oldest stored one', async () => {
    const mailboxes = create();
    await sendAll(mailboxes, [1, 2, 3]);
    await mailboxes.ack('jack', 1);
    expect(await mailboxes.addDevice('jack', 'phone')).toEqual({ isNew: true, ackedId: 3 });
    expect(await mailboxes.addDevice('jack', 'tv', { at: 'oldest' })).toEqual({ isNew: true, ackedId: 1 });
    expect(await mailboxes.addDevice('jack', 'pad', { at: 'newest' })).toEqual({ isNew: true, ackedId: 3 });
    await sendAll(mailboxes, [4]);
    expect(await bodies(mailboxes, PHONE)).toEqual([4]);
    expect(await bodies(mailboxes, { device: 'tv' })).toEqual([2, 3, 4]);
    expect(await bodies(mailboxes, { device: 'main' })).toEqual([2, 3, 4]);
    expect(await bodies(mailboxes)).toEqual([2, 3, 4]);
  });

  test('does not change an existing device', async () => {
    const mailboxes = create();
    await sendAll(mailboxes, [1, 2]);
    expect(await mailboxes.addDevice('jack', 'main')).toEqual({ isNew: false, ackedId: 0 });
    await mailboxes.addDevice('jack', 'phone');
    expect(await mailboxes.addDevice('jack', 'phone', { at: 'oldest' })).toEqual({
      isNew: false,
      ackedId: 2,
    });
    expect(await bodies(mailboxes)).toEqual([1, 2]);
  });

  test('begins a mailbox with this device alone', async () => {
    const mailboxes = create();
    expect(await mailboxes.addDevice('jack', 'phone', { at: 'oldest' })).toEqual({ isNew: true, ackedId: 0 });
    expect(await mailboxes.status('jack')).toMatchObject({ lastId: 0, unread: 0, lastReceivedAt: null });
    await sendAll(mailboxes, [1]);
    expect(await bodies(mailboxes, PHONE)).toEqual([1]);
    expect((await mailboxes.devices('jack')).map(({ device }) => device)).toEqual(['phone']);
    await expect(mailboxes.receive('jack')).rejects.toThrow(UnknownIdError);
    expect(await mailboxes.addDevice('jack', 'main')).toEqual({ isNew: true, ackedId: 1 });
  });

  test('refuses more than 100', async () => {
    const mailboxes = create();
    const names = Array.from({ length: 100 }, (_, index) => `device ${index}`);
    await Promise.all(names.map((name) => mailboxes.addDevice('jack', name)));
    const refusal = await mailboxes.addDevice('jack', 'one more').catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(TooManyError);
    expect(refusal).toMatchObject({ code: 'ERR_TOO_MANY_DEVICES', recipient: 'jack', maxDevices: 100 });
    expect(await mailboxes.addDevice('jack', 'device 7')).toEqual({ isNew: false, ackedId: 0 });
    expect(await mailboxes.devices('jack')).toHaveLength(100);
  });

  test.each([
    ['', RangeError],
    ['x'.repeat(1_025), RangeError],
    [null as unknown as string, TypeError],
    [7 as unknown as string, TypeError],
  ])('refuses the device %j', async (device, Misuse) => {
    const mailboxes = create();
    await expect(mailboxes.addDevice('jack', device)).rejects.toThrow(Misuse);
    await expect(mailboxes.removeDevice('jack', device)).rejects.toThrow(Misuse);
    await expect(mailboxes.receive('jack', { device })).rejects.toThrow(Misuse);
    await expect(mailboxes.ack('jack', 0, { device })).rejects.toThrow(Misuse);
  });

  test('refuses another beginning', async () => {
    const at = 'middle' as 'newest';
    await expect(create().addDevice('jack', 'phone', { at })).rejects.toThrow(RangeError);
  });

  test.each([...HOSTILE, '-1'])('%j is a device', async (device) => {
    const mailboxes = create();
    await mailboxes.addDevice('jack', device);
    await sendAll(mailboxes, [1]);
    expect(await bodies(mailboxes, { device })).toEqual([1]);
    expect(await mailboxes.ack('jack', 1, { device })).toBe(1);
    expect(await mailboxes.devices('jack')).toMatchObject([{ device, ackedId: 1, unread: 0 }]);
    expect(await mailboxes.removeDevice('jack', device)).toBe(true);
  });
});

describe('ack of several devices', () => {
  test('frees the messages that the slowest one has acked, and counts for each', async () => {
    const mailboxes = await createWithPhone();
    await sendAll(mailboxes, [1, 2, 3]);
    expect(await mailboxes.ack('jack', 2)).toBe(2);
    expect(await mailboxes.status('jack')).toMatchObject({ unread: 3, ackedId: 0, dropped: null });
    expect(await mailboxes.unread('jack')).toBe(1);
    expect(await mailboxes.unread('jack', PHONE)).toBe(3);
    expect(await mailboxes.ack('jack', 1, PHONE)).toBe(1);
    expect(await mailboxes.status('jack')).toMatchObject({ unread: 2, ackedId: 1 });
    expect(await mailboxes.clear('jack', PHONE)).toBe(2);
    expect(await mailboxes.status('jack')).toMatchObject({ unread: 1, ackedId: 2 });
    expect(await mailboxes.clear('jack')).toBe(1);
    expect(await mailboxes.status('jack')).toMatchObject({ unread: 0, sizeBytes: 0, ackedId: 3, lastId: 3 });
  });

  test('travels together, each answered for itself', async () => {
    const mailboxes = await createWithPhone();
    await sendAll(mailboxes, [1, 2, 3]);
    const acks = await outcomesOf([
      mailboxes.ack('jack', 2),
      mailboxes.ack('jack', 4),
      mailboxes.ack('jack', 1, PHONE),
      mailboxes.ack('jack', 1, { device: 'tv' }),
      mailboxes.ack('jack', 3),
      mailboxes.ack('jack', 2, PHONE),
      mailboxes.ack('jack', 1, PHONE),
    ]);
    expect(acks).toEqual([2, 'ERR_UNKNOWN_MESSAGE', 1, 'ERR_UNKNOWN_DEVICE', 1, 1, 0]);
    expect((await mailboxes.devices('jack')).map(({ device, ackedId }) => [device, ackedId])).toEqual([
      ['phone', 2],
      ['main', 3],
    ]);
  });

  test('a cap drops messages that a slow device has not acked, and reports them to it alone', async () => {
    const mailboxes = await createWithPhone({ maxMessages: 3 });
    await sendAll(mailboxes, [1, 2, 3]);
    await mailboxes.ack('jack', 3);
    await sendAll(mailboxes, [4, 5]);
    expect((await mailboxes.receive('jack'))[0]).toEqual({
      id: 4,
      body: 4,
      from: 'anna',
      sentAt: expect.any(Number),
    });
    expect((await mailboxes.receive('jack', PHONE))[0]).toMatchObject({
      id: 3,
      droppedBefore: { fromId: 1, toId: 2 },
    });
    expect(await mailboxes.devices('jack')).toMatchObject([
      { device: 'phone', unread: 3, dropped: { fromId: 1, toId: 2 } },
      { device: 'main', unread: 2, dropped: null },
    ]);
  });
});

describe('removeDevice', () => {
  test('frees the messages that it alone had not acked', async () => {
    const mailboxes = create();
    await mailboxes.addDevice('jack', 'phone');
    await mailboxes.addDevice('jack', 'gone');
    await sendAll(mailboxes, [1, 2, 3]);
    await mailboxes.ack('jack', 2, PHONE);
    expect(await mailboxes.status('jack')).toMatchObject({ unread: 3 });
    expect(await mailboxes.removeDevice('jack', 'gone')).toBe(true);
    expect(await mailboxes.status('jack')).toMatchObject({ unread: 1, ackedId: 2 });
    expect(await mailboxes.removeDevice('jack', 'gone')).toBe(false);
    expect(await mailboxes.removeDevice('nobody', 'gone')).toBe(false);
    const gone = { device: 'gone' };
    const outcomes = await Promise.allSettled([
      mailboxes.receive('jack', gone),
      mailboxes.ack('jack', 0, gone),
      mailboxes.clear('jack', gone),
      mailboxes.unread('jack', gone),
    ]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(UnknownIdError) });
      expect(outcome).toMatchObject({
        reason: { code: 'ERR_UNKNOWN_DEVICE', recipient: 'jack', device: 'gone' },
      });
    }
  });

  test('of the last one keeps later messages for the next one, and the numbering', async () => {
    const mailboxes = create();
    await sendAll(mailboxes, [1, 2]);
    await mailboxes.ack('jack', 1);
    expect(await mailboxes.removeDevice('jack', 'main')).toBe(true);
    await sendAll(mailboxes, [3]);
    expect(await mailboxes.devices('jack')).toEqual([]);
    expect(await mailboxes.status('jack')).toMatchObject({ unread: 2, lastId: 3, ackedId: 1 });
    await expect(mailboxes.unread('jack')).rejects.toThrow(UnknownIdError);
    await mailboxes.addDevice('jack', 'phone', { at: 'oldest' });
    expect(await bodies(mailboxes, PHONE)).toEqual([2, 3]);
  });
});

describe('a device of a missing mailbox', () => {
  test('is unknown, except the one that the first message creates', async () => {
    const mailboxes = create();
    expect(await mailboxes.receive('jack', { device: 'main' })).toEqual([]);
    expect(await mailboxes.ack('jack', 0)).toBe(0);
    await expect(mailboxes.receive('jack', PHONE)).rejects.toThrow(UnknownIdError);
    await expect(mailboxes.ack('jack', 0, PHONE)).rejects.toThrow(UnknownIdError);
    await expect(mailboxes.clear('jack', PHONE)).rejects.toThrow(UnknownIdError);
    await expect(mailboxes.unread('jack', PHONE)).rejects.toThrow(UnknownIdError);
    expect(await mailboxes.devices('jack')).toEqual([]);
  });
});

describe('waiting', () => {
  test('a device without unread messages is woken while another one has some', async () => {
    const mailboxes = await createWithPhone();
    await sendAll(mailboxes, [1]);
    await mailboxes.ack('jack', 1, PHONE);
    const waiting = mailboxes.receive('jack', { ...PHONE, waitMs: Infinity });
    await isAwaited();
    await sendAll(mailboxes, [2]);
    expect(await waiting).toMatchObject([{ id: 2 }]);
  });

  test('ends with ERR_UNKNOWN_DEVICE when the device was removed', async () => {
    const mailboxes = create();
    await mailboxes.addDevice('jack', 'phone');
    const waiting = mailboxes.receive('jack', { ...PHONE, waitMs: Infinity });
    waiting.catch(() => undefined);
    await mailboxes.removeDevice('jack', 'phone');
    // It looks again with the next message.
    await sendAll(mailboxes, [1]);
    await expect(waiting).rejects.toThrow(UnknownIdError);
  });
});

describe('the last fetch', () => {
  test('is that of the last receive of each device, even without messages', async () => {
    const mailboxes = create();
    await sendAll(mailboxes, [1]);
    await mailboxes.addDevice('jack', 'phone');
    expect(await mailboxes.status('jack')).toMatchObject({ lastFetchedAt: null });
    await mailboxes.unread('jack');
    await mailboxes.ack('jack', 1);
    expect(await mailboxes.status('jack')).toMatchObject({ lastFetchedAt: null });
    const [seconds] = await redis.time();
    await mailboxes.receive('jack', PHONE);
    const { lastFetchedAt, devices } = await mailboxes.status('jack');
    expect(lastFetchedAt).toBeGreaterThanOrEqual(1_000 * Number(seconds));
    expect(lastFetchedAt).toBeLessThan(1_000 * Number(seconds) + 60_000);
    expect(devices.map((device) => [device.device, device.lastFetchedAt])).toEqual([
      ['main', null],
      ['phone', lastFetchedAt],
    ]);
  });

  test('moves on, once in a second at most', async () => {
    const mailboxes = create();
    await sendAll(mailboxes, [1]);
    await mailboxes.receive('jack');
    const first = (await mailboxes.status('jack')).lastFetchedAt!;
    await redis.hset(keyOf('-fetched'), 'main', first - 1_000);
    await mailboxes.receive('jack');
    expect((await mailboxes.status('jack')).lastFetchedAt).toBeGreaterThanOrEqual(first);
  });
});

describe('block', () => {
  test('refuses messages of the sender, and takes those of others', async () => {
    const mailboxes = create();
    await mailboxes.send('jack', 'before', { from: 'joe' });
    expect(await mailboxes.block('jack', 'joe')).toBe(true);
    expect(await mailboxes.block('jack', 'joe')).toBe(false);
    const refusal = await mailboxes.send('jack', 'spam', { from: 'joe' }).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(NotAllowedError);
    expect(refusal).toMatchObject({ code: 'ERR_SENDER_BLOCKED', recipient: 'jack', sender: 'joe' });
    expect(await mailboxes.send('jack', 'hi', ANNA)).toEqual({ id: 2, isDuplicate: false });
    expect(await mailboxes.send('jill', 'hi', { from: 'joe' })).toEqual({ id: 1, isDuplicate: false });
    // Stored messages stay.
    expect(await bodies(mailboxes)).toEqual(['before', 'hi']);
  });

  test('refuses only the messages of the sender in a batch', async () => {
    const mailboxes = create();
    await mailboxes.block('jack', 'joe');
    const sends = ['anna', 'joe', 'bert', 'joe', 'anna'].map(async (from, index) => {
      const options = { from, id: `id ${index}`, ...(index === 4 && { ttlMs: 3_600_000 }) };
      return (await mailboxes.send('jack', index, options)).id;
    });
    expect(await outcomesOf(sends)).toEqual([1, 'ERR_SENDER_BLOCKED', 2, 'ERR_SENDER_BLOCKED', 3]);
    expect(await bodies(mailboxes)).toEqual([0, 2, 4]);
  });

  test('a `ttlMs` counts for its own message, also after refused ones', async () => {
    const mailboxes = create();
    await mailboxes.block('jack', 'joe');
    await Promise.allSettled(
      [
        { from: 'joe', ttlMs: 1_000 },
        { from: 'anna' },
        { from: 'anna', ttlMs: 3_600_000 },
        { from: 'anna' },
      ].map((options) => mailboxes.send('jack', 1, options)),
    );
    expect(await redis.zrange(keyOf('-expiring'), '0', '-1')).toEqual(['2']);
  });

  test('sendMany sends the others, then rejects with the refusal', async () => {
    const mailboxes = create();
    await mailboxes.block('jack', 'joe');
    const messages = ['jack', 'jill', 'jack'].map((recipient, index) => ({
      recipient,
      body: index,
      from: index === 0 ? 'joe' : 'anna',
    }));
    await expect(mailboxes.sendMany(messages)).rejects.toThrow('"jack" takes nothing from "joe"');
    expect(await Promise.all([mailboxes.unread('jack'), mailboxes.unread('jill')])).toEqual([1, 1]);
  });

  test('answers the repetition of a message that was sent before', async () => {
    const mailboxes = create();
    const options = { from: 'joe', id: 'x' };
    await mailboxes.send('jack', 1, options);
    await mailboxes.block('jack', 'joe');
    const sends = [mailboxes.send('jack', 1, options), mailboxes.send('jack', 2, { from: 'joe', id: 'y' })];
    expect(await outcomesOf(sends)).toEqual([{ id: 1, isDuplicate: true }, 'ERR_SENDER_BLOCKED']);
  });

  test('makes no mailbox, and neither does a refused message', async () => {
    const mailboxes = create();
    await mailboxes.block('jack', 'joe');
    await expect(mailboxes.send('jack', 1, { from: 'joe' })).rejects.toThrow(NotAllowedError);
    expect(await redis.keys(`${prefix}:*`)).toEqual([keyOf('-blocked')]);
    expect((await mailboxes.status('jack')).epoch).toBeNull();
  });

  test('is full at 10,000, and says so', async () => {
    const mailboxes = create();
    const names = Array.from({ length: 10_000 }, (_, index) => `sender ${index}`);
    await Promise.all(names.map((name) => mailboxes.block('jack', name)));
    const changes = await Promise.allSettled([
      mailboxes.block('jack', 'one more'),
      mailboxes.block('jack', 'sender 7'),
      mailboxes.unblock('jack', 'sender 7'),
      mailboxes.block('jack', 'one more'),
    ]);
    expect(changes[0]).toMatchObject({ reason: expect.any(TooManyError) });
    expect(changes[0]).toMatchObject({ reason: { code: 'ERR_TOO_MANY_BLOCKED', maxBlocked: 10_000 } });
    expect(changes.slice(1)).toEqual([
      { status: 'fulfilled', value: false },
      { status: 'fulfilled', value: true },
      { status: 'fulfilled', value: true },
    ]);
  });
});

describe('unblock and blocked', () => {
  test('let the sender in again, and tell whom the recipient has blocked', async () => {
    const mailboxes = create();
    expect(await mailboxes.blocked('jack')).toEqual([]);
    await Promise.all(['joe', 'bert', '}x', '\ud83d', '\0'].map((sender) => mailboxes.block('jack', sender)));
    expect(await mailboxes.blocked('jack')).toEqual(['\0', 'bert', 'joe', '}x', '\ud83d']);
    expect(await mailboxes.unblock('jack', 'joe')).toBe(true);
    expect(await mailboxes.unblock('jack', 'joe')).toBe(false);
    expect(await mailboxes.send('jack', 'hi', { from: 'joe' })).toEqual({ id: 1, isDuplicate: false });
    await expect(mailboxes.send('jack', 'hi', { from: '}x' })).rejects.toThrow(NotAllowedError);
    await expect(mailboxes.send('jack', 'hi', { from: '\0' })).rejects.toThrow(NotAllowedError);
  });

  test('happen in the order of the calls', async () => {
    const mailboxes = create();
    const changes = [true, false, false, true, true];
    const results = changes.map((isBlock) =>
      isBlock ? mailboxes.block('jack', 'joe') : mailboxes.unblock('jack', 'joe'),
    );
    expect(await Promise.all(results)).toEqual([true, true, false, true, false]);
  });

  test.each([
    ['', RangeError],
    [null as unknown as string, TypeError],
  ])('refuse %j as a name', async (name, Misuse) => {
    const mailboxes = create();
    await expect(mailboxes.block('jack', name)).rejects.toThrow(Misuse);
    await expect(mailboxes.block(name, 'joe')).rejects.toThrow(Misuse);
    await expect(mailboxes.unblock('jack', name)).rejects.toThrow(Misuse);
    await expect(mailboxes.blocked(name)).rejects.toThrow(Misuse);
  });
});

import { describe, expect, test } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import type { MailboxesOptions, ReceiveOptions } from '@mortise/messaging';
import { connect, freshPrefix, until } from '@mortise/test-kit';

const redis = connect();
const HOUR_MS = 3_600_000;

/** A mailbox of messages, some of which expire when the test says so. */
class Box {
  readonly prefix = freshPrefix();
  readonly mailboxes: Mailboxes;
  readonly #key = `${this.prefix}:messaging:{jack}:mailbox`;

  constructor(options: MailboxesOptions = {}) {
    this.mailboxes = new Mailboxes(redis, { prefix: this.prefix, ...options });
  }

  /** Those whose names begin with `x` can expire. */
  async send(...bodies: readonly string[]): Promise<void> {
    await this.mailboxes.sendMany(
      bodies.map((body) => ({
        recipient: 'jack',
        body,
        from: 'anna',
        ...(body.startsWith('x') && { ttlMs: HOUR_MS }),
      })),
    );
  }

  /** As when the time of these messages is over. */
  async expire(...ids: readonly number[]): Promise<void> {
    await redis.zadd(`${this.#key}-expiring`, 'XX', ...ids.flatMap((id) => [1, id]));
  }

  async bodies(options: ReceiveOptions = {}): Promise<unknown[]> {
    return (await this.mailboxes.receive('jack', options)).map(({ body }) => body);
  }

  /** The stored log, without payloads. */
  async stored(): Promise<string[]> {
    const entries = await redis.lrange(`${this.#key}-log`, 0, -1);
    return entries.map((entry) => /^(\d+:X?)/.exec(entry)![1]!);
  }

  async sizes(): Promise<{ uncounted: number; expiring: number }> {
    const [uncounted, expiring] = await Promise.all([
      redis.zcard(`${this.#key}-uncounted`),
      redis.zcard(`${this.#key}-expiring`),
    ]);
    return { uncounted, expiring };
  }
}

describe('a message with ttlMs', () => {
  test('is there until its time is over', async () => {
    const box = new Box();
    const { mailboxes } = box;
    const { id } = await mailboxes.send('jack', 'short', { from: 'anna', id: 'x', ttlMs: 60_000 });
    await mailboxes.send('jack', 'long', { from: 'anna', ttlMs: HOUR_MS });
    expect(await mailboxes.receive('jack')).toMatchObject([{ body: 'short' }, { body: 'long' }]);
    await box.expire(id);
    expect(await mailboxes.unread('jack')).toBe(1);
    const [message, ...others] = await mailboxes.receive('jack');
    expect(others).toEqual([]);
    expect(message).toEqual({ id: 2, from: 'anna', body: 'long', sentAt: expect.any(Number) });
    expect(message!.sentAt + HOUR_MS).toBeGreaterThan(Date.now());
    // The id of an expired message is still known.
    expect(await mailboxes.send('jack', 'again', { from: 'anna', id: 'x' })).toEqual({
      id,
      isDuplicate: true,
    });
  });

  test('is over on the clock of the server', async () => {
    const { mailboxes } = new Box();
    await mailboxes.send('jack', 'short', { from: 'anna', ttlMs: 50 });
    await until('it to expire', async () => (await mailboxes.unread('jack')) === 0);
    expect(await mailboxes.receive('jack')).toEqual([]);
  });

  test.each([[0], [-1], [Number.NaN], [Number.POSITIVE_INFINITY], [0.5]])(
    'refuses a ttlMs of %d',
    async (ttlMs) => {
      const { mailboxes } = new Box();
      await expect(mailboxes.send('jack', 1, { from: 'anna', ttlMs })).rejects.toThrow(RangeError);
      const ofOtherType = { from: 'anna', ttlMs: '7' as unknown as number };
      await expect(mailboxes.send('jack', 1, ofOtherType)).rejects.toThrow(TypeError);
      expect(await mailboxes.unread('jack')).toBe(0);
    },
  );

  test('is skipped between others, from both ends, and the limit is filled', async () => {
    const box = new Box();
    await box.send('a', 'x2', 'b', 'x4', 'x5', 'c', 'x7');
    await box.expire(2, 4, 5);
    expect(await box.mailboxes.unread('jack')).toBe(4);
    expect(await box.bodies()).toEqual(['a', 'b', 'c', 'x7']);
    expect(await box.bodies({ limit: 2 })).toEqual(['a', 'b']);
    expect(await box.bodies({ limit: 3 })).toEqual(['a', 'b', 'c']);
    expect(await box.bodies({ limit: 1, order: 'latest' })).toEqual(['x7']);
    expect(await box.bodies({ limit: 3, order: 'latest' })).toEqual(['x7', 'c', 'b']);
    expect(await box.bodies({ order: 'latest' })).toEqual(['x7', 'c', 'b', 'a']);
    expect(await box.stored()).toEqual(['1:', '2:X', '3:', '4:X', '5:X', '6:', '7:']);
    const { sizeBytes, unread, oldestUnreadAt } = await box.mailboxes.status('jack');
    const entries = await redis.lrange(`${box.prefix}:messaging:{jack}:mailbox-log`, 0, -1);
    expect({ sizeBytes, unread }).toEqual({ sizeBytes: entries.join('').length, unread: 4 });
    expect(oldestUnreadAt).toBe((await box.mailboxes.receive('jack'))[0]!.sentAt);
  });

  test('is not counted by an ack, and no gap', async () => {
    const box = new Box();
    await box.send('a', 'x2', 'b', 'x4', 'c');
    await box.expire(2, 4);
    expect(await box.mailboxes.ack('jack', 1)).toBe(1);
    expect(await box.mailboxes.status('jack')).toMatchObject({ ackedId: 2, dropped: null });
    expect((await box.mailboxes.receive('jack'))[0]).toEqual({
      id: 3,
      body: 'b',
      from: 'anna',
      sentAt: expect.any(Number),
    });
    expect(await box.mailboxes.ack('jack', 5)).toBe(2);
    expect(await box.stored()).toEqual([]);
    expect(await box.sizes()).toEqual({ uncounted: 0, expiring: 0 });
  });

  test('is freed without an ack when nothing is before it', async () => {
    const box = new Box();
    await box.send('x1', 'x2', 'a', 'x4');
    await box.expire(1, 2);
    expect(await box.mailboxes.unread('jack')).toBe(2);
    expect(await box.stored()).toEqual(['3:', '4:']);
    expect(await box.mailboxes.status('jack')).toMatchObject({ ackedId: 2, dropped: null });
    await box.expire(4);
    await box.mailboxes.ack('jack', 3);
    expect(await box.stored()).toEqual([]);
    expect(await box.mailboxes.status('jack')).toMatchObject({ ackedId: 4, lastId: 4, unread: 0 });
  });

  test('leaves nothing in a mailbox that nobody reads', async () => {
    const box = new Box();
    for (let round = 0; round < 10; round += 1) {
      const ids = [3 * round + 1, 3 * round + 2, 3 * round + 3];
      await box.send(...ids.map((id) => `x${id}`));
      await box.expire(...ids);
    }
    await box.send('a');
    expect(await box.stored()).toEqual(['31:']);
    expect(await box.sizes()).toEqual({ uncounted: 0, expiring: 0 });
  });

  test('is forgotten when it was acked or dropped before its time', async () => {
    const box = new Box({ maxMessages: 3 });
    await box.send('x1', 'x2', 'x3');
    await box.mailboxes.ack('jack', 2);
    expect(await box.sizes()).toMatchObject({ expiring: 1 });
    await box.send('x4', 'x5', 'x6', 'x7');
    expect(await box.sizes()).toMatchObject({ expiring: 3 });
    await box.expire(5);
    expect(await box.mailboxes.receive('jack')).toMatchObject([
      { id: 6, droppedBefore: { fromId: 3, toId: 4 } },
      { id: 7 },
    ]);
  });

  test('takes no place from those that stay', async () => {
    const box = new Box({ maxMessages: 3 });
    await box.send('a', 'x2', 'x3');
    await box.expire(2, 3);
    await box.send('b', 'c');
    expect(await box.bodies()).toEqual(['a', 'b', 'c']);
    expect(await box.mailboxes.send('jack', 'd', { from: 'anna' })).toMatchObject({
      dropped: { fromId: 1, toId: 1 },
    });
    expect(await box.bodies()).toEqual(['b', 'c', 'd']);
  });

  test('between messages leaves no more of these than may be', async () => {
    const box = new Box({ maxMessages: 5 });
    await box.send('a', 'x2', 'x3', 'x4', 'b');
    await box.expire(2, 3, 4);
    for (const body of ['c', 'd', 'e']) await box.send(body);
    expect(await box.bodies()).toEqual(['a', 'b', 'c', 'd', 'e']);
    const dropped: unknown[] = [];
    for (const body of ['f', 'g', 'h']) {
      dropped.push((await box.mailboxes.send('jack', body, { from: 'anna' })).dropped);
      expect((await box.mailboxes.status('jack')).size).toBe(5);
    }
    expect(dropped).toEqual([
      { fromId: 1, toId: 1 },
      { fromId: 2, toId: 5 },
      { fromId: 6, toId: 6 },
    ]);
    expect(await box.bodies()).toEqual(['d', 'e', 'f', 'g', 'h']);
    expect(await box.stored()).toEqual(['7:', '8:', '9:', '10:', '11:']);
  });

  test('without its marks troubles nobody', async () => {
    const box = new Box();
    await box.send('a', 'x2', 'x3', 'b');
    await box.expire(2, 3);
    await box.bodies();
    // As when a Redis that may evict has evicted them.
    await redis.del(`${box.prefix}:messaging:{jack}:mailbox-uncounted`);
    expect(await box.bodies()).toEqual(['a', 'b']);
    expect(await box.bodies({ order: 'latest' })).toEqual(['b', 'a']);
    await box.send('x5', 'c');
    await box.expire(5);
    expect(await box.bodies()).toEqual(['a', 'b', 'c']);
    expect(await box.bodies({ order: 'latest' })).toEqual(['c', 'b', 'a']);
    await box.mailboxes.ack('jack', 1);
    expect((await box.mailboxes.status('jack')).lastId).toBe(6);
    await box.mailboxes.clear('jack');
    expect(await box.stored()).toEqual([]);
  });

  test('that many expire at once takes several calls, and is exact', async () => {
    const box = new Box();
    const bodies = Array.from({ length: 1_700 }, (_, index) => (index % 17 === 0 ? 'a' : 'x'));
    await box.send(...bodies);
    await box.expire(...bodies.flatMap((body, index) => (body === 'x' ? index + 1 : [])));
    // All of them look at the same time.
    const [unread, messages, status] = await Promise.all([
      box.mailboxes.unread('jack'),
      box.bodies({ limit: 1_000 }),
      box.mailboxes.status('jack'),
    ]);
    expect(unread).toBe(100);
    expect(messages).toEqual(Array.from({ length: 100 }, () => 'a'));
    expect(status).toMatchObject({ unread: 100, size: 100 });
    expect(await box.mailboxes.clear('jack')).toBe(100);
    expect(await box.stored()).toEqual([]);
  });

  test('expires for all devices, wherever they are', async () => {
    const box = new Box();
    const { mailboxes } = box;
    await mailboxes.addDevice('jack', 'main');
    await mailboxes.addDevice('jack', 'phone');
    await box.send('a', 'x2', 'x3', 'b');
    await mailboxes.ack('jack', 1, { device: 'phone' });
    await box.expire(2, 3);
    expect(await mailboxes.devices('jack')).toMatchObject([
      { device: 'main', ackedId: 0, unread: 2 },
      { device: 'phone', ackedId: 1, unread: 1 },
    ]);
    await mailboxes.ack('jack', 1);
    expect(await box.stored()).toEqual(['4:']);
    expect(await mailboxes.devices('jack')).toMatchObject([
      { device: 'main', ackedId: 3, unread: 1 },
      { device: 'phone', ackedId: 3, unread: 1 },
    ]);
  });

  test('of a mailbox without its numbering troubles nobody', async () => {
    const box = new Box();
    await box.send('x1', 'x2', 'x3');
    await box.expire(1, 2);
    await redis.del(`${box.prefix}:messaging:{jack}:mailbox`);
    expect(await box.bodies()).toEqual([]);
    expect(await box.mailboxes.unread('jack')).toBe(0);
    await box.send('a');
    expect(await box.stored()).toEqual(['1:']);
    expect(await box.sizes()).toEqual({ uncounted: 0, expiring: 0 });
  });

  test('of a message that was dropped by age brings nothing back', async () => {
    const box = new Box({ keepMs: 1_000 });
    await box.send('x1', 'a');
    await until('the log to expire', async () => (await box.stored()).length === 0);
    await box.expire(1);
    expect(await box.mailboxes.status('jack')).toMatchObject({ unread: 0, dropped: { fromId: 1, toId: 2 } });
    await box.send('b');
    expect(await box.bodies()).toEqual(['b']);
  });
});

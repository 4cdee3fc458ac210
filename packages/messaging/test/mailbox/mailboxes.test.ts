import { randomUUID } from 'node:crypto';
import { describe, expect, jest, test } from '@jest/globals';
import { InvalidBodyError, Mailboxes, UnknownIdError } from '@mortise/messaging';
import type { ReceiveOptions } from '@mortise/messaging';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { HOSTILE } from '../fixture/chat-state.js';
import { listenedChannels } from '../fixture/listened-channels.js';
import { ANNA, bodies, create, isAwaited, keyOf, prefix, redis, sendAll } from '../fixture/mailboxes.js';

const NAMES = [...HOSTILE, 'x'.repeat(1_024), '\ud83d'.repeat(341)];

describe('send', () => {
  test('numbers the messages of a mailbox without gaps, whoever sends', async () => {
    const mailboxes = create();
    const results = await Promise.all([
      mailboxes.send('jack', 'a', ANNA),
      mailboxes.send('jack', 'b', { from: 'bert' }),
      mailboxes.send('jill', 'c', ANNA),
      mailboxes.send('jack', 'd', ANNA),
    ]);
    expect(results.map(({ id }) => id)).toEqual([1, 2, 1, 3]);
    expect(results.map(({ isDuplicate }) => isDuplicate)).toEqual([false, false, false, false]);
    expect(await bodies(mailboxes)).toEqual(['a', 'b', 'd']);
    expect(await mailboxes.receive('jill')).toMatchObject([{ body: 'c' }]);
  });

  test.each([
    [null],
    [false],
    [0],
    [''],
    [[]],
    [{}],
    [{ a: [1, { b: '😀\0\ud83d' }], n: 9007199254740991 }],
    ['\0:\n'],
    [Object.fromEntries([['__proto__', 1]])],
  ])('carries %j as it is', async (body) => {
    const mailboxes = create();
    await mailboxes.send('jack', body, ANNA);
    expect(await bodies(mailboxes)).toStrictEqual([body]);
  });

  test('refuses a body above the limit and takes one at the limit, in bytes', async () => {
    const mailboxes = create({ maxPayloadBytes: 10 });
    await mailboxes.send('jack', 'éééé', ANNA);
    const refusal = await mailboxes.send('jack', 'éééé1', ANNA).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(InvalidBodyError);
    expect(refusal).toMatchObject({ code: 'ERR_BODY_TOO_LARGE', recipient: 'jack', bytes: 11, maxBytes: 10 });
    expect(await mailboxes.unread('jack')).toBe(1);
  });

  test('takes 64 KiB by default', async () => {
    const mailboxes = create();
    expect(await mailboxes.send('jack', 'x'.repeat(65_534), ANNA)).toEqual({ id: 1, isDuplicate: false });
    await expect(mailboxes.send('jack', 'x'.repeat(65_535), ANNA)).rejects.toThrow(InvalidBodyError);
  });

  test.each([
    [null, TypeError],
    [7, TypeError],
    [{}, TypeError],
    [['jack'], TypeError],
    ['', RangeError],
    ['x'.repeat(1_025), RangeError],
  ])('refuses %j as a name', async (given, Misuse) => {
    const mailboxes = create();
    const name = given as string;
    await expect(mailboxes.send(name, 'a', ANNA)).rejects.toThrow(Misuse);
    await expect(mailboxes.send('jack', 'a', { from: name })).rejects.toThrow(Misuse);
    await expect(mailboxes.send('jack', 'a', { from: 'anna', id: name })).rejects.toThrow(Misuse);
  });
});

describe('send with an id', () => {
  test('does nothing the second time, also in the same tick and after an ack', async () => {
    const mailboxes = create();
    const twice = await Promise.all(
      [1, 2].map((body) => mailboxes.send('jack', body, { from: 'anna', id: 'x' })),
    );
    expect(twice).toEqual([
      { id: 1, isDuplicate: false },
      { id: 1, isDuplicate: true },
    ]);
    await mailboxes.send('jack', 3, ANNA);
    await mailboxes.ack('jack', 2);
    expect(await mailboxes.send('jack', 4, { from: 'anna', id: 'x' })).toEqual({ id: 1, isDuplicate: true });
    expect(await mailboxes.send('jill', 5, { from: 'anna', id: 'x' })).toEqual({ id: 1, isDuplicate: false });
    expect(await mailboxes.unread('jack')).toBe(0);
  });

  test('forgets an id some time after dedupMs', async () => {
    const mailboxes = create({ dedupMs: 100 });
    await mailboxes.send('jack', 1, { from: 'anna', id: 'x' });
    // Sending other messages keeps the remembered ids alive; only their age ends them.
    const result = await until('the id to be forgotten', async () => {
      await mailboxes.send('jack', 'other', ANNA);
      const again = await mailboxes.send('jack', 2, { from: 'anna', id: 'x' });
      return again.isDuplicate ? undefined : again;
    });
    expect(result.id).toBeGreaterThan(2);
  });

  test('remembers it in the older generation', async () => {
    const mailboxes = create();
    // The beginning of the mailbox, moved 10 minutes into the past: the next message is in the next window.
    const age = (): Promise<string> => redis.zincrby(keyOf(), 600_000, '\0e');
    await mailboxes.send('jack', 1, { from: 'anna', id: 'x' });
    await age();
    await mailboxes.send('jack', 2, { from: 'anna', id: 'y' });
    expect((await redis.hkeys(keyOf('-ids'))).toSorted()).toEqual(['', 'anna\0y']);
    expect(await mailboxes.send('jack', 3, { from: 'anna', id: 'x' })).toEqual({ id: 1, isDuplicate: true });
    await age();
    await mailboxes.send('jack', 3, ANNA);
    expect(await mailboxes.send('jack', 4, { from: 'anna', id: 'x' })).toEqual({ id: 4, isDuplicate: false });
  });

  test("is the sender's own: another one may use it, too", async () => {
    const mailboxes = create();
    const id = randomUUID();
    const results = await Promise.all(
      ['anna', 'bert', 'anna'].map((from) => mailboxes.send('jack', from, { from, id })),
    );
    expect(results).toEqual([
      { id: 1, isDuplicate: false },
      { id: 2, isDuplicate: false },
      { id: 1, isDuplicate: true },
    ]);
  });

  test('tells apart ids that differ in half a surrogate pair', async () => {
    const mailboxes = create();
    const ids = [...NAMES, '\ud83e'];
    const results = await Promise.all(ids.map((id) => mailboxes.send('jack', id, { from: 'anna', id })));
    expect(results.map(({ id }) => id)).toEqual(ids.map((_, index) => index + 1));
  });
});

describe('sendMany', () => {
  test('answers in the order of the messages', async () => {
    const mailboxes = create();
    const results = await mailboxes.sendMany([
      { recipient: 'jack', body: 'a', from: 'anna', id: 'x' },
      { recipient: 'jill', body: 'b', from: 'anna' },
      { recipient: 'jack', body: 'c', from: 'anna', id: 'x' },
      { recipient: 'jack', body: 'd', from: 'bert' },
    ]);
    expect(results).toEqual([
      { id: 1, isDuplicate: false },
      { id: 1, isDuplicate: false },
      { id: 1, isDuplicate: true },
      { id: 2, isDuplicate: false },
    ]);
    expect(await mailboxes.sendMany([])).toEqual([]);
  });

  test('checks all messages before it sends one', async () => {
    const mailboxes = create({ maxPayloadBytes: 5 });
    const messages = ['a', 'far too large'].map((body) => ({ recipient: 'jack', body, from: 'anna' }));
    await expect(mailboxes.sendMany(messages)).rejects.toThrow(InvalidBodyError);
    expect(await mailboxes.status('jack')).toMatchObject({ lastId: 0 });
  });

  test('takes more messages and bytes than one script does', async () => {
    const mailboxes = create();
    const body = 'x'.repeat(10_000);
    const all = Array.from({ length: 500 }, (_, index) => body + index);
    expect(await sendAll(mailboxes, all)).toMatchObject(all.map((_, index) => ({ id: index + 1 })));
    expect(await bodies(mailboxes, { limit: 1_000 })).toEqual(all);
  });
});

describe('receive', () => {
  test('tells id, sender, body and the time of the server', async () => {
    const mailboxes = create();
    await mailboxes.send('jack', { text: 'hi' }, ANNA);
    const [seconds] = await redis.time();
    const [message, ...others] = await mailboxes.receive('jack');
    expect(others).toEqual([]);
    expect(message).toEqual({ id: 1, from: 'anna', body: { text: 'hi' }, sentAt: expect.any(Number) });
    expect(Math.abs(message!.sentAt - 1_000 * Number(seconds))).toBeLessThan(10_000);
  });

  test('moves nothing', async () => {
    const mailboxes = create();
    await mailboxes.send('jack', 1, ANNA);
    expect(await bodies(mailboxes)).toEqual([1]);
    expect(await bodies(mailboxes)).toEqual([1]);
  });

  test('begins at either end, up to the limit', async () => {
    const mailboxes = create();
    await sendAll(mailboxes, [1, 2, 3, 4]);
    expect(await bodies(mailboxes, { limit: 3 })).toEqual([1, 2, 3]);
    expect(await bodies(mailboxes, { limit: 3, order: 'oldest' })).toEqual([1, 2, 3]);
    expect(await bodies(mailboxes, { limit: 3, order: 'latest' })).toEqual([4, 3, 2]);
    expect(await bodies(mailboxes, { limit: 9, order: 'latest' })).toEqual([4, 3, 2, 1]);
  });

  test('returns 100 by default', async () => {
    const mailboxes = create();
    await sendAll(
      mailboxes,
      Array.from({ length: 101 }, (_, body) => body),
    );
    expect(await bodies(mailboxes)).toHaveLength(100);
  });

  test.each([
    [{ limit: 0 }],
    [{ limit: -1 }],
    [{ limit: 1_001 }],
    [{ limit: Number.NaN }],
    [{ limit: 1.5 }],
    [{ waitMs: -1 }],
    [{ waitMs: Number.NaN }],
    [{ order: 'newest' } as unknown as ReceiveOptions],
  ])('refuses %j', async (options) => {
    await expect(create().receive('jack', options)).rejects.toThrow(RangeError);
  });
});

describe('receive with waitMs', () => {
  test('returns stored messages at once', async () => {
    const mailboxes = create();
    await mailboxes.send('jack', 1, ANNA);
    expect(await mailboxes.receive('jack', { waitMs: Infinity })).toHaveLength(1);
  });

  test('returns an empty list when the time is over', async () => {
    const startedAt = performance.now();
    expect(await create().receive('jack', { waitMs: 50 })).toEqual([]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(45);
  });

  test('is woken by a message, without looking again', async () => {
    const mailboxes = create();
    const waiting = mailboxes.receive('jack', { waitMs: Infinity });
    await isAwaited();
    const sentAt = performance.now();
    await mailboxes.send('jack', 'hi', ANNA);
    expect(await waiting).toMatchObject([{ id: 1, body: 'hi' }]);
    // The bounded re-check comes after 5 s.
    expect(performance.now() - sentAt).toBeLessThan(4_900);
  });

  test('wakes all receivers of the mailbox and no other, also from another client', async () => {
    const mailboxes = create();
    const sender = new Mailboxes(connect(), { prefix });
    const waiting = Promise.all([1, 2, 3].map(() => mailboxes.receive('jack', { waitMs: Infinity })));
    const stop = new AbortController();
    const other = mailboxes
      .receive('jill', { waitMs: Infinity, signal: stop.signal })
      .catch((error: unknown) => error);
    await isAwaited();
    await isAwaited('jill');
    await sender.send('jack', 'hi', ANNA);
    expect(await waiting).toMatchObject([[{ body: 'hi' }], [{ body: 'hi' }], [{ body: 'hi' }]]);
    stop.abort('enough');
    expect(await other).toBe('enough');
  });

  test('is woken by each message, with acks in between', async () => {
    const mailboxes = create();
    const seen: unknown[] = [];
    const reader = (async () => {
      while (seen.length < 20) {
        const messages = await mailboxes.receive('jack', { waitMs: Infinity });
        seen.push(...messages.map(({ body }) => body));
        await mailboxes.ack('jack', messages.at(-1)!.id);
      }
    })();
    const times: number[] = [];
    for (let body = 0; body < 20; body += 1) {
      const startedAt = performance.now();
      await mailboxes.send('jack', body, ANNA);
      await until('the message to be acked', async () => (await mailboxes.unread('jack')) === 0);
      times.push(performance.now() - startedAt);
    }
    await reader;
    expect(seen).toEqual(Array.from({ length: 20 }, (_, body) => body));
    // Not one of them by a look after 5 s.
    expect(Math.max(...times)).toBeLessThan(4_900);
  });

  test('ends with the reason of the signal, before and while it waits', async () => {
    const mailboxes = create();
    const stop = new AbortController();
    const waiting = mailboxes.receive('jack', { waitMs: Infinity, signal: stop.signal });
    await isAwaited();
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(mailboxes.receive('jack', { waitMs: 0, signal: stop.signal })).rejects.toThrow('enough');
  });

  test('leaves the hub, however it ends', async () => {
    const { stopped } = listenedChannels(redis);
    const mailboxes = create();
    await mailboxes.receive('jack', { waitMs: 10 });
    const stop = new AbortController();
    const waiting = mailboxes.receive('jill', { waitMs: Infinity, signal: stop.signal });
    await isAwaited('jill');
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(stopped).toEqual(['jack', 'jill'].map((name) => `${prefix}:messaging:{${name}}:mailbox-wake`));
  });

  test('looks again when a wake-up was lost', async () => {
    const mailboxes = create();
    await mailboxes.addDevice('jack', 'main');
    const { epoch } = await mailboxes.status('jack');
    const waiting = mailboxes.receive('jack', { waitMs: Infinity });
    await isAwaited();
    // As if the wake-up of the sender were lost: the entry is stored, and no reader is notified.
    await redis.multi().rpush(keyOf('-log'), '1:7:anna\0"hi"').zadd(keyOf(), -1, '\0l').exec();
    expect(await waiting).toEqual([{ id: 1, from: 'anna', body: 'hi', sentAt: epoch! + 7 }]);
  });

  test('fails with ERR_CLIENT_CLOSED when its client is closed', async () => {
    create();
    const client = redis.duplicate();
    const waiting = new Mailboxes(client, { prefix }).receive('jack', { waitMs: Infinity });
    await isAwaited();
    client.disconnect();
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
  });

  test('fails so also while it looks again', async () => {
    const client = redis.duplicate();
    const send = client.sendCommand.bind(client);
    let looks = 0;
    jest.spyOn(client, 'sendCommand').mockImplementation((command, ...more) => {
      const sent = send(command, ...more);
      looks += Number(command.name.startsWith('evalsha'));
      if (looks === 2) client.disconnect();
      return sent;
    });
    const waiting = new Mailboxes(client, { prefix: freshPrefix() }).receive('jack', { waitMs: Infinity });
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
    expect(looks).toBe(2);
  });
});

describe('ack', () => {
  test('frees the acked messages, and returns how many', async () => {
    const mailboxes = create();
    await sendAll(mailboxes, [1, 2, 3]);
    expect(await mailboxes.ack('jack', 2)).toBe(2);
    expect(await bodies(mailboxes)).toEqual([3]);
    expect(await mailboxes.ack('jack', 3)).toBe(1);
    expect(await mailboxes.send('jack', 4, ANNA)).toEqual({ id: 4, isDuplicate: false });
    expect(await bodies(mailboxes)).toEqual([4]);
  });

  test('moves only forward', async () => {
    const mailboxes = create();
    await sendAll(mailboxes, [1, 2, 3]);
    expect(await Promise.all([3, 1, 2, 3, 0].map((id) => mailboxes.ack('jack', id)))).toEqual([
      3, 0, 0, 0, 0,
    ]);
    expect(await mailboxes.ack('jack', 1)).toBe(0);
    expect(await mailboxes.status('jack')).toMatchObject({ ackedId: 3, unread: 0 });
  });

  test('refuses an id that no message has, and lets the others of the tick pass', async () => {
    const mailboxes = create();
    await mailboxes.send('jack', 1, ANNA);
    const [wrong, right] = await Promise.allSettled([mailboxes.ack('jack', 2), mailboxes.ack('jack', 1)]);
    expect(right).toEqual({ status: 'fulfilled', value: 1 });
    expect(wrong).toMatchObject({ status: 'rejected', reason: expect.any(UnknownIdError) });
    expect(wrong).toMatchObject({
      reason: { code: 'ERR_UNKNOWN_MESSAGE', recipient: 'jack', id: 2, lastId: 1 },
    });
    await expect(mailboxes.ack('nobody', 1)).rejects.toThrow(UnknownIdError);
  });

  test.each([[-1], [1.5], [Number.NaN], [Number.POSITIVE_INFINITY]])('refuses the id %d', async (id) => {
    await expect(create().ack('jack', id)).rejects.toThrow(RangeError);
  });
});

describe('clear', () => {
  test('empties the mailbox and goes on counting', async () => {
    const mailboxes = create();
    expect(await mailboxes.clear('jack')).toBe(0);
    await mailboxes.sendMany(
      [1, 2].map((body) => ({ recipient: 'jack', body, from: 'anna', id: `x${body}` })),
    );
    expect(await mailboxes.clear('jack')).toBe(2);
    expect(await mailboxes.receive('jack')).toEqual([]);
    expect(await mailboxes.send('jack', 3, { from: 'anna', id: 'x2' })).toEqual({ id: 2, isDuplicate: true });
    expect(await mailboxes.send('jack', 3, ANNA)).toEqual({ id: 3, isDuplicate: false });
    expect(await mailboxes.status('jack')).toMatchObject({ unread: 1, ackedId: 2, dropped: null });
  });
});

describe('unread and status', () => {
  test('of a mailbox that never was', async () => {
    const mailboxes = create();
    expect(await mailboxes.unread('jack')).toBe(0);
    expect(await mailboxes.status('jack')).toEqual({
      unread: 0,
      size: 0,
      sizeBytes: 0,
      lastId: 0,
      ackedId: 0,
      dropped: null,
      lastReceivedAt: null,
      oldestUnreadAt: null,
      lastFetchedAt: null,
      epoch: null,
      devices: [],
    });
  });

  test('of one with messages, and of one without unread ones', async () => {
    const mailboxes = create();
    for (const body of ['a', 'b', 'c']) await mailboxes.send('jack', body, ANNA);
    await mailboxes.ack('jack', 1);
    const [second, third] = await mailboxes.receive('jack');
    const status = await mailboxes.status('jack');
    expect(await mailboxes.unread('jack')).toBe(2);
    expect(status).toEqual({
      unread: 2,
      size: 2,
      sizeBytes: expect.any(Number),
      lastId: 3,
      ackedId: 1,
      dropped: null,
      lastReceivedAt: third!.sentAt,
      oldestUnreadAt: second!.sentAt,
      lastFetchedAt: expect.any(Number),
      epoch: expect.any(Number),
      devices: [
        { device: 'main', ackedId: 1, unread: 2, dropped: null, lastFetchedAt: status.lastFetchedAt },
      ],
    });
    await mailboxes.ack('jack', 3);
    expect(await mailboxes.status('jack')).toEqual({
      ...status,
      unread: 0,
      size: 0,
      sizeBytes: 0,
      ackedId: 3,
      oldestUnreadAt: null,
      devices: [{ ...status.devices[0], ackedId: 3, unread: 0 }],
    });
  });
});

describe('any name', () => {
  test.each(NAMES)('%j has a mailbox of its own and is a sender', async (name) => {
    const mailboxes = create();
    await mailboxes.send(name, 'a', { from: name, id: name });
    const [message] = await mailboxes.receive(name);
    expect(message).toMatchObject({ id: 1, from: name, body: 'a' });
    for (const other of NAMES) expect(await mailboxes.unread(other)).toBe(other === name ? 1 : 0);
  });
});

describe('options', () => {
  test.each([
    [{ maxMessages: 0 }],
    [{ maxMessages: Number.NaN }],
    [{ maxBytes: 1_023 }],
    [{ maxPayloadBytes: 0 }],
    [{ maxPayloadBytes: 2_000, maxBytes: 1_024 }],
    [{ keepMs: 0 }],
    [{ keepMs: Number.POSITIVE_INFINITY }],
    [{ dedupMs: -1 }],
    [{ prefix: '' }],
  ])('%j is refused', (options) => {
    expect(() => new Mailboxes(redis, options)).toThrow(RangeError);
  });

  test('refuses an object that is no client', () => {
    expect(() => new Mailboxes({} as typeof redis)).toThrow(TypeError);
  });
});

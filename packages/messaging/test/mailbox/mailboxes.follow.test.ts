import { getEventListeners } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import type { MailboxEvent, MailboxPosition, Mailboxes } from '@mortise/messaging';
import { monitor, until } from '@mortise/test-kit';
import { ANNA, create, isAwaited, keyOf, redis, sendAll } from '../fixture/mailboxes.js';

const NOTHING: MailboxPosition = { epoch: null, lastId: 0 };

/** The events that a follower of jack gets, until it is stopped. */
function follow(
  mailboxes: Mailboxes,
  after?: MailboxPosition,
): { events: MailboxEvent[]; stop: () => Promise<void>; signal: AbortSignal } {
  const controller = new AbortController();
  const { signal } = controller;
  const events: MailboxEvent[] = [];
  const reading = (async (): Promise<void> => {
    for await (const event of mailboxes.follow('jack', { signal, ...(after && { after }) }))
      events.push(event);
  })();
  const stop = async (): Promise<void> => {
    controller.abort();
    await reading;
  };
  return { events, stop, signal };
}

const lastIds = (events: readonly MailboxEvent[]): number[] => events.map(({ lastId }) => lastId);

describe('follow', () => {
  test('tells of each arrival from now on, also in a mailbox that is not there yet', async () => {
    const mailboxes = create();
    const { events, stop, signal } = follow(mailboxes);
    await isAwaited();
    // It has looked at what is there.
    await until('a look', async () => getEventListeners(signal, 'abort').length === 1);
    for (const id of [1, 2]) {
      await mailboxes.send('jack', 'x', ANNA);
      await until('the event', async () => events.length === id);
    }
    expect(events).toEqual([
      { type: 'arrived', epoch: expect.any(Number), lastId: 1, unread: 1 },
      { type: 'arrived', epoch: events[0]!.epoch, lastId: 2, unread: 2 },
    ]);
    await stop();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    expect(await mailboxes.status('jack')).toMatchObject({ lastFetchedAt: null, ackedId: 0 });
  });

  test('continues after a position, and says nothing when nothing came', async () => {
    const mailboxes = create();
    await sendAll(mailboxes, ['a', 'b', 'c']);
    const now = await mailboxes.status('jack');
    for (const after of [NOTHING, { ...now, lastId: 1 }]) {
      const { events, stop } = follow(mailboxes, after);
      await until('the event', async () => events.length === 1);
      await stop();
      expect(events).toEqual([{ type: 'arrived', epoch: now.epoch, lastId: 3, unread: 3 }]);
    }
    const { events, stop } = follow(mailboxes, { epoch: now.epoch, lastId: 3 });
    await isAwaited();
    await mailboxes.clear('jack');
    await mailboxes.send('jack', 'd', ANNA);
    await until('the event', async () => events.length === 1);
    await stop();
    expect(lastIds(events)).toEqual([4]);
  });

  test.each<[string, (now: MailboxPosition) => MailboxPosition]>([
    ['of another epoch', ({ epoch }) => ({ epoch: epoch! - 1, lastId: 1 })],
    ['that a failover has lost', ({ epoch }) => ({ epoch, lastId: 9 })],
  ])('gives a reset for a position %s, and goes on', async (_, positionOf) => {
    const mailboxes = create();
    await sendAll(mailboxes, ['a', 'b']);
    const { events, stop } = follow(mailboxes, positionOf(await mailboxes.status('jack')));
    await until('the reset', async () => events.length === 1);
    await mailboxes.send('jack', 'c', ANNA);
    await until('the event', async () => events.length === 2);
    await stop();
    expect(events.map(({ type, lastId }) => [type, lastId])).toEqual([
      ['reset', 2],
      ['arrived', 3],
    ]);
  });

  test('gives a reset when the mailbox is gone', async () => {
    const mailboxes = create();
    await sendAll(mailboxes, ['a']);
    const { epoch } = await mailboxes.status('jack');
    await redis.del(keyOf());
    const { events, stop } = follow(mailboxes, { epoch, lastId: 1 });
    await until('the reset', async () => events.length === 1);
    await stop();
    expect(events).toEqual([{ type: 'reset', epoch: null, lastId: 0, unread: 0 }]);
  });

  test('looks once for the arrivals of a moment', async () => {
    const mailboxes = create();
    const { events, stop } = follow(mailboxes, NOTHING);
    await isAwaited();
    const looks: string[] = [];
    const stopMonitor = await monitor(redis, ({ command, args, source }) => {
      if (source !== 'lua' && args.includes(keyOf()) && args.includes(keyOf('-fetched'))) looks.push(command);
    });
    await sendAll(
      mailboxes,
      Array.from({ length: 100 }, (_, n) => n),
    );
    await until('the event', async () => events.at(-1)?.lastId === 100);
    await stop();
    stopMonitor();
    expect(events).toHaveLength(1);
    expect(looks).toHaveLength(1);
  });

  test('ends with its signal, with the loop, and at the end of a block', async () => {
    const mailboxes = create();
    await mailboxes.send('jack', 'x', ANNA);
    const aborted = mailboxes.follow('jack', { signal: AbortSignal.abort(), after: NOTHING });
    expect(await aborted.next()).toEqual({ done: true, value: undefined });
    for await (const { lastId } of mailboxes.follow('jack', { after: NOTHING })) {
      expect(lastId).toBe(1);
      break;
    }
    const events = mailboxes.follow('jack', { after: NOTHING });
    expect((await events.next()).value).toMatchObject({ lastId: 1 });
    await events[Symbol.asyncDispose]();
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  test.each<[string, unknown, unknown]>([
    ['no recipient', '', {}],
    ['an unknown option', 'jack', { device: 'phone' }],
    ['no position', 'jack', { after: 'x' }],
    ['a position without an epoch', 'jack', { after: { lastId: 1 } }],
    ['a position before the first', 'jack', { after: { epoch: 1, lastId: -1 } }],
    ['no signal', 'jack', { signal: {} }],
  ])('refuses %s at once', (_, recipient, options) => {
    const mailboxes = create();
    expect(() => mailboxes.follow(recipient as string, options as object)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARG' }),
    );
  });
});

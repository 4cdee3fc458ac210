import { getEventListeners } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { Pulled, PullOptions } from '@mortise/messaging';
import { connect, disconnect, monitor, until } from '@mortise/test-kit';
import { open, prefix, redis } from '../fixture/guild.js';
import { slowlyAfter } from '../fixture/stepwise-client.js';
import { subscribed } from '../fixture/subscribed.js';

/** Long enough that a wait which ends did not end by itself. */
const LONG_MS = 60_000;

/** A pull that waits already: it listens on so many channels. */
async function waiting(
  chats: Chats,
  member: string,
  channels: readonly string[],
  options: PullOptions = {},
): Promise<Promise<Pulled[]>[]> {
  const pull = chats.pull(member, { waitMs: LONG_MS, ...options });
  pull.catch(() => undefined);
  await subscribed(redis, ...channels);
  // In an array, so that it isn't awaited here.
  return [pull];
}

const eventsOf = (chatId: string): string => `${prefix}:messaging:{${chatId}}:events`;
const memberEventsOf = (member: string): string => `${prefix}:messaging:{${member}}:member-events`;

describe('pull with waitMs', () => {
  test('returns at once what is there, and nothing at the end of the time', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'], body: 'x' });
    expect(await chats.pull('ben', { waitMs: LONG_MS })).toMatchObject([{ chatId }]);
    await chats.ack(chatId, 'ben', 1);
    const before = performance.now();
    expect(await chats.pull('ben', { waitMs: 60 })).toEqual([]);
    expect(performance.now() - before).toBeGreaterThanOrEqual(59);
  });

  test('is woken by a post, and acks if it should', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    const [pull] = await waiting(chats, 'ben', [eventsOf(chatId)], { autoAck: true });
    await chats.post(chatId, 'anna', 'wake up');
    expect(await pull).toMatchObject([{ chatId, messages: [{ body: 'wake up' }] }]);
    expect(await chats.pull('ben')).toEqual([]);
  });

  test('is woken by a chat that the member is put into', async () => {
    const chats = open();
    const [pull] = await waiting(chats, 'ben', [memberEventsOf('ben')]);
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'], body: 'welcome' });
    expect(await pull).toMatchObject([{ chatId, messages: [{ body: 'welcome' }] }]);
  });

  test('gets messages to a chat that was joined while it waited', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: [] });
    const [pull] = await waiting(chats, 'ben', [memberEventsOf('ben')]);
    await chats.join(chatId, 'ben');
    await chats.post(chatId, 'anna', 'hello');
    expect(await pull).toMatchObject([{ chatId, messages: [{ body: 'hello' }] }]);
  });

  test('is woken by a chat that is created after its index was written', async () => {
    const chats = open();
    // So that the server knows the scripts.
    await chats.create({ sender: 'carl', members: [] });
    const [pull] = await waiting(chats, 'ben', [memberEventsOf('ben')]);
    const { slow, release } = slowlyAfter(redis, 2);
    const wanted = { sender: 'anna', members: ['ben'], chatId: 'c', body: 'x' };
    const created = new Chats(slow, { prefix }).create(wanted);
    // The index says that ben may be in it, and the pull has found that he isn't.
    await subscribed(redis, eventsOf('c'));
    release();
    await created;
    expect(await pull).toMatchObject([{ chatId: 'c', messages: [{ body: 'x' }] }]);
  });

  test('gets messages to a chat that the member joins after its index was written', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: [] });
    const [pull] = await waiting(chats, 'ben', [memberEventsOf('ben')]);
    const { slow, release } = slowlyAfter(redis, 1);
    const joined = new Chats(slow, { prefix }).join(chatId, 'ben');
    await subscribed(redis, eventsOf(chatId));
    release();
    await joined;
    await chats.post(chatId, 'anna', 'hello');
    expect(await pull).toMatchObject([{ chatId, messages: [{ body: 'hello' }] }]);
  });

  test('does not listen to chats that were left long ago', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    await chats.leave(chatId, 'ben');
    await redis.zadd(`${prefix}:messaging:{ben}:chats`, Date.now() - 61_000, chatId);
    const controller = new AbortController();
    const { signal } = controller;
    const [pull] = await waiting(chats, 'ben', [memberEventsOf('ben')], { signal });
    await until(
      'the index to be clean',
      async () => (await redis.exists(`${prefix}:messaging:{ben}:chats`)) === 0,
    );
    expect(await redis.pubsub('NUMSUB', eventsOf(chatId))).toEqual([eventsOf(chatId), 0]);
    controller.abort();
    await expect(pull).rejects.toThrow(/abort/i);
  });

  test('is woken by an unmute, and not by a muted chat', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'], body: 'x' });
    await chats.mute(chatId, 'ben');
    const [pull] = await waiting(chats, 'ben', [memberEventsOf('ben')]);
    await chats.unmute(chatId, 'ben');
    expect(await pull).toMatchObject([{ chatId, isMuted: false }]);
  });

  test('sleeps while others type: nothing is read again', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    const [pull] = await waiting(chats, 'ben', [eventsOf(chatId)]);
    // The read after the subscription has ended when another one has.
    expect(await chats.pull('ben')).toEqual([]);
    let reads = 0;
    const index = `${prefix}:messaging:{ben}:chats`;
    const close = await monitor(redis, ({ command, args }) => {
      if (command === 'zrange' && args[0] === index) reads += 1;
    });
    for (let times = 0; times < 20; times += 1) await chats.typing(chatId, 'anna');
    expect(reads).toBe(0);
    await chats.post(chatId, 'anna', 'done');
    expect(await pull).toMatchObject([{ messages: [{ body: 'done' }] }]);
    await until('the read to be seen', () => reads === 1);
    close();
  });

  test('many that wait share one subscription for each channel, and one post wakes all', async () => {
    const chats = open();
    const members = Array.from({ length: 50 }, (_, index) => `m${index}`);
    const { chatId } = await chats.create({ sender: 'anna', members });
    const pulls = members.map((member) => chats.pull(member, { waitMs: LONG_MS }));
    await until('all to be subscribed', async () => {
      const names = (await redis.call('pubsub', ['channels', `${prefix}*`])) as string[];
      return names.length === members.length + 1;
    });
    await chats.post(chatId, 'anna', 'all');
    for (const pulled of await Promise.all(pulls)) expect(pulled).toMatchObject([{ unread: 1 }]);
  });

  test('ends with the reason of the signal', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    const reason = new Error('enough');
    await expect(chats.pull('ben', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const { signal } = controller;
    const [pull] = await waiting(chats, 'ben', [eventsOf(chatId)], { waitMs: Infinity, signal });
    controller.abort(reason);
    await expect(pull).rejects.toBe(reason);
  });

  test('pulls and followers may share a signal: it has one listener, and none in the end', async () => {
    const chats = open();
    const controller = new AbortController();
    const { signal } = controller;
    const members = Array.from({ length: 20 }, (_, index) => `m${index}`);
    const pulls = members.map((member) => chats.pull(member, { waitMs: Infinity, signal }));
    const events = members.map((member, index) =>
      chats.follow(member, { signal, includeUnread: index % 2 === 0 }).next(),
    );
    await subscribed(redis, ...members.map(memberEventsOf));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    controller.abort();
    const results = await Promise.allSettled([...pulls, ...events]);
    const statuses = results.map(({ status }) => status);
    expect(statuses).toEqual([...pulls.map(() => 'rejected'), ...events.map(() => 'fulfilled')]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('loses nothing that is posted while it begins to wait', async () => {
    const chats = open();
    const { chatId } = await chats.create({ sender: 'anna', members: ['ben'] });
    for (let round = 0; round < 50; round += 1) {
      const pull = chats.pull('ben', { waitMs: LONG_MS, autoAck: true });
      await chats.post(chatId, 'anna', round);
      expect((await pull)[0]?.messages.map(({ body }) => body)).toEqual([round]);
    }
  });

  test('ends when the client is closed', async () => {
    const own = connect();
    open();
    const chats = new Chats(own, { prefix });
    await chats.create({ sender: 'anna', members: ['ben'] });
    const pull = chats.pull('ben', { waitMs: LONG_MS });
    await subscribed(redis, memberEventsOf('ben'));
    disconnect(own);
    await expect(pull).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
  });
});

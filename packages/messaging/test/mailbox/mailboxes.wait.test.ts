import { describe, expect, jest, test } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { listenedChannels } from '../fixture/listened-channels.js';

const redis = connect();
const otherClient = connect();
const ANNA = { from: 'anna' };

function create(prefix = freshPrefix()): Mailboxes {
  return new Mailboxes(redis, { prefix });
}

/** Resolves when somebody waits for the mailbox. */
async function isAwaited(prefix: string, recipient: string): Promise<void> {
  const channel = `${prefix}:messaging:{${recipient}}:mailbox-wake`;
  await until('a subscription', async () => {
    const [, count] = (await redis.pubsub('NUMSUB', channel)) as [string, number];
    return count > 0;
  });
}

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
    const prefix = freshPrefix();
    const mailboxes = create(prefix);
    const waiting = mailboxes.receive('jack', { waitMs: Infinity });
    await isAwaited(prefix, 'jack');
    const sentAt = performance.now();
    await mailboxes.send('jack', 'hi', ANNA);
    expect(await waiting).toMatchObject([{ id: 1, body: 'hi' }]);
    // The bounded re-check comes after 5 s.
    expect(performance.now() - sentAt).toBeLessThan(4_900);
  });

  test('wakes all receivers of the mailbox and no other, also from another client', async () => {
    const prefix = freshPrefix();
    const sender = new Mailboxes(otherClient, { prefix });
    const mailboxes = create(prefix);
    const waiting = Promise.all([1, 2, 3].map(() => mailboxes.receive('jack', { waitMs: Infinity })));
    const stop = new AbortController();
    const other = mailboxes
      .receive('jill', { waitMs: Infinity, signal: stop.signal })
      .catch((error: unknown) => error);
    await isAwaited(prefix, 'jack');
    await isAwaited(prefix, 'jill');
    await sender.send('jack', 'hi', ANNA);
    expect(await waiting).toMatchObject([[{ body: 'hi' }], [{ body: 'hi' }], [{ body: 'hi' }]]);
    stop.abort('enough');
    expect(await other).toBe('enough');
  });

  test('is woken by each message, with acks in between', async () => {
    const prefix = freshPrefix();
    const mailboxes = create(prefix);
    const bodies: unknown[] = [];
    const reader = (async () => {
      while (bodies.length < 20) {
        const messages = await mailboxes.receive('jack', { waitMs: Infinity });
        bodies.push(...messages.map(({ body }) => body));
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
    expect(bodies).toEqual(Array.from({ length: 20 }, (_, body) => body));
    // Not one of them by a look after 5 s.
    expect(Math.max(...times)).toBeLessThan(4_900);
  });

  test('ends with the reason of the signal, before and while it waits', async () => {
    const prefix = freshPrefix();
    const mailboxes = create(prefix);
    const stop = new AbortController();
    const waiting = mailboxes.receive('jack', { waitMs: Infinity, signal: stop.signal });
    await isAwaited(prefix, 'jack');
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(mailboxes.receive('jack', { waitMs: 0, signal: stop.signal })).rejects.toThrow('enough');
  });

  test('leaves the hub, however it ends', async () => {
    const { stopped } = listenedChannels(redis);
    const prefix = freshPrefix();
    const mailboxes = create(prefix);
    await mailboxes.receive('jack', { waitMs: 10 });
    const stop = new AbortController();
    const waiting = mailboxes.receive('jill', { waitMs: Infinity, signal: stop.signal });
    await isAwaited(prefix, 'jill');
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(stopped).toEqual(['jack', 'jill'].map((name) => `${prefix}:messaging:{${name}}:mailbox-wake`));
  });

  test('looks again when a wake-up was lost', async () => {
    const prefix = freshPrefix();
    const mailboxes = create(prefix);
    await mailboxes.addDevice('jack', 'main');
    const { epoch } = await mailboxes.status('jack');
    const waiting = mailboxes.receive('jack', { waitMs: Infinity });
    await isAwaited(prefix, 'jack');
    // As a sender does whose wake-up gets lost: the entry is there and nobody is notified.
    const box = `${prefix}:messaging:{jack}:mailbox`;
    await redis.multi().rpush(`${box}-log`, '1:7:anna\0"hi"').zadd(box, -1, '\0l').exec();
    expect(await waiting).toEqual([{ id: 1, from: 'anna', body: 'hi', sentAt: epoch! + 7 }]);
  });

  test('fails with ERR_CLIENT_CLOSED when its client is closed', async () => {
    const prefix = freshPrefix();
    const client = redis.duplicate();
    const waiting = new Mailboxes(client, { prefix }).receive('jack', { waitMs: Infinity });
    await isAwaited(prefix, 'jack');
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

import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { Chats, Mailboxes } from '@mortise/messaging';
import { startProxy } from '@mortise/redis-server';
import { disconnectLater, freshPrefix, runServer, until } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import { subscribed } from '../fixture/subscribed.js';

const { server, redis: steady } = await runServer({ isCluster: true, appendFsync: 'always' });
const proxy = await startProxy(server);
afterEach(() => proxy.restore());
afterAll(() => proxy.stop());

/** A client that reports what went wrong instead of sending again by itself. */
const fragile = (url = proxy.url, options: object = { commandTimeout: 150 }): Redis =>
  disconnectLater(new Redis(url, { retryStrategy: () => 5, maxRetriesPerRequest: 0, ...options }));

/** A client whose commands wait for Redis as long as it takes. */
const patient = (url = proxy.url): Redis => fragile(url, { maxRetriesPerRequest: null });

/** Calls until it is answered. */
async function insist<Value>(call: () => Promise<Value>): Promise<Value> {
  const { value } = await until('an answer', () =>
    call().then(
      (answer) => ({ value: answer }),
      () => undefined,
    ),
  );
  return value;
}

/** Events of the connection between two commands, or during one. */
const FAULTS: Readonly<Record<string, () => void | Promise<void>>> = {
  'a cut': () => proxy.cut(),
  'a lost reply': () => proxy.dropReplies(),
  'a lost request': () => proxy.dropRequests(),
  'a server that cannot be reached': () => proxy.refuse(),
};

describe.each(Object.keys(FAULTS))('%s', (fault) => {
  test('at any command loses, doubles and reorders nothing', async () => {
    const prefix = freshPrefix();
    const sender = new Mailboxes<number>(fragile(), { prefix });
    const receiver = new Mailboxes<number>(fragile(), { prefix });
    const messages = 6;
    let faults = 0;
    // Half of the time the fault comes right before a command, half of the time right after it.
    const withFault = async <Value>(isBefore: boolean, call: () => Promise<Value>): Promise<Value> => {
      faults += 1;
      if (isBefore) await FAULTS[fault]!();
      const calling = call();
      calling.catch(() => undefined);
      if (!isBefore) {
        await new Promise((resolve) => setImmediate(resolve));
        await FAULTS[fault]!();
      }
      await calling.catch(() => undefined);
      await proxy.restore();
      return insist(call);
    };

    for (let body = 0; body < messages; body += 1) {
      const send = () => sender.send('jack', body, { from: 'anna', id: `message ${body}` });
      expect((await withFault(body % 2 === 0, send)).id).toBe(body + 1);
    }
    const received: number[] = [];
    while (received.length < messages) {
      const isBefore = received.length % 2 === 0;
      const [message] = await withFault(isBefore, () => receiver.receive('jack', { limit: 1 }));
      received.push(message!.body);
      await withFault(!isBefore, () => receiver.ack('jack', message!.id));
    }
    expect(received).toEqual(Array.from({ length: messages }, (_, body) => body));
    const status = await new Mailboxes(steady, { prefix }).status('jack');
    expect(status).toMatchObject({ lastId: messages, ackedId: messages, unread: 0, sizeBytes: 0 });
    expect(faults).toBe(3 * messages);
  });
});

test('a lost reply differs from a message that was not sent: the id is known', async () => {
  const prefix = freshPrefix();
  const mailboxes = new Mailboxes<string>(fragile(), { prefix });
  await insist(() => mailboxes.send('jack', 'warm', { from: 'anna', id: 'warm' }));
  proxy.dropReplies();
  await expect(mailboxes.send('jack', 'hi', { from: 'anna', id: 'x' })).rejects.toThrow('timed out');
  await proxy.restore();
  const repeated = await insist(() => mailboxes.send('jack', 'hi', { from: 'anna', id: 'x' }));
  expect(repeated).toEqual({ id: 2, isDuplicate: true });
});

test('a command that ioredis sends again is one message, also without an id', async () => {
  const prefix = freshPrefix();
  const mailboxes = new Mailboxes<number>(patient(), { prefix });
  const direct = new Mailboxes(steady, { prefix });
  await mailboxes.send('jack', 0, { from: 'anna' });
  for (let body = 1; body <= 10; body += 1) {
    proxy.dropReplies();
    const sending = mailboxes.send('jack', body, { from: 'anna' });
    await until('the message to be there', async () => (await direct.status('jack')).lastId === body + 1);
    await proxy.restore();
    expect(await sending).toEqual({ id: body + 1, isDuplicate: false });
  }
});

test('a waiting receiver gets messages that were sent while its connection was cut', async () => {
  const prefix = freshPrefix();
  const sender = new Mailboxes<number>(steady, { prefix });
  const receiver = new Mailboxes<number>(patient(), { prefix });
  for (let body = 1; body <= 10; body += 1) {
    const waiting = receiver.receive('jack', { waitMs: 60_000 });
    await subscribed(steady, `${prefix}:messaging:{jack}:mailbox-wake`);
    proxy.refuse();
    await sender.send('jack', body, { from: 'anna' });
    await proxy.restore();
    expect(await waiting).toMatchObject([{ id: body, body }]);
    await receiver.ack('jack', body);
  }
});

test('a server that is killed and restarts has every confirmed change', async () => {
  const prefix = freshPrefix();
  const mailboxes = new Mailboxes<number>(patient(server.url), { prefix });
  await mailboxes.addDevice('jack', 'main');
  await mailboxes.addDevice('jack', 'phone');
  await mailboxes.block('jack', 'joe');
  let body = 0;
  for (let round = 0; round < 3; round += 1) {
    const sends = Array.from({ length: 20 }, () => {
      body += 1;
      const number = body;
      return mailboxes.send('jack', number, {
        from: 'anna',
        id: `message ${number}`,
        ...(number % 4 === 0 && { ttlMs: 3_600_000 }),
      });
    });
    await Promise.all(sends);
    await mailboxes.ack('jack', body - 5);
    await mailboxes.ack('jack', body - 10, { device: 'phone' });
    const before = await mailboxes.status('jack');
    const messages = await mailboxes.receive('jack', { device: 'phone' });
    const fetched = await mailboxes.status('jack');
    await server.kill();
    await server.restart();
    expect(await mailboxes.receive('jack', { device: 'phone' })).toEqual(messages);
    expect({ ...(await mailboxes.status('jack')), lastFetchedAt: 0, devices: [] }).toEqual({
      ...before,
      lastFetchedAt: 0,
      devices: [],
    });
    expect(fetched.devices.map(({ ackedId, unread }) => [ackedId, unread])).toEqual(
      (await mailboxes.status('jack')).devices.map(({ ackedId, unread }) => [ackedId, unread]),
    );
    expect(await mailboxes.send('jack', 0, { from: 'anna', id: `message ${body}` })).toEqual({
      id: body,
      isDuplicate: true,
    });
    await expect(mailboxes.send('jack', 0, { from: 'joe' })).rejects.toThrow('takes nothing');
  }
});

test('a sender and a receiver survive a server that is killed again and again', async () => {
  const prefix = freshPrefix();
  const sender = new Mailboxes<number>(fragile(server.url, {}), { prefix });
  const receiver = new Mailboxes<number>(fragile(server.url, {}), { prefix });
  const messages = 150;
  const received: number[] = [];
  const sending = (async () => {
    for (let body = 0; body < messages; body += 1) {
      await insist(() => sender.send('jack', body, { from: 'anna', id: `message ${body}` }));
    }
  })();
  const receiving = (async () => {
    while (received.length < messages) {
      const some = await insist(() => receiver.receive('jack', { limit: 7, waitMs: 1_000 }));
      received.push(...some.map((message) => message.body));
      const last = some.at(-1);
      if (last) await insist(() => receiver.ack('jack', last.id));
    }
  })();
  for (let kill = 1; kill <= 3; kill += 1) {
    const goal = (messages * kill) / 4;
    await until('some progress', () => received.length >= goal);
    await server.kill();
    await server.restart();
  }
  await Promise.all([sending, receiving]);
  expect(received).toEqual(Array.from({ length: messages }, (_, body) => body));
  expect(await receiver.status('jack')).toMatchObject({ unread: 0, lastId: messages, ackedId: messages });
});

describe('a server with full memory', () => {
  /** Runs an action while the memory is full. */
  async function whileFull(act: () => Promise<void>): Promise<void> {
    await steady.config('SET', 'maxmemory', '1');
    try {
      await act();
    } finally {
      await steady.config('SET', 'maxmemory', '0');
    }
  }

  test('takes no message, and lets stored ones be read and acked', async () => {
    const mailboxes = new Mailboxes<number>(steady, { prefix: freshPrefix() });
    await mailboxes.addDevice('jack', 'main');
    await mailboxes.addDevice('jack', 'phone');
    await mailboxes.send('jack', 1, { from: 'anna' });
    await mailboxes.send('jack', 2, { from: 'anna' });
    await mailboxes.block('jack', 'joe');
    await whileFull(async () => {
      await expect(mailboxes.send('jack', 3, { from: 'anna' })).rejects.toThrow('OOM');
      expect(await mailboxes.receive('jack')).toHaveLength(2);
      expect(await mailboxes.ack('jack', 2)).toBe(2);
      expect(await mailboxes.ack('jack', 1, { device: 'phone' })).toBe(1);
      expect(await mailboxes.unread('jack', { device: 'phone' })).toBe(1);
      expect(await mailboxes.removeDevice('jack', 'phone')).toBe(true);
      await expect(mailboxes.block('jack', 'eve')).rejects.toThrow('OOM');
      const unblocked = ['joe', 'joe', 'eve'].map((sender) => mailboxes.unblock('jack', sender));
      expect(await Promise.all(unblocked)).toEqual([true, false, false]);
      expect(await mailboxes.blocked('jack')).toEqual([]);
      expect(await mailboxes.status('jack')).toMatchObject({ unread: 0, lastId: 2, ackedId: 2 });
    });
  });

  test('lets chats be unmuted, not muted', async () => {
    const chats = new Chats(steady, { prefix: freshPrefix() });
    for (const chatId of ['a', 'b'])
      await chats.create({ chatId, sender: 'anna', members: ['ben'], body: 'x' });
    await chats.mute('a', 'ben');
    await whileFull(async () => {
      await expect(chats.mute('b', 'ben')).rejects.toThrow('OOM');
      await Promise.all(['a', 'b', 'no chat'].map((chatId) => chats.unmute(chatId, 'ben')));
      expect(await chats.pull('ben')).toMatchObject([
        { chatId: 'a', isMuted: false },
        { chatId: 'b', isMuted: false },
      ]);
    });
  });

  test('lets members leave, and remembers the epoch of an ended chat', async () => {
    const prefix = freshPrefix();
    const chats = new Chats(steady, { prefix });
    await chats.create({ chatId: 'a', sender: 'anna', members: ['ben'], body: 'x' });
    const [{ epoch } = { epoch: 0 }] = await chats.chatsOf('anna');
    await whileFull(async () => {
      const leaves = ['anna', 'ben'].map((member) => chats.leave('a', member));
      expect(await Promise.all(leaves)).toEqual([true, true]);
      expect(await steady.get(`${prefix}:messaging:{a}:ended`)).toBe(`${epoch}`);
    });
  });
});

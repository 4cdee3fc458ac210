/** HTTP and the packages accept the same names: what one creates under a name, the other finds. */
import { describe, expect, test } from '@jest/globals';
import { RecentContacts } from '@mortise/autocomplete';
import { RowCache } from '@mortise/cache/rows';
import { Cache } from '@mortise/cache';
import { Mutex, RateLimiter, ReadWriteLock, Semaphore } from '@mortise/locks';
import { Chats, Mailboxes } from '@mortise/messaging';
import { FileChannel } from '@mortise/messaging/files';
import { Queue } from '@mortise/queues';
import { connect } from '@mortise/test-kit';

import type { Answer } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';

const redis = connect();
const api = await startApi({ CACHE_TABLES: 'stock' });
const { prefix } = api;

const NAMES = [
  'a b',
  '}x',
  '{}',
  '%',
  '%2e',
  'a/b',
  '?',
  '#',
  '😀',
  'a\nb',
  'a\0b',
  'a*',
  'a[b',
  'a:',
  '|',
  '..a',
];
NAMES.push('__proto__', '\u202e', 'x'.repeat(900));
const LONGEST = ['x'.repeat(1_024), 'é'.repeat(512)];
const TOO_LONG = ['x'.repeat(1_025), 'é'.repeat(513)];

interface Kind {
  /** Creates something of that name. */
  readonly send: (coded: string, name: string) => Promise<Answer>;
  /** Finds it with the package, which rejects names that it does not accept. */
  readonly find: (name: string) => Promise<unknown>;
  readonly found: (name: string) => unknown;
}

const ask = (method: string, path: string, body?: object): Promise<Answer> =>
  api.send({ method, path: `/v1/${path}`, ...(body && { body }) });

const chats = new Chats(redis, { prefix });
const mailboxes = new Mailboxes(redis, { prefix });
const contacts = new RecentContacts(redis, { prefix });
const rows = new RowCache(redis, 'stock', { prefix });

const KINDS: Readonly<Record<string, Kind>> = {
  'a queue': {
    send: (coded) => ask('POST', `queues/${coded}/tasks`, { name: 't', payload: 1 }),
    find: async (name) => (await new Queue(redis, name, { prefix }).counts()).ready,
    found: () => 1,
  },
  'a task': {
    send: (_, name) => ask('POST', 'queues/tasks/tasks', { name: 't', payload: 1, id: name }),
    find: async (name) => (await new Queue(redis, 'tasks', { prefix }).get(name))?.id,
    found: (name) => name,
  },
  'a lock': {
    send: (coded) => ask('POST', `locks/${coded}/acquire`, { leaseMs: 3_600_000 }),
    find: async (name) => (await new Mutex(redis, name, { prefix }).inspect()).holder,
    found: () => expect.any(String),
  },
  'the lease of a permit': {
    send: async (coded) => {
      const path = `/v1/semaphores/${coded}/acquire`;
      const headers = { 'idempotency-key': 'k' };
      const { json } = await api.send({ method: 'POST', path, headers, body: { permits: 3 } });
      return ask('POST', `semaphores/${coded}/release`, { holder: json.holder ?? 'none' });
    },
    find: async (name) => new Semaphore(redis, name, { prefix, permits: 3 }).available(),
    found: () => 3,
  },
  'a read-write lock': {
    send: (coded) => ask('POST', `read-write-locks/${coded}/acquire`, { mode: 'read', leaseMs: 3_600_000 }),
    find: async (name) => (await new ReadWriteLock(redis, name, { prefix }).read.inspect()).readers,
    found: () => 1,
  },
  'a rate limit': {
    send: (coded) => ask('POST', `rate-limiters/${coded}/take`, { limit: 5, periodMs: 3_600_000 }),
    find: async (name) =>
      (await new RateLimiter(redis, name, { prefix, limit: 5, periodMs: 3_600_000 }).take(0)).remaining,
    found: () => 4,
  },
  'a cache, a key and a tag': {
    send: (coded, name) => ask('PUT', `caches/${coded}/entries/${coded}`, { value: 1, tags: [name] }),
    find: (name) => new Cache(redis, name, { prefix }).get(name),
    found: () => 1,
  },
  'a semaphore': {
    send: (coded) => ask('PUT', `semaphores/${coded}`, { permits: 3 }),
    find: async (name) => new Semaphore(redis, name, { prefix, permits: 3 }).available(),
    found: () => 3,
  },
  'a mailbox, a sender, an id': {
    send: (coded, name) => ask('POST', `mailboxes/${coded}/messages`, { from: name, body: 1, id: name }),
    find: async (name) => (await mailboxes.receive(name)).map(({ from }) => from),
    found: (name) => [name],
  },
  'a device': {
    send: (coded) => ask('PUT', `mailboxes/devices/devices/${coded}`, {}),
    find: async (name) => (await mailboxes.removeDevice('devices', name)) && name,
    found: (name) => name,
  },
  'a blocked sender': {
    send: (coded) => ask('PUT', `mailboxes/blocked/blocked-senders/${coded}`),
    find: (name) => mailboxes.unblock('blocked', name),
    found: () => true,
  },
  'a chat and its members': {
    send: (_, name) => ask('POST', 'chats', { chatId: name, sender: name, members: ['bob'], body: 1 }),
    find: async (name) =>
      (await chats.pull(name)).concat(await chats.pull('bob')).map(({ chatId }) => chatId),
    found: (name) => expect.arrayContaining([name]),
  },
  'a member who joins': {
    send: async (coded) => {
      await ask('POST', 'chats', { chatId: 'joined', sender: 'anna', members: [] });
      return ask('PUT', `chats/joined/members/${coded}`, {});
    },
    find: (name) => chats.leave('joined', name),
    found: () => true,
  },
  'a channel of files': {
    send: (coded) => ask('PUT', `file-channels/${coded}/receivers/r`),
    find: (name) => new FileChannel(redis, name, { prefix }).leave('r'),
    found: () => true,
  },
  'a receiver of files': {
    send: (coded) => ask('PUT', `file-channels/receivers/receivers/${coded}`),
    find: (name) => new FileChannel(redis, 'receivers', { prefix }).leave(name),
    found: () => true,
  },
  'a user with contacts': {
    send: (coded) => ask('PUT', `contacts/${coded}/jack`),
    find: (name) => contacts.list(name),
    found: () => ['jack'],
  },
  'a row': {
    send: (coded) => ask('PUT', `cache/stock/rows/${coded}`, { refreshMs: 3_600_000 }),
    find: (name) => rows.unschedule(name),
    found: () => true,
  },
};

const code = (name: string): string => encodeURIComponent(name).replaceAll('.', '%2e');

describe.each(Object.entries(KINDS))('the name of %s', (_, { send, find, found }) => {
  test('may be any text of up to 1,024 bytes', async () => {
    for (const name of [...NAMES, ...LONGEST]) {
      const answer = await send(code(name), name);
      expect([name, answer.status < 300 || answer.text]).toEqual([name, true]);
      expect([name, await find(name)]).toEqual([name, found(name)]);
    }
  });

  test('has no more bytes, neither here nor there', async () => {
    for (const name of TOO_LONG) {
      expect((await send(code(name), name)).status).toBe(400);
      await expect((async () => find(name))()).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
    }
  });

  test('is neither . nor .. over HTTP, which have no address', async () => {
    for (const name of ['.', '..']) expect((await send(code(name), name)).status).toBe(400);
  });
});

test('the key of a schedule has up to 900 bytes, here and there', async () => {
  const queue = new Queue<{ t: number }>(redis, 'timed', { prefix });
  const body = { everyMs: 3_600_000, name: 't', payload: 1 };
  for (const key of NAMES) {
    expect((await ask('PUT', `queues/timed/schedules/${code(key)}`, body)).status).toBeLessThan(300);
    expect(await queue.unschedule(key)).toBe(true);
  }
  for (const key of ['x'.repeat(901), 'é'.repeat(451)]) {
    expect((await ask('PUT', `queues/timed/schedules/${code(key)}`, body)).status).toBe(400);
    const schedule = queue.schedule(key, { everyMs: 3_600_000 }, 't', 1);
    await expect(schedule).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
  }
});

test('the address of something that was created leads to it, and a file has its channel in its id', async () => {
  for (const name of ['a/b?c#d', '😀 %', 'x'.repeat(1_024)]) {
    const task = await ask('POST', `queues/${code(name)}/tasks`, { name: 't', payload: 1, id: name });
    const chat = await ask('POST', 'chats', {
      chatId: `${Array.from(name).slice(1).join('')}!`,
      sender: 'anna',
      members: [],
    });
    for (const { headers } of [task, chat])
      expect([headers['location'], (await api.send({ path: headers['location']! })).status]).toEqual([
        expect.any(String),
        200,
      ]);
    await ask('PUT', `file-channels/${code(name)}/receivers/r`);
    const sent = await api.send({
      method: 'POST',
      path: `/v1/file-channels/${code(name)}/files?name=a`,
      headers: { 'content-type': 'application/octet-stream' },
      body: 'text',
    });
    expect([sent.status, sent.json.id.startsWith(`${name}:`)]).toEqual([201, true]);
    expect((await api.send({ path: sent.headers['location']! })).json).toMatchObject({ id: sent.json.id });
  }
});

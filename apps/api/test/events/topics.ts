/** Every topic, over server-sent events and over a WebSocket: its events, the rights that it needs, and how it continues. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { WaiterHub } from '@mortise/redis';
import { connect, until } from '@mortise/test-kit';

import { SCOPES } from '../../src/callers/scopes.js';
import { TOPIC_KINDS } from '../../src/events/topics.js';
import { prefixOf } from '../../src/tenants/tenancy.js';
import type { Answer } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import type { Json } from '../fixture/streams.js';
import { EventReader } from '../fixture/streams.js';
import type { Client, Transport } from '../fixture/topic-clients.js';
import { transportsOf } from '../fixture/topic-clients.js';

const redis = connect();
const ADMIN = 'mk_admin_0123456789012345678901';
const bearer = (key: string): { authorization: string } => ({ authorization: `Bearer ${key}` });
const api = await startApi({ AUTH: 'keys', ADMIN_KEY: ADMIN, CACHE_TABLES: 'stock' });

const ask = async (key: string, target: string, body?: object): Promise<Answer> => {
  const [method, path] = target.split(' ') as [string, string];
  return api.send({ method, path: `/v1/${path}`, headers: bearer(key), ...(body && { body }) });
};
const keyOf = async (id: string, terms: object): Promise<string> =>
  (await ask(ADMIN, `PUT admin/keys/${id}`, terms)).json.key as string;

await ask(ADMIN, 'PUT admin/tenants/acme', {});
const acme = await keyOf('acme', { tenant: 'acme', scopes: SCOPES });
for (const id of ['frank', 'bill'])
  await ask(ADMIN, `PUT market/players/${id}`, { name: id, email: `${id}@example.com`, funds: 100 });
/** As the process of a bulk operation does it. */
async function writeOperation(key: string, id: string, changed: number): Promise<object> {
  const prefix = prefixOf(api.prefix, key === acme ? 'acme' : 'default');
  const entity = `${prefix}:queues:{${id}}`;
  const now = Date.now();
  const request = { queue: 'mail', action: 'retry', state: 'dead', limit: 10 };
  const progress = { status: 'running', changed, skipped: 0, startedAt: now, updatedAt: now };
  await redis.set(`${entity}:operation`, JSON.stringify({ id, ...request, ...progress }), 'PX', 60_000);
  await redis.call(WaiterHub.of(redis).publishCommand, [`${entity}:operation-written`, '*:']);
  return { type: 'operation', id, changed };
}
interface Row {
  readonly topic: (name: string) => string;
  readonly scope: (typeof SCOPES)[number];
  readonly prepare?: (key: string, name: string) => Promise<unknown>;
  /** One change, as a request of the key; the event that it gives. */
  readonly act: (key: string, name: string, n: number) => Promise<object>;
  /** The events that continue after a token, of those that happened: all of them, unless the topic stores less. */
  readonly stored?: (happened: readonly object[]) => readonly object[];
  /** It has values, and stores none: a topic begins with the value of now, with a token or without. */
  readonly isSampled?: true;
  /** There is one, of the tenant `default` alone. */
  readonly isOfDeployment?: true;
  /** Makes the tokens that were given outdated. */
  readonly lose?: (name: string) => Promise<unknown>;
}

/** More than there are actions, with as many digits as each number that is left of it. */
const MANY = 99_999;

const TOPICS: Readonly<Record<string, Row>> = {
  queue: {
    topic: (name) => `queue:${name}`,
    scope: 'queues:read',
    prepare: (key, name) => ask(key, `POST queues/${name}/tasks`, { name: 't', payload: 1 }),
    act: async (key, name, n) => {
      await ask(key, `POST queues/${name}/tasks`, { name: 't', payload: 1, id: `n${n}` });
      return { type: 'enqueued', id: `n${n}` };
    },
    lose: async (name) => {
      await ask(ADMIN, `DELETE queues/${name}?isForced=true`);
      await ask(ADMIN, `PUT queues/${name}`, { shards: 2 });
    },
  },
  member: {
    topic: (name) => `member:${name}`,
    scope: 'messaging:read',
    prepare: (key, name) => ask(key, 'POST chats', { sender: 'anna', members: [name], chatId: name }),
    act: async (key, name, n) => {
      await ask(key, `POST chats/${name}/messages`, { sender: 'anna', body: n });
      return { type: 'message', message: { body: n } };
    },
    // The chat is another one of the same name.
    lose: async (name) => {
      for (const member of ['anna', name]) await ask(ADMIN, `DELETE chats/${name}/members/${member}`);
      await ask(ADMIN, 'POST chats', { sender: 'anna', members: [name], chatId: name });
    },
  },
  mailbox: {
    topic: (name) => `mailbox:${name}`,
    scope: 'messaging:read',
    act: async (key, name) => {
      const { json } = await ask(key, `POST mailboxes/${name}/messages`, { from: 'anna', body: 1 });
      return { type: 'arrived', lastId: json.id };
    },
    stored: (happened) => happened.slice(-1),
    lose: (name) => redis.del(`${api.prefix}:messaging:{${name}}:mailbox`),
  },
  cache: {
    topic: (name) => `cache:${name}`,
    scope: 'cache:read',
    act: async (key, name, n) => {
      const at = n % 3;
      const target = `caches/${name}/entries/k${n}`;
      if (at === 0) await ask(key, `POST caches/${name}/invalidations`, { tag: `t${n}` });
      if (at === 1) await ask(key, `PUT ${target}`, { value: n });
      if (at === 2) await ask(key, `DELETE ${target}`);
      return [
        { type: 'invalidated', tag: `t${n}` },
        { type: 'stored', key: `k${n}` },
        { type: 'deleted', key: `k${n}` },
      ][at]!;
    },
    stored: () => [{ type: 'reset' }],
    lose: () => Promise.resolve(),
  },
  market: {
    topic: () => 'market',
    isOfDeployment: true,
    scope: 'market:read',
    act: async (key, _, n) => {
      const itemId = `i${n}`;
      await ask(key, `PUT market/players/frank/items/${itemId}`);
      const { json } = await ask(key, 'POST market/listings', { sellerId: 'frank', itemId, price: 1 });
      return { type: 'listed', listing: { id: json?.id ?? '', itemId, sellerId: 'frank', price: 1 } };
    },
    lose: () => redis.del(`${api.prefix}:market:{main}:events`),
  },
  overview: {
    topic: () => 'overview',
    scope: 'queues:read',
    isSampled: true,
    act: async (key, name, n) => {
      await ask(key, `POST queues/${name}-${n}/tasks`, { name: 't', payload: 1 });
      const { total } = (await ask(key, 'GET overview')).json;
      return { type: 'overview', total };
    },
  },
  redis: {
    topic: () => 'redis',
    scope: 'ops:read',
    isSampled: true,
    isOfDeployment: true,
    // Its memory has grown.
    act: async (_, name, n) => {
      await redis.set(`${api.prefix}:${name}:${n}`, 'x'.repeat(9_999), 'EX', 60);
      return { type: 'redis' };
    },
  },
  lock: {
    topic: (name) => `lock:${name}`,
    scope: 'locks:read',
    isSampled: true,
    act: async (key, name) => {
      await ask(key, `POST locks/${name}/force-release`);
      const { holder } = (await ask(key, `POST locks/${name}/acquire`, { leaseMs: 60_000 })).json;
      return { type: 'lock', holder };
    },
  },
  semaphore: {
    topic: (name) => `semaphore:${name}`,
    scope: 'locks:read',
    isSampled: true,
    act: async (key, name) => {
      const body = { permits: 1_000, leaseMs: 60_000 };
      const { holder } = (await ask(key, `POST semaphores/${name}/acquire`, body)).json;
      const { used } = (await ask(key, `GET semaphores/${name}`)).json;
      // The first holder stays the first one.
      return { type: 'semaphore', used, holders: { [used - 1]: { holder } } };
    },
  },
  'read-write-lock': {
    topic: (name) => `read-write-lock:${name}`,
    scope: 'locks:read',
    isSampled: true,
    act: async (key, name) => {
      await ask(key, `POST read-write-locks/${name}/force-release`, { mode: 'write' });
      const body = { mode: 'write', leaseMs: 60_000 };
      const { holder: writer } = (await ask(key, `POST read-write-locks/${name}/acquire`, body)).json;
      return { type: 'read-write-lock', writer };
    },
  },
  'rate-limiter': {
    topic: (name) => `rate-limiter:${name}`,
    scope: 'locks:read',
    isSampled: true,
    act: async (key, name) => {
      const terms = { limit: 100, periodMs: 86_400_000 };
      const { remaining } = (await ask(key, `POST rate-limiters/${name}/take`, terms)).json;
      return { type: 'rate-limiter', limit: 100, remaining };
    },
  },
  locks: {
    topic: () => 'locks',
    scope: 'locks:admin',
    isSampled: true,
    act: async (key) => {
      await ask(key, 'POST locks/0-first/force-release');
      const { holder } = (await ask(key, 'POST locks/0-first/acquire', { leaseMs: 60_000 })).json;
      return { type: 'locks', items: { 0: { name: '0-first', holder } } };
    },
  },
  semaphores: {
    topic: () => 'semaphores',
    scope: 'locks:admin',
    isSampled: true,
    // The last one is before all others.
    act: async (key, _, n) => {
      const name = `0-${MANY - n}`;
      await ask(key, `POST semaphores/${name}/acquire`, { permits: 1, leaseMs: 60_000 });
      return { type: 'semaphores', items: { 0: { name, used: 1 } } };
    },
  },
  'rate-limiters': {
    topic: () => 'rate-limiters',
    scope: 'locks:admin',
    isSampled: true,
    act: async (key, _, n) => {
      const name = `0-${MANY - n}`;
      await ask(key, `POST rate-limiters/${name}/take`, { limit: 2, periodMs: 86_400_000 });
      return { type: 'rate-limiters', items: { 0: { name, limit: 2, remaining: 1 } } };
    },
  },
  names: {
    topic: () => 'names:chats',
    scope: 'ops:read',
    isSampled: true,
    // The last one is before all others.
    act: async (key, _, n) => {
      const chatId = `0-${MANY - n}`;
      await ask(key, 'POST chats', { sender: 'anna', members: [], chatId });
      return { type: 'names', items: { 0: { name: chatId } } };
    },
  },
  operation: {
    topic: (name) => `operation:${name}`,
    scope: 'queues:read',
    isSampled: true,
    prepare: (key, name) => writeOperation(key, name, 0),
    act: (key, name, n) => writeOperation(key, name, n),
  },
  rows: {
    topic: () => 'rows',
    scope: 'cache:read',
    isSampled: true,
    isOfDeployment: true,
    act: async (key, name, n) => {
      await ask(key, `PUT cache/stock/rows/${name}-${n}`, { refreshMs: 60_000 });
      const { items } = (await ask(ADMIN, 'GET cache')).json;
      return { type: 'rows', items: { 0: { scheduled: items[0].scheduled } } };
    },
  },
  'file-channel': {
    topic: (name) => `file-channel:${name}`,
    scope: 'messaging:read',
    isSampled: true,
    // The last one is before all others.
    act: async (key, name, n) => {
      const receiver = `0-${MANY - n}`;
      await ask(key, `PUT file-channels/${name}/receivers/${receiver}`);
      return { type: 'file-channel', receivers: { 0: { receiver } } };
    },
  },
};
/** As `toMatchObject`. */
const isLike = (event: Json, expected: Json): boolean =>
  typeof expected === 'object'
    ? Object.entries(expected).every(([name, value]) => isLike(event?.[name], value))
    : event === expected;

let counted = 0;
const next = (): number => (counted += 1);

const STORED = Object.entries(TOPICS).filter(([, { isSampled }]) => !isSampled);
const SAMPLED = Object.entries(TOPICS).filter(([, { isSampled }]) => isSampled);
const TRANSPORTS = transportsOf(api);

const arrived = async (client: Client, count: number): Promise<Json[]> =>
  until(`${count} events`, async () => (client.events.length >= count ? client.events : undefined));

/** The client has such an event, whatever else it has. */
const seen = (client: Client, expected: object): Promise<unknown> =>
  until(JSON.stringify(expected), async () => client.events.some((event) => isLike(event, expected)));

/** A new one, for both tenants. */
async function open(kind: string): Promise<{ name: string; topic: string }> {
  const name = `${kind}-${next()}`;
  for (const key of [ADMIN, acme]) await TOPICS[kind]!.prepare?.(key, name);
  return { name, topic: TOPICS[kind]!.topic(name) };
}

test('each kind has its row', () => {
  expect(Object.keys(TOPICS)).toEqual(TOPIC_KINDS);
});

describe.each(STORED)('a topic of %s', (kind, row) => {
  const { scope, act, stored = (happened) => happened, lose } = row;

  describe.each(TRANSPORTS)('over %s', (_, follow) => {
    test('has what happens, and continues after any event', async () => {
      const { name, topic } = await open(kind);
      const key = await keyOf(name, { scopes: [scope] });
      const client = await follow(key, topic);
      const { token: first } = client;
      const expected: object[] = [];
      for (let n = 0; n < 3; n += 1) {
        expected.push(await act(ADMIN, name, next()));
        await arrived(client, n + 1);
      }
      expect(client.events).toMatchObject(expected.map((event) => ({ topic, ...event })));
      const { token } = client;
      client.close();
      const missed = [await act(ADMIN, name, next())];
      for (const [after, before] of [
        [first, expected],
        [token, []],
      ] as const) {
        const again = await follow(key, topic, after);
        const its = stored([...before, ...missed]);
        expect(await arrived(again, its.length)).toMatchObject(its);
        missed.push(await act(ADMIN, name, next()));
        expect(await arrived(again, its.length + 1)).toMatchObject([...its, missed.at(-1)]);
        again.close();
      }
    });

    test('goes on with a reset where the position of a token is gone', async () => {
      const { name, topic } = await open(kind);
      const before = await follow(ADMIN, topic);
      await act(ADMIN, name, next());
      await arrived(before, 1);
      before.close();
      await lose?.(name);
      const client = await follow(ADMIN, topic, before.token);
      const types = (): string[] => client.events.map(({ type }) => type);
      await until('a reset', async () => types().includes('reset'));
      const last = await act(ADMIN, name, next());
      await seen(client, last);
      expect(types()).not.toContain('gap');
      client.close();
    });
  });
});

describe.each(SAMPLED)('a topic of %s', (kind, { scope, act }) => {
  test.each(TRANSPORTS)(
    'over %s has the value of now and each change, also after a token',
    async (_, follow) => {
      const { name, topic } = await open(kind);
      const key = await keyOf(`${name}-s`, { scopes: [scope] });
      const client = await follow(key, topic);
      expect(await arrived(client, 1)).toMatchObject([{ topic, type: kind }]);
      await seen(client, { topic, ...(await act(ADMIN, name, next())) });
      const { token } = client;
      client.close();
      const missed = await act(ADMIN, name, next());
      for (const after of [token, undefined]) {
        const again = await follow(key, topic, after);
        await seen(again, missed);
        expect(again.events.map(({ type }) => type)).not.toContain('reset');
        again.close();
      }
    },
  );
});

describe('a stream ends when its credential', () => {
  const FATES: Record<string, (id: string, scope: string) => Promise<Answer>> = {
    'loses the scope': (id, scope) =>
      ask(ADMIN, `PUT admin/keys/${id}`, { scopes: SCOPES.filter((each) => each !== scope) }),
    'is revoked': (id) => ask(ADMIN, `DELETE admin/keys/${id}`),
  };
  const CASES = Object.keys(TOPICS).flatMap((kind) =>
    TRANSPORTS.flatMap(([transport, follow]) =>
      Object.keys(FATES).map((fate) => ({ fate, kind, transport, follow })),
    ),
  );
  const streams = new Map<object, Awaited<ReturnType<Transport>>>();

  // All at once: the API looks at credentials every two seconds.
  beforeAll(async () => {
    for (const each of CASES) {
      const { scope } = TOPICS[each.kind]!;
      const { name, topic } = await open(each.kind);
      streams.set(each, await each.follow(await keyOf(name, { scopes: [scope] }), topic));
      await FATES[each.fate]!(name, scope);
    }
  });

  test.each(CASES)('$fate: $kind over $transport', async (its) => {
    await until('it to end', () => streams.get(its)!.isOver);
    expect(streams.get(its)!.isOver).toBe(true);
  });
});

describe.each(Object.entries(TOPICS))('a topic of %s', (kind, row) => {
  const { scope, prepare, act } = row;

  describe.each(TRANSPORTS)('over %s', (_, follow) => {
    test('needs a credential, and its scope', async () => {
      const { name, topic } = await open(kind);
      await expect(follow('mk_none_0123456789012345678901', topic)).rejects.toThrow('401 unauthenticated');
      const others = await keyOf(name, { scopes: SCOPES.filter((each) => each !== scope) });
      await expect(follow(others, topic)).rejects.toThrow('403 scope-missing');
    });

    test('is of the tenant of the credential alone', async () => {
      const { name, topic } = await open(kind);
      const mine = await follow(ADMIN, topic);
      const its = await follow(acme, topic, mine.token).catch((error: Error) => error.message);
      expect(typeof its === 'string' ? its : 'open').toBe(row.isOfDeployment ? '404 unknown-topic' : 'open');
      const itsOnly = await act(acme, name, next());
      // Values like the remaining permits of a limit are equal after equally many changes.
      const mineAll = [await act(ADMIN, name, next()), await act(ADMIN, name, next())];
      mineAll.push(await act(ADMIN, name, next()));
      const itsLast = await act(acme, name, next());
      const mineLast = mineAll.at(-1)!;
      await seen(mine, mineLast);
      const isOthers = (event: Json): boolean => !mineAll.some((each) => isLike(event, each));
      expect(row.isSampled ? [] : mine.events.filter(isOthers)).toEqual([]);
      mine.close();
      if (typeof its === 'string') return;
      await seen(its, itsLast);
      const isItsOwn = (event: Json): boolean => [itsOnly, itsLast].some((each) => isLike(event, each));
      const isForeign = (event: Json): boolean => isLike(event, mineLast) && !isItsOwn(event);
      if (!['mailbox', 'overview'].includes(kind) && its.events.some(isForeign))
        throw new Error('an event of another tenant');
      its.close();
    });
  });

  test.each(['bill', 'bull'])('is for %s where the credential acts for bill', async (name) => {
    await prepare?.(ADMIN, name);
    const key = await keyOf(`${kind}-of-${name}`, { scopes: [scope], subject: 'bill' });
    const path = `/v1/events?topics=${row.topic(name)}`;
    const reader = await EventReader.open(api.url, path, bearer(key));
    const isRefused = ['member', 'mailbox'].includes(kind) && name === 'bull';
    expect(reader.response.statusCode).toBe(isRefused ? 403 : 200);
    reader.close();
  });
});

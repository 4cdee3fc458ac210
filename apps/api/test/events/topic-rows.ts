/** The events of each topic: a row for each kind, and the API that the tests of topics follow. */
import { WaiterHub } from '@mortise/redis';
import { runServer } from '@mortise/test-kit';

import { SCOPES } from '../../src/callers/scopes.js';
import { prefixOf } from '../../src/tenants/tenancy.js';
import type { Answer } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';

// Its own one: a page of a list ends after 0.1 s, wherever it is among the keys of other tests.
const { server, redis } = await runServer({ isCluster: true });
export const ADMIN = 'mk_admin_0123456789012345678901';
export const bearer = (key: string): { authorization: string } => ({ authorization: `Bearer ${key}` });
export const api = await startApi({
  AUTH: 'keys',
  ADMIN_KEY: ADMIN,
  CACHE_TABLES: 'stock',
  REDIS_URL: server.url,
});

export const ask = async (key: string, target: string, body?: object): Promise<Answer> => {
  const [method, path] = target.split(' ') as [string, string];
  return api.send({ method, path: `/v1/${path}`, headers: bearer(key), ...(body && { body }) });
};
export const keyOf = async (id: string, terms: object): Promise<string> =>
  (await ask(ADMIN, `PUT admin/keys/${id}`, terms)).json.key as string;

await ask(ADMIN, 'PUT admin/tenants/acme', {});
export const acme = await keyOf('acme', { tenant: 'acme', scopes: SCOPES });
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

export const TOPICS: Readonly<Record<string, Row>> = {
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

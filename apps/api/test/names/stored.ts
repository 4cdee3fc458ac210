/** The lists of names for operators. */
import { expect, test } from '@jest/globals';
import { connect } from '@mortise/test-kit';

import { PLACES } from '../../src/console/stored-names.js';
import { startApi } from '../fixture/api.js';

const api = await startApi();

async function put(method: string, path: string, body?: object): Promise<void> {
  const { status, text } = await api.send({ method, path: `/v1/${path}`, ...(body && { body }) });
  expect([path, status < 300 || text]).toEqual([path, true]);
}

/** All pages. */
async function namesOf(kind: string): Promise<string[]> {
  const names: string[] = [];
  let cursor: string | null = '';
  do {
    const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { json } = await api.send({ path: `/v1/names/${kind}?limit=1${query}` });
    names.push(...json.items.map(({ name }: { name: string }) => name));
    cursor = json.nextCursor as string | null;
  } while (cursor !== null);
  return [...new Set(names)].toSorted((a, b) => (a < b ? -1 : 1));
}

const HOSTILE = 'a:}{*?[x]%';

test('each kind is found by its name, also a hostile one', async () => {
  const name = encodeURIComponent(HOSTILE);
  for (const each of ['plain', name]) {
    const decoded = decodeURIComponent(each);
    await put('POST', 'chats', { sender: decoded, members: [], chatId: decoded, body: 1 });
    await put('POST', `mailboxes/${each}/messages`, { from: 'a', body: 1 });
    await put('PUT', `file-channels/${each}/receivers/counter`);
    await put('PUT', `caches/${each}/entries/k`, { value: 1, tags: ['t'] });
    await put('POST', `rate-limiters/${each}/take`, { limit: 1, periodMs: 60_000 });
    await put('POST', `read-write-locks/${each}/acquire`, { mode: 'read' });
  }
  // Ids of guilds and users have few characters.
  await put('PUT', 'address-books/plain/names/anna?by=anna', {});
  await put('POST', 'contacts/plain', { contacts: ['a'] });
  const simple = new Set(['address-books', 'contacts']);
  for (const kind of Object.keys(PLACES)) {
    const expected = simple.has(kind) ? ['plain'] : [HOSTILE, 'plain'];
    expect([kind, await namesOf(kind)]).toEqual([kind, expected]);
  }
});

test('keys of other programs are left out, and an unknown kind is refused', async () => {
  const redis = connect();
  await redis.set(`${api.prefix}:messaging:{}:chat`, '1');
  await redis.set(`${api.prefix}:messaging:{%zz}:chat`, '1');
  expect(await namesOf('chats')).toEqual([HOSTILE, 'plain']);
  expect((await api.send({ path: '/v1/names/secrets' })).status).toBe(400);
  const { status, json } = await api.send({ path: '/v1/names/chats?cursor=nonsense' });
  expect([status, json.type.split('/').at(-1)]).toEqual([400, 'invalid-cursor']);
});

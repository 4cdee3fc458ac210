/** Chats and members over HTTP. */
import { expect, test } from '@jest/globals';
import { connect, until } from '@mortise/test-kit';

import type { Answer } from '../fixture/api.js';
import { api } from './api.js';

const ask = (method: string, path: string, body?: object): Promise<Answer> =>
  api.send({ method, path: `/v1/${path}`, ...(body && { body }) });
const get = (path: string): Promise<Answer> => ask('GET', path);
const create = (chatId: string, members: string[], more: object = {}): Promise<Answer> =>
  ask('POST', 'chats', { sender: 'frank', members, chatId, ...more });
const post = (chatId: string, sender: string, body: unknown, more: object = {}): Promise<Answer> =>
  ask('POST', `chats/${chatId}/messages`, { sender, body, ...more });
const pending = async (member: string, query = ''): Promise<Answer['json'][]> =>
  (await get(`members/${member}/pending${query}`)).json.items;
const problem = ({ status, json }: Answer): unknown[] => [status, json?.type?.split('/').at(-1)];

test('a chat is created once, by its id or by an Idempotency-Key', async () => {
  const first = await create('once', ['bill'], { body: 'hi' });
  expect([first.status, first.json, first.headers.location]).toEqual([
    201,
    { chatId: 'once', isNew: true, id: 1 },
    '/v1/chats/once/members',
  ]);
  const again = await create('once', ['eve']);
  expect([again.status, again.json]).toMatchObject([200, { chatId: 'once', isNew: false }]);
  const sent = {
    method: 'POST',
    path: '/v1/chats',
    headers: { 'idempotency-key': 'by-key' },
    body: { sender: 'frank', members: [] },
  };
  expect([(await api.send(sent)).status, (await api.send(sent)).json]).toEqual([
    201,
    { chatId: 'by-key', isNew: false },
  ]);
  const two = await api.send({ ...sent, body: { ...sent.body, chatId: 'other' } });
  expect([two.status, two.json.errors[0].pointer]).toEqual([400, '/chatId']);
  const unnamed = await ask('POST', 'chats', { sender: 'frank', members: ['bill'] });
  expect(unnamed.json).toMatchObject({ isNew: true, chatId: expect.stringMatching(/^[0-9a-f-]{36}$/) });
});

test('a request that is repeated gets the same ids, and a key that comes with another request is refused', async () => {
  const send = (method: string, path: string, key: string, body: object): Promise<Answer> =>
    api.send({ method, path: `/v1/${path}`, headers: { 'idempotency-key': key }, body });
  const creation = { sender: 'frank', members: ['bill'], body: 'hello' };
  for (const [status, isNew] of [
    [201, true],
    [200, false],
  ]) {
    const { status: got, json } = await send('POST', 'chats', 'keyed', creation);
    expect([got, json]).toEqual([status, { chatId: 'keyed', isNew, id: 1 }]);
  }
  const reused = [422, 'request-reused'];
  for (const other of [{ sender: 'zoe' }, { body: 'secret' }]) {
    expect(problem(await send('POST', 'chats', 'keyed', { ...creation, ...other }))).toEqual(reused);
  }
  const messages = 'chats/keyed/messages';
  const said = { sender: 'frank', body: { n: 1 } };
  expect((await send('POST', messages, 'k', said)).json).toEqual({ id: 2, isDuplicate: false });
  expect((await send('POST', messages, 'k', said)).json).toEqual({ id: 2, isDuplicate: true });
  expect(problem(await send('POST', messages, 'k', { ...said, body: 2 }))).toEqual(reused);
  const edit = { sender: 'frank', body: 'ONE' };
  expect((await send('PATCH', `${messages}/2`, 'k', edit)).json).toEqual({ id: 3, isDuplicate: false });
  expect((await send('PATCH', `${messages}/2`, 'k', edit)).json).toEqual({ id: 3, isDuplicate: true });
  expect(problem(await send('PATCH', `${messages}/2`, 'k', { ...edit, body: 'TWO' }))).toEqual(reused);
  expect((await send('PATCH', `${messages}/1`, 'k', edit)).json).toEqual({ id: 4, isDuplicate: false });
  // It was edited since, so nobody knows what it said.
  expect((await send('POST', messages, 'k', said)).json).toEqual({ id: 2, isDuplicate: true });
  expect((await get(messages)).json.items.slice(0, 2)).toMatchObject([{ body: 'ONE' }, { body: 'ONE' }]);
});

test('the name of a chat, and the key that created it, are no ids of messages', async () => {
  expect((await create('named', ['bill'], { body: 'hello' })).json).toMatchObject({ id: 1 });
  const same = await post('named', 'frank', 'never said before', { id: 'named' });
  expect([same.status, same.json]).toEqual([201, { id: 2, isDuplicate: false }]);
  const headers = { 'idempotency-key': 'created' };
  const creation = { sender: 'frank', members: ['bill'], body: 'hello' };
  await api.send({ method: 'POST', path: '/v1/chats', headers, body: creation });
  expect((await ask('DELETE', 'chats/created/messages/1?sender=frank')).status).toBe(200);
  const path = '/v1/chats/created/messages';
  const first = await api.send({ method: 'POST', path, headers, body: { sender: 'frank', body: 'new' } });
  expect([first.status, first.json]).toEqual([201, { id: 3, isDuplicate: false }]);
});

test.each(['{"x":-0}', '{"x":[1e21,123456789012345680000]}', '-0', 'null', '{"a":1,"a":2}'])(
  'the same request again with %s is the same',
  async (json) => {
    await create('numbers', ['bill']);
    const sent = {
      method: 'POST',
      path: '/v1/chats/numbers/messages',
      headers: { 'idempotency-key': Buffer.from(json).toString('base64url') },
      body: `{"sender":"frank","body":${json}}`,
    };
    const { status, json: first } = await api.send(sent);
    expect(status).toBe(201);
    const again = await api.send(sent);
    expect([again.status, again.json]).toEqual([200, { ...first, isDuplicate: true }]);
  },
);

test('a request that is repeated is compared without reading what was said since', async () => {
  const redis = connect();
  await create('long', ['bill']);
  const said = {
    method: 'POST',
    path: '/v1/chats/long/messages',
    headers: { 'idempotency-key': 'small' },
    body: { sender: 'frank', body: 'small' },
  };
  await api.send(said);
  await Promise.all(Array.from({ length: 50 }, () => post('long', 'frank', 'x'.repeat(60_000))));
  const output = async (): Promise<number> =>
    Number(/total_net_output_bytes:(\d+)/.exec(await redis.info('stats'))![1]);
  const before = await output();
  expect((await api.send(said)).json).toEqual({ id: 1, isDuplicate: true });
  expect((await output()) - before).toBeLessThan(60_000);
});

test('a message is pending for the other members until their cursors move', async () => {
  await create('talk', ['mia', 'tom']);
  expect((await post('talk', 'frank', { text: 'one' })).json).toEqual({ id: 1, isDuplicate: false });
  expect((await post('talk', 'frank', 'two', { id: 'm-2' })).status).toBe(201);
  const again = await post('talk', 'frank', 'two', { id: 'm-2' });
  expect([again.status, again.json]).toEqual([200, { id: 2, isDuplicate: true }]);

  const [mine, ...others] = await pending('mia');
  expect(others).toEqual([]);
  expect(mine).toMatchObject({ chatId: 'talk', unread: 2, lastId: 2, ackedId: 0, isMuted: false });
  expect(mine.messages).toEqual([
    { id: 1, kind: 'message', from: 'frank', body: { text: 'one' }, sentAt: expect.any(Number) },
    { id: 2, kind: 'message', from: 'frank', body: 'two', sentAt: expect.any(Number) },
  ]);
  expect((await pending('mia', '?limit=1'))[0].messages).toHaveLength(1);

  const move = (upToId: number): Promise<Answer> => ask('PUT', 'chats/talk/members/mia/cursor', { upToId });
  expect((await move(2)).json).toEqual({ ackedId: 2 });
  expect((await move(1)).json).toEqual({ ackedId: 2 });
  expect(problem(await move(3))).toEqual([404, 'unknown-message']);
  const moveIn = (epoch: number): Promise<Answer> =>
    ask('PUT', 'chats/talk/members/mia/cursor', { upToId: 2, epoch });
  expect((await moveIn(mine.epoch)).json).toEqual({ ackedId: 2 });
  expect(problem(await moveIn(mine.epoch - 1))).toEqual([404, 'unknown-message']);
  expect(problem(await moveIn(0))).toEqual([400, 'invalid-body']);
  expect(await pending('mia')).toEqual([]);
  const { json } = await get('chats/talk/members');
  expect(json.nextCursor).toBe(null);
  expect(json.items).toEqual(
    expect.arrayContaining([
      { member: 'frank', ackedId: 2, role: 'owner' },
      { member: 'mia', ackedId: 2, role: 'member' },
      { member: 'tom', ackedId: 0, role: 'member' },
    ]),
  );
});

test('a waiting pull gets a new message of any chat', async () => {
  await create('wait', ['zoe']);
  const waiting = pending('zoe', '?waitMs=30000');
  // Whether it waits already or not, it gets the message.
  await post('wait', 'frank', 'come');
  expect((await waiting)[0]).toMatchObject({ chatId: 'wait', messages: [{ body: 'come' }] });
  expect(await pending('nobody', '?waitMs=1')).toEqual([]);
});

test('members are listed by pages', async () => {
  const names = Array.from({ length: 25 }, (_, n) => `m${n}`);
  await create('crowd', names);
  const found: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { status, json } = await get(
      `chats/crowd/members?limit=10${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    expect(status).toBe(200);
    found.push(...json.items.map(({ member }: { member: string }) => member));
    cursor = json.nextCursor;
  }
  expect(found.toSorted()).toEqual([...names, 'frank'].toSorted());
  expect(problem(await get('chats/crowd/members?cursor=zzz'))).toEqual([400, 'invalid-cursor']);
});

test('a new member reads later messages only, and a former member reads nothing', async () => {
  await create('club', []);
  await post('club', 'frank', 'before');
  const joined = await ask('PUT', 'chats/club/members/lea', { role: 'reader' });
  expect([joined.status, joined.json]).toEqual([201, { isNew: true, ackedId: 1 }]);
  expect((await ask('PUT', 'chats/club/members/lea', {})).status).toBe(200);
  await post('club', 'frank', 'after');
  expect((await pending('lea'))[0].messages).toMatchObject([{ id: 2, body: 'after' }]);
  expect(problem(await post('club', 'lea', 'may I?'))).toEqual([403, 'read-only-member']);
  const role = (by: string): Promise<Answer> =>
    ask('PUT', 'chats/club/members/lea/role', { role: 'member', by });
  expect(problem(await role('lea'))).toEqual([403, 'not-allowed']);
  expect((await role('frank')).status).toBe(204);
  expect((await post('club', 'lea', 'thanks')).status).toBe(201);
  expect((await ask('DELETE', 'chats/club/members/lea')).status).toBe(204);
  expect((await ask('DELETE', 'chats/club/members/lea')).status).toBe(204);
  expect(problem(await post('club', 'lea', 'hello?'))).toEqual([403, 'not-a-member']);
  expect(await pending('lea')).toEqual([]);
  expect((await ask('DELETE', 'chats/club/members/frank')).status).toBe(204);
  expect(problem(await ask('PUT', 'chats/club/members/lea', {}))).toEqual([404, 'unknown-chat']);
});

test('messages are edited and deleted where they stand, and events report both', async () => {
  await create('fix', ['ben']);
  for (const body of ['a', 'b', 'c']) await post('fix', 'frank', body);
  const edit = (id: number, sender: string): Promise<Answer> =>
    ask('PATCH', `chats/fix/messages/${id}`, { sender, body: 'A', id: `e-${id}` });
  expect((await edit(1, 'frank')).json).toEqual({ id: 4, isDuplicate: false });
  expect((await edit(1, 'frank')).json).toEqual({ id: 4, isDuplicate: true });
  expect(problem(await edit(1, 'ben'))).toEqual([403, 'not-allowed']);
  expect(problem(await edit(9, 'frank'))).toEqual([404, 'unknown-message']);
  const del = (sender: string): Promise<Answer> => ask('DELETE', `chats/fix/messages/2?sender=${sender}`);
  expect(problem(await del('ben'))).toEqual([403, 'not-allowed']);
  expect((await del('frank')).json).toMatchObject({ id: 5 });
  const { json } = await get('chats/fix/messages');
  expect(json.items).toMatchObject([
    { id: 1, kind: 'message', body: 'A' },
    { id: 3, kind: 'message', body: 'c' },
    { id: 4, kind: 'edit', revises: 1, body: 'A' },
    { id: 5, kind: 'delete', revises: 2 },
  ]);
  const ids = async (query: string): Promise<number[]> =>
    (await get(`chats/fix/messages?${query}`)).json.items.map(({ id }: { id: number }) => id);
  expect(await ids('before=4&limit=1')).toEqual([3]);
  expect(await ids('after=1&limit=2')).toEqual([3, 4]);
  expect(problem(await get('chats/fix/messages?before=4&after=1'))).toEqual([400, 'invalid-query']);
  expect((await pending('ben'))[0]).toMatchObject({ chatId: 'fix', unread: 2 });
});

test('the oldest messages are dropped, and a member who had not read them gets a gap', async () => {
  await create('trimmed', ['ben']);
  for (const body of ['a', 'b', 'c']) await post('trimmed', 'frank', body);
  const trim = (upToId: number): Promise<Answer> => ask('DELETE', `chats/trimmed/messages?upToId=${upToId}`);
  expect((await trim(2)).json).toEqual({ dropped: { fromId: 1, toId: 2 } });
  expect((await trim(2)).json).toEqual({ dropped: null });
  expect(problem(await trim(4))).toEqual([404, 'unknown-message']);
  expect(problem(await ask('DELETE', 'chats/trimmed/messages'))).toEqual([400, 'invalid-query']);
  const chat = (await pending('ben')).find(({ chatId }: { chatId: string }) => chatId === 'trimmed');
  expect(chat).toMatchObject({ unread: 1, gap: { fromId: 1, toId: 2 }, messages: [{ id: 3 }] });
});

test('the chats of a member, and muting one', async () => {
  await create('loud', ['kim']);
  await create('quiet', ['kim']);
  await post('loud', 'frank', '!');
  await post('quiet', 'frank', '.');
  const mute = (chatId: string, body: object = {}): Promise<Answer> =>
    ask('PUT', `members/kim/mutes/${chatId}`, body);
  expect((await mute('loud')).status).toBe(204);
  expect(problem(await mute('none'))).toEqual([403, 'not-a-member']);
  const names = (items: { chatId: string }[]): string[] => items.map(({ chatId }) => chatId);
  expect(names(await pending('kim'))).toEqual(['quiet']);
  expect(names(await pending('kim', '?includeMuted=true'))).toEqual(['loud', 'quiet']);
  const all = (await get('members/kim/chats')).json.items;
  expect(all).toMatchObject([
    { chatId: 'loud', unread: 1, lastId: 1, ackedId: 0, isMuted: true },
    { chatId: 'quiet', unread: 1, isMuted: false },
  ]);
  expect(names((await get('members/kim/chats?includeMuted=false')).json.items)).toEqual(['quiet']);
  expect((await ask('DELETE', 'members/kim/mutes/loud')).status).toBe(204);
  expect(names(await pending('kim'))).toEqual(['loud', 'quiet']);
  const untilMs = Date.now() + 300;
  expect((await mute('loud', { untilMs })).status).toBe(204);
  await until('the end of it', async () => (await pending('kim')).length === 2);
});

test('typing and presence reach followers, and are refused to non-members', async () => {
  await create('hall', ['bill']);
  expect((await ask('POST', 'chats/hall/typing', { member: 'bill' })).status).toBe(204);
  expect(problem(await ask('POST', 'chats/hall/typing', { member: 'eve' }))).toEqual([403, 'not-a-member']);
  expect(problem(await ask('POST', 'chats/none/typing', { member: 'bill' }))).toEqual([404, 'unknown-chat']);
  expect((await ask('PUT', 'members/bill/presence', { status: 'under the car 🔧' })).status).toBe(204);
});

test.each([
  ['POST', 'chats/none/messages', { sender: 'frank', body: 1 }],
  ['GET', 'chats/none/messages', undefined],
  ['GET', 'chats/none/members', undefined],
  ['PUT', 'chats/none/members/frank', {}],
  ['PUT', 'chats/none/members/frank/cursor', { upToId: 0 }],
  ['PUT', 'chats/none/members/frank/role', { role: 'reader' }],
  ['PATCH', 'chats/none/messages/1', { sender: 'frank', body: 1 }],
  ['DELETE', 'chats/none/messages/1?sender=frank', undefined],
  ['DELETE', 'chats/none/messages?upToId=1', undefined],
])('%s %s of a chat that is not there', async (method, path, body) => {
  const answer = await ask(method, path, body);
  expect(problem(answer)).toEqual([404, 'unknown-chat']);
  expect(answer.json.chatId).toBe('none');
});

test('a member is in 1,000 chats at most, and a request names as many members', async () => {
  const names = Array.from({ length: 1_001 }, (_, n) => `x${n}`);
  expect(problem(await create('huge', names))).toEqual([400, 'invalid-body']);
  expect((await create('huge', names.slice(1))).status).toBe(201);
});

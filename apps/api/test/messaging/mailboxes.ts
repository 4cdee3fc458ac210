/** Mailboxes over HTTP. */
import { describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';

import type { Answer } from '../fixture/api.js';
import { api } from './api.js';

const get = (path: string): Promise<Answer> => api.send({ path: `/v1/mailboxes/${path}` });
const ask = (method: string, path: string, body?: object): Promise<Answer> =>
  api.send({ method, path: `/v1/mailboxes/${path}`, ...(body && { body }) });
const sendTo = (recipient: string, body: unknown, more: object = {}): Promise<Answer> =>
  ask('POST', `${recipient}/messages`, { from: 'bill', body, ...more });

test('messages come again until they are acked, oldest or latest first', async () => {
  for (const n of [1, 2, 3]) {
    const sent = await sendTo('ann', { n });
    expect([sent.status, sent.json]).toEqual([201, { id: n, isDuplicate: false }]);
  }
  const all = await get('ann/messages');
  expect([all.status, all.json.items]).toEqual([
    200,
    [1, 2, 3].map((n) => ({ id: n, from: 'bill', body: { n }, sentAt: expect.any(Number) })),
  ]);
  const ids = async (query: string): Promise<number[]> =>
    (await get(`ann/messages?${query}`)).json.items.map(({ id }: { id: number }) => id);
  expect(await ids('limit=2')).toEqual([1, 2]);
  expect(await ids('limit=2&order=latest')).toEqual([3, 2]);
  const ack = (upToId: number): Promise<Answer> => ask('POST', 'ann/ack', { upToId });
  expect((await ack(2)).json).toEqual({ acked: 2 });
  expect((await ack(1)).json).toEqual({ acked: 0 });
  expect(await ids('')).toEqual([3]);
  expect((await get('ann')).json).toMatchObject({ unread: 1, size: 1, lastId: 3, ackedId: 2, dropped: null });
  const beyond = await ack(4);
  expect([beyond.status, beyond.json]).toMatchObject([
    404,
    { type: 'https://mortise.dev/problems/unknown-message', recipient: 'ann', id: 4, lastId: 3 },
  ]);
  expect((await ask('DELETE', 'ann/messages')).json).toEqual({ acked: 1 });
  expect(await ids('')).toEqual([]);
});

test('a mailbox that nobody has used is empty', async () => {
  expect((await get('nobody')).json).toMatchObject({ unread: 0, lastId: 0, epoch: null, devices: [] });
  expect((await get('nobody/messages')).json).toEqual({ items: [] });
  expect((await ask('DELETE', 'nobody/messages')).json).toEqual({ acked: 0 });
});

test('a message is sent once under an id, or an Idempotency-Key', async () => {
  const request = {
    method: 'POST',
    path: '/v1/mailboxes/key/messages',
    headers: { 'idempotency-key': '"m-1"' },
    body: { from: 'bill', body: 'hello' },
  };
  expect([(await api.send(request)).status, (await api.send(request)).status]).toEqual([201, 200]);
  const again = await sendTo('key', 'hello', { id: 'm-1' });
  expect([again.status, again.json]).toEqual([200, { id: 1, isDuplicate: true }]);
  // The id is the sender's.
  expect((await sendTo('key', 'hello', { id: 'm-1', from: 'frank' })).json.id).toBe(2);
  const two = await api.send({ ...request, body: { ...request.body, id: 'm-2' } });
  expect([two.status, two.json.errors]).toEqual([
    400,
    [{ pointer: '/id', message: 'is not the Idempotency-Key' }],
  ]);
});

test('a waiting receive gets a new message, or nothing at the end of its time', async () => {
  // A mailbox that was never used notes nothing.
  await sendTo('late', 'before');
  await ask('DELETE', 'late/messages');
  const waiting = get('late/messages?waitMs=30000');
  await until('the wait', async () => (await get('late')).json.lastFetchedAt !== null);
  await sendTo('late', 'now');
  expect((await waiting).json.items).toMatchObject([{ id: 2, body: 'now' }]);
  expect((await get('other/messages?waitMs=1')).json).toEqual({ items: [] });
});

test('a message with ttlMs is nobody’s when that is over', async () => {
  expect((await sendTo('soon', 'gone', { ttlMs: 1 })).status).toBe(201);
  await until('the end', async () => (await get('soon')).json.unread === 0);
  expect((await get('soon/messages')).json.items).toEqual([]);
});

test('each device has a cursor, and keeps what it has not acked', async () => {
  await sendTo('dev', 1);
  const phone = await ask('PUT', 'dev/devices/phone', { at: 'oldest' });
  expect([phone.status, phone.json]).toEqual([201, { device: 'phone', isNew: true, ackedId: 0 }]);
  expect((await ask('PUT', 'dev/devices/phone', {})).status).toBe(200);
  expect((await ask('POST', 'dev/ack', { upToId: 1 })).json).toEqual({ acked: 1 });
  expect((await get('dev/messages')).json.items).toEqual([]);
  expect((await get('dev/messages?device=phone')).json.items).toMatchObject([{ id: 1 }]);
  expect((await get('dev/devices')).json.items).toMatchObject([
    { device: 'phone', ackedId: 0, unread: 1 },
    { device: 'main', ackedId: 1, unread: 0 },
  ]);
  for (const [method, path, body] of [
    ['GET', 'dev/messages?device=fridge'],
    ['DELETE', 'dev/messages?device=fridge'],
    ['POST', 'dev/ack', { upToId: 0, device: 'fridge' }],
  ] as const) {
    const { status, json } = await ask(method, path, body);
    expect([status, json]).toMatchObject([
      404,
      { type: 'https://mortise.dev/problems/unknown-device', recipient: 'dev', device: 'fridge' },
    ]);
  }
  expect((await ask('DELETE', 'dev/devices/phone')).status).toBe(204);
  expect((await ask('DELETE', 'dev/devices/phone')).status).toBe(204);
  expect((await get('dev')).json).toMatchObject({ size: 0, devices: [{ device: 'main' }] });
});

test('of blocked senders nothing is taken', async () => {
  for (const status of [204, 204])
    expect((await ask('PUT', 'calm/blocked-senders/bill')).status).toBe(status);
  expect((await get('calm/blocked-senders')).json).toEqual({ items: [{ sender: 'bill' }] });
  const refused = await sendTo('calm', 'buy!');
  expect([refused.status, refused.json]).toMatchObject([
    403,
    { type: 'https://mortise.dev/problems/sender-blocked', recipient: 'calm', sender: 'bill' },
  ]);
  expect((await ask('DELETE', 'calm/blocked-senders/bill')).status).toBe(204);
  expect((await sendTo('calm', 'sorry')).status).toBe(201);
});

describe('a body', () => {
  test.each([null, 0, '', false, [], { a: [{ b: null }] }, 'é𐍈'.repeat(100)])('may be %j', async (body) => {
    const { json } = await sendTo('any', body);
    const { json: got } = await get('any/messages?order=latest&limit=1');
    expect(got.items[0]).toMatchObject({ id: json.id, body });
  });

  test('may have 65,536 bytes, and no more', async () => {
    expect((await sendTo('large', 'x'.repeat(65_534))).status).toBe(201);
    const over = await sendTo('large', 'x'.repeat(65_535));
    expect([over.status, over.json]).toMatchObject([
      413,
      { type: 'https://mortise.dev/problems/body-too-large', bytes: 65_537, maxBytes: 65_536 },
    ]);
    expect((await sendTo('large', 'x'.repeat(140_000))).status).toBe(413);
    expect((await get('large')).json.lastId).toBe(1);
  });
});

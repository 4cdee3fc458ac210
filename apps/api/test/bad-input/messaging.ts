/** A wrong request for mailboxes, chats and members gets a problem of a stable type, and changes nothing. */
import { describe, expect, test } from '@jest/globals';

import type { Sent } from '../fixture/api.js';
import { HOSTILE, refused, text, row } from '../fixture/refusals.js';
import type { Shop } from '../fixture/refusals.js';

export function refuseInMessaging(shop: Shop): void {
  const ROUTES: Record<string, Sent> = {
    send: row('POST /v1/mailboxes/ann/messages', { from: 'bill', body: 1 }),
    ackMailbox: row('POST /v1/mailboxes/ann/ack', { upToId: 0 }),
    addDevice: row('PUT /v1/mailboxes/ann/devices/phone', { at: 'oldest' }),
    create: row('POST /v1/chats', { sender: 'frank', members: ['bill'] }),
    join: row('PUT /v1/chats/garage/members/bill', { role: 'reader' }),
    role: row('PUT /v1/chats/garage/members/bill/role', { role: 'reader', by: 'frank' }),
    cursor: row('PUT /v1/chats/garage/members/bill/cursor', { upToId: 0 }),
    post: row('POST /v1/chats/garage/messages', { sender: 'frank', body: 1 }),
    edit: row('PATCH /v1/chats/garage/messages/1', { sender: 'frank', body: 1 }),
    typing: row('POST /v1/chats/garage/typing', { member: 'frank' }),
    mute: row('PUT /v1/members/frank/mutes/garage', { untilMs: 1 }),
    presence: row('PUT /v1/members/frank/presence', { status: 'away' }),
  };

  describe.each(Object.entries(ROUTES))('the body of %s', (_, { body, ...sent }) => {
    const whole = body as Record<string, unknown>;

    test.each(Object.keys(whole))('without %s, or with one of another kind', async (key) => {
      const { [key]: value, ...rest } = whole;
      const isOptional = ['at', 'by', 'untilMs'].includes(key) || (key === 'role' && !('by' in whole));
      // Any JSON is a body of a message.
      const wrong =
        key === 'body'
          ? []
          : typeof value === 'number'
            ? ['null', '"1"', '-1', '0.5', '1e999', '[0]']
            : ['null', '5', '{}', '""'];
      const given = wrong.map((put) => text({ ...whole, [key]: '?' }, '"?"', put));
      if (!isOptional) given.push(JSON.stringify(rest));
      for (const wrongBody of given) {
        const verdict = await shop.ask({ ...sent, body: wrongBody });
        expect([wrongBody, verdict]).toEqual([wrongBody, refused('invalid-body')]);
      }
    });
  });

  test.each(HOSTILE)('the name %j in a body', async (name) => {
    const cases: [Sent, object][] = [
      [ROUTES['send']!, { from: name, body: 1 }],
      [ROUTES['send']!, { from: 'bill', body: 1, id: name }],
      [ROUTES['ackMailbox']!, { upToId: 0, device: name }],
      [ROUTES['create']!, { sender: name, members: [] }],
      [ROUTES['create']!, { sender: 'frank', members: [name] }],
      [ROUTES['create']!, { sender: 'frank', members: [], chatId: name }],
      [ROUTES['post']!, { sender: name, body: 1 }],
      [ROUTES['role']!, { role: 'reader', by: name }],
      [ROUTES['typing']!, { member: name }],
    ];
    for (const [sent, body] of cases) {
      expect(await shop.others('invalid-body', { ...sent, body })).toEqual([]);
    }
  });

  test.each([
    ['/v1/mailboxes/ann/messages?limit=0', 'from 1 to 200'],
    ['/v1/mailboxes/ann/messages?limit=201', 'from 1 to 200'],
    ['/v1/chats/garage/members?limit=99999999999999999999', 'from 1 to 200'],
    ['/v1/chats/garage/messages?before=0', 'from 1 to 9007199254740991'],
    ['/v1/chats/garage/messages?after=9007199254740992', 'from 0 to 9007199254740991'],
    ['/v1/chats/garage/messages?after=99999999999999999999', 'from 0 to 9007199254740991'],
    ['/v1/members/frank/pending?waitMs=30001', 'from 0 to 30000'],
    ['/v1/members/frank/pending?waitMs=1e1', 'from 0 to 30000'],
  ])('GET %s is refused with the range', async (path, range) => {
    const { json } = await shop.send({ method: 'GET', path });
    const message = `must be a whole number ${range} in decimal digits`;
    expect(json.errors).toEqual([{ pointer: expect.any(String), message }]);
  });

  test('the id of a message in an address is refused with its range', async () => {
    const { json } = await shop.send(row('DELETE /v1/chats/garage/messages/0?sender=bill'));
    expect(json).toMatchObject({
      detail: 'must be a whole number from 1 to 9007199254740991 in decimal digits',
    });
  });

  test.each([
    '/v1/mailboxes/ann/messages?limit=0',
    '/v1/mailboxes/ann/messages?limit=201',
    '/v1/mailboxes/ann/messages?limit=-1',
    '/v1/mailboxes/ann/messages?limit=1e1',
    '/v1/mailboxes/ann/messages?limit=NaN',
    '/v1/mailboxes/ann/messages?limit=1&limit=2',
    '/v1/mailboxes/ann/messages?order=newest',
    '/v1/mailboxes/ann/messages?waitMs=30001',
    '/v1/mailboxes/ann/messages?waitMs=-1',
    '/v1/mailboxes/ann/messages?waitMs=Infinity',
    '/v1/mailboxes/ann/messages?device=a%20b',
    '/v1/mailboxes/ann/messages?after=1',
    '/v1/chats/garage/members?limit=x',
    '/v1/chats/garage/members?cursor=',
    '/v1/chats/garage/messages?before=0',
    '/v1/chats/garage/messages?before=1.5',
    '/v1/chats/garage/messages?after=-1',
    '/v1/chats/garage/messages?after=99999999999999999',
    '/v1/members/bill/pending?limit=0',
    '/v1/members/bill/pending?waitMs=x',
    '/v1/members/bill/pending?includeMuted=maybe',
    '/v1/members/bill/pending?autoAck=true',
    '/v1/members/bill/chats?includeMuted=2',
    '/v1/members/bill/events?since=1',
    '/v1/members/bill/events?after=a&after=b',
  ])('the query of %s', async (path) => {
    expect(await shop.others('invalid-query', { path })).toEqual([]);
  });

  test.each(['0', '-1', '1.5', 'x', '1e3', '99999999999999999', '%20'])('the message %j', async (id) => {
    const path = `/v1/chats/garage/messages/${id}`;
    expect(
      await shop.others(
        'invalid-id',
        { ...ROUTES['edit']!, path },
        { method: 'DELETE', path: `${path}?sender=frank` },
      ),
    ).toEqual([]);
  });

  test('DELETE of a message without a sender', async () => {
    const sent = row('DELETE /v1/chats/garage/messages/1');
    expect(await shop.others('invalid-query', sent)).toEqual([]);
  });

  test('bodies of 64 levels and more, of half a pair, and too large', async () => {
    const deep = `{"from":"bill","body":${'['.repeat(64)}${']'.repeat(64)}}`;
    expect(await shop.others('invalid-body', { ...ROUTES['send']!, body: deep })).toEqual([]);
    const half = '{"from":"bill","body":"\\ud800"}';
    expect(await shop.others('invalid-body', { ...ROUTES['send']!, body: half })).toEqual([]);
    for (const name of ['send', 'create', 'post', 'edit']) {
      const sent = ROUTES[name]!;
      const body = { ...(sent.body as object), body: 'x'.repeat(131_072) };
      expect(await shop.others('body-too-large', { ...sent, body })).toEqual([]);
    }
  });
}

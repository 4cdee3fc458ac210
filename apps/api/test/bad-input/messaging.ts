/** A wrong request for mailboxes, chats and members gets a problem of a stable type, and changes nothing. */
import { describe, expect, test } from '@jest/globals';

import type { Row } from '../fixture/api.js';
import { HOSTILE, others, refuseEach, send, text } from '../fixture/refusals.js';

const SEND = 'POST /v1/mailboxes/ann/messages';
const ACK = 'POST /v1/mailboxes/ann/ack';
const CREATE = 'POST /v1/chats';
const POST = 'POST /v1/chats/garage/messages';
const EDIT = 'PATCH /v1/chats/garage/messages/1';
const ROLE = 'PUT /v1/chats/garage/members/bill/role';
const TYPING = 'POST /v1/chats/garage/typing';

const BODIES: [target: string, body: Record<string, unknown>][] = [
  [SEND, { from: 'bill', body: 1 }],
  [ACK, { upToId: 0 }],
  ['PUT /v1/mailboxes/ann/devices/phone', { at: 'oldest' }],
  [CREATE, { sender: 'frank', members: ['bill'] }],
  ['PUT /v1/chats/garage/members/bill', { role: 'reader' }],
  [ROLE, { role: 'reader', by: 'frank' }],
  ['PUT /v1/chats/garage/members/bill/cursor', { upToId: 0 }],
  [POST, { sender: 'frank', body: 1 }],
  [EDIT, { sender: 'frank', body: 1 }],
  [TYPING, { member: 'frank' }],
  ['PUT /v1/members/frank/mutes/garage', { untilMs: 1 }],
  ['PUT /v1/members/frank/presence', { status: 'away' }],
];

describe.each(BODIES)('the body of %s', (target, whole) => {
  test.each(Object.keys(whole))('without %s, or with one of another kind', async (key) => {
    const { [key]: value, ...rest } = whole;
    const isOptional = ['at', 'by', 'untilMs'].includes(key) || (key === 'role' && !('by' in whole));
    const wrong =
      typeof value === 'number' ? ['null', '"1"', '-1', '0.5', '1e999', '[0]'] : ['null', '5', '{}', '""'];
    // Any JSON is a body of a message.
    const given = key === 'body' ? [] : wrong.map((put) => text({ ...whole, [key]: '?' }, '"?"', put));
    if (!isOptional) given.push(JSON.stringify(rest));
    expect(
      await others(
        'invalid-body',
        given.map((body): Row => [target, body]),
      ),
    ).toEqual([]);
  });
});

describe('messages and members', () => {
  refuseEach('invalid-body', 'the name', HOSTILE, (name) => [
    [SEND, { from: name, body: 1 }],
    [SEND, { from: 'bill', body: 1, id: name }],
    [ACK, { upToId: 0, device: name }],
    [CREATE, { sender: name, members: [] }],
    [CREATE, { sender: 'frank', members: [name] }],
    [CREATE, { sender: 'frank', members: [], chatId: name }],
    [POST, { sender: name, body: 1 }],
    [ROLE, { role: 'reader', by: name }],
    [TYPING, { member: name }],
  ]);

  test.each([
    ['GET /v1/mailboxes/ann/messages?limit=0', 'from 1 to 200'],
    ['GET /v1/mailboxes/ann/messages?limit=201', 'from 1 to 200'],
    ['GET /v1/chats/garage/members?limit=99999999999999999999', 'from 1 to 200'],
    ['GET /v1/chats/garage/messages?before=0', 'from 1 to 9007199254740991'],
    ['GET /v1/chats/garage/messages?after=9007199254740992', 'from 0 to 9007199254740991'],
    ['GET /v1/chats/garage/messages?after=99999999999999999999', 'from 0 to 9007199254740991'],
    ['GET /v1/members/frank/pending?waitMs=30001', 'from 0 to 30000'],
    ['GET /v1/members/frank/pending?waitMs=1e1', 'from 0 to 30000'],
  ])('%s is refused with the range', async (target, range) => {
    const message = `must be a whole number ${range} in decimal digits`;
    expect((await send(target)).json.errors).toEqual([{ pointer: expect.any(String), message }]);
  });

  test('the id of a message in an address is refused with its range', async () => {
    const { json } = await send('DELETE /v1/chats/garage/messages/0?sender=bill');
    const detail = 'must be a whole number from 1 to 9007199254740991 in decimal digits';
    expect(json).toMatchObject({ detail });
  });

  const queries = [
    'GET /v1/mailboxes/ann/messages?limit=0',
    'GET /v1/mailboxes/ann/messages?limit=201',
    'GET /v1/mailboxes/ann/messages?limit=-1',
    'GET /v1/mailboxes/ann/messages?limit=1e1',
    'GET /v1/mailboxes/ann/messages?limit=NaN',
    'GET /v1/mailboxes/ann/messages?limit=1&limit=2',
    'GET /v1/mailboxes/ann/messages?order=newest',
    'GET /v1/mailboxes/ann/messages?waitMs=30001',
    'GET /v1/mailboxes/ann/messages?waitMs=-1',
    'GET /v1/mailboxes/ann/messages?waitMs=Infinity',
    'GET /v1/mailboxes/ann/messages?device=%2e%2e',
    'GET /v1/mailboxes/ann/messages?after=1',
    'GET /v1/chats/garage/members?limit=x',
    'GET /v1/chats/garage/members?cursor=',
    'GET /v1/chats/garage/messages?before=0',
    'GET /v1/chats/garage/messages?before=1.5',
    'GET /v1/chats/garage/messages?after=-1',
    'GET /v1/chats/garage/messages?after=99999999999999999',
    'GET /v1/members/bill/pending?limit=0',
    'GET /v1/members/bill/pending?waitMs=x',
    'GET /v1/members/bill/pending?includeMuted=maybe',
    'GET /v1/members/bill/pending?autoAck=true',
    'GET /v1/members/bill/chats?includeMuted=2',
    'GET /v1/members/bill/events?since=1',
    'GET /v1/members/bill/events?after=a&after=b',
    'DELETE /v1/chats/garage/messages/1',
  ];
  refuseEach('invalid-query', 'the query of', queries, (target) => [[target]]);

  const ids = ['0', '-1', '1.5', 'x', '1e3', '99999999999999999', '%20'];
  refuseEach('invalid-id', 'the message', ids, (id) => [
    [`PATCH /v1/chats/garage/messages/${id}`, { sender: 'frank', body: 1 }],
    [`DELETE /v1/chats/garage/messages/${id}?sender=frank`],
  ]);

  test('bodies of 64 levels and more, of half a pair, of a number that JSON changes, and too large', async () => {
    const deep = `{"from":"bill","body":${'['.repeat(64)}${']'.repeat(64)}}`;
    const half = '{"from":"bill","body":"\\ud800"}';
    const infinite = '{"from":"bill","body":{"x":1e999}}';
    expect(
      await others('invalid-body', [
        [SEND, deep],
        [SEND, half],
        [SEND, infinite],
        [POST, '{"sender":"frank","body":{"x":1e999}}'],
      ]),
    ).toEqual([]);
    const body = 'x'.repeat(131_072);
    const large: Row[] = [
      [SEND, { from: 'bill', body }],
      [CREATE, { sender: 'frank', members: ['bill'], body }],
      [POST, { sender: 'frank', body }],
      [EDIT, { sender: 'frank', body }],
    ];
    expect(await others('body-too-large', large)).toEqual([]);
  });
});

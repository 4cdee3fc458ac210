/** A wrong request for a lock gets a problem of a stable type at once, and the holder keeps the lock. */
import { describe, expect, test } from '@jest/globals';

import { others, refuse, refused, refuseEach, reopen, send, text, verdictOf } from '../fixture/refusals.js';

const HOLDER = 'q0-3zLcXb9dTt2Vw.1k.1000';
const ACQUIRE = 'POST /v1/locks/held/acquire';
const RENEW = 'POST /v1/locks/held/renew';
const RELEASE = 'POST /v1/locks/held/release';
const wish = { leaseMs: 10_000, waitMs: 1 };
const holder = { holder: HOLDER };

const types = ['null', 'true', '"10000"', '[10000]', '{}', '{"valueOf":10000}'];
const fractions = ['0.5', '-0.5', '1e999', '-1e999', '10.000001'];

describe('a member of the body for a lock', () => {
  const leases = ['0', '-1', '-10000', '9', '86400001', '1e15', '9007199254740993', ...fractions, ...types];
  refuseEach('invalid-body', 'leaseMs', leases, (value) => [
    [ACQUIRE, text(wish, '10000', value)],
    [RENEW, text({ ...holder, leaseMs: 10_000 }, '10000', value)],
  ]);
  refuseEach(
    'invalid-body',
    'waitMs',
    ['-1', '-10000', '30001', '1e15', '{"toString":1}', ...fractions, ...types],
    (value) => [[ACQUIRE, text(wish, ':1}', `:${value}}`)]],
  );
  refuseEach(
    'malformed-json',
    'a number',
    ['NaN', 'Infinity', '-Infinity', '0x10', '01', 'undefined'],
    (value) => [
      [ACQUIRE, text(wish, '10000', value)],
      [ACQUIRE, text(wish, ':1}', `:${value}}`)],
    ],
  );

  const holders = ['""', '"*"', '"x"', '"a.b.c"', '"{}"', '"a b"', '"\\u0000"', '"\\ud800"', '"☃"'];
  holders.push('null', '5', '[]', '{}', '"__proto__"', `["${HOLDER}"]`, `"${HOLDER} "`, `"${HOLDER}\\n"`);
  holders.push('"q0-3zLcXb9dTt2Vw.1k.0"', '"q0-3zLcXb9dTt2Vw..1000"', '"q0-3zLcXb9dTt2Vw.1k.*"');
  refuseEach('invalid-body', 'the holder', [...holders, `"${'x'.repeat(60_000)}"`], (value) => [
    [RENEW, text(holder, `"${HOLDER}"`, value)],
    [RELEASE, text(holder, `"${HOLDER}"`, value)],
  ]);
});

describe('a fencing token', () => {
  const tokens = [
    '-1',
    '1',
    '999999999999999',
    '9007199254740992',
    '9999999999999999',
    '1e300',
    ...fractions,
  ];
  tokens.push('null', 'true', '"1795176000000000"', '[]', '{}');
  refuseEach('invalid-body', 'the token', tokens, (value) => {
    const body = text({ ...holder, fencingToken: 7 }, ':7}', `:${value}}`);
    return [
      [RENEW, body],
      ['POST /v1/semaphores/x/renew', body],
    ];
  });

  test('of the year 2255 restores nothing', async () => {
    const body = { ...holder, fencingToken: Number.MAX_SAFE_INTEGER };
    const kinds = ['locks', 'semaphores'];
    const rows = kinds.map((kind) => [`POST /v1/${kind}/never-held/renew`, body] as const);
    expect(await others('lease-lost', [[RENEW, body], ...rows])).toEqual([]);
    for (const kind of kinds) expect((await send(`GET /v1/${kind}/never-held`)).status).toBe(200);
  });
});

describe('a body for a lock', () => {
  const deep = text(wish, '10000', '['.repeat(30_000) + ']'.repeat(30_000));
  const large = Buffer.alloc(70_000, ' ');
  refuseEach('invalid-body', 'of depth 30,000 for', [ACQUIRE, RENEW, RELEASE], (target) => [[target, deep]]);
  refuseEach('body-too-large', 'of 70,000 bytes for', [ACQUIRE, RENEW, RELEASE], (target) => [
    [target, large],
  ]);
});

describe('the name of a lock', () => {
  // As they are, and as a client would have to write them.
  const names = ['.', '..', '%2e', '%2E%2e', 'x'.repeat(1_025), 'x'.repeat(10_000)];
  refuseEach('invalid-id', 'the name', names, (name) => [
    [`GET /v1/locks/${name}`],
    [`POST /v1/locks/${name}/acquire`, wish],
    [`POST /v1/locks/${name}/renew`, holder],
    [`POST /v1/locks/${name}/release`, holder],
    [`POST /v1/locks/${name}/force-release`, holder],
  ]);

  refuse('unknown-route', [
    ['that is empty', 'POST /v1/locks//acquire', wish],
    ['of nothing that can be done', 'POST /v1/locks/held/steal', {}],
  ]);
  refuse('malformed-url', [
    ['with half of a surrogate pair', 'GET /v1/locks/%ED%A0%80'],
    ['with a lone %', 'POST /v1/locks/%/acquire', wish],
  ]);
  refuse('method-not-allowed', [
    ['with another method', 'DELETE /v1/locks/held'],
    ['to look at an act', 'GET /v1/locks/held/acquire'],
  ]);

  test.each(['__proto__', 'constructor', '...', '.a', 'a..', 'x'.repeat(256)])('%s is one', async (name) => {
    const { status, json } = await send(`GET /v1/locks/${name}`);
    expect([status, json]).toMatchObject([200, { name, holder: null }]);
  });
});

describe('a lock that is held', () => {
  refuseEach('lease-lost', 'the holder of another lease wants to', ['renew', 'release'], (act) => [
    [`POST /v1/locks/held/${act}`, holder],
    [`POST /v1/locks/free/${act}`, holder],
  ]);

  test.each([{}, { waitMs: 0 }, { waitMs: 1 }, { leaseMs: 10, waitMs: 20 }])('to %j', async (body) => {
    expect(verdictOf(await send(ACQUIRE, body))).toEqual(refused('lock-timeout'));
  });
});

describe('permits', () => {
  const path = '/v1/semaphores/x';
  const TAKE = `POST ${path}/acquire`;
  const wanted = { permits: 7, take: 1, leaseMs: 10_000, waitMs: 1 };
  refuseEach('invalid-body', 'permits', ['0', '-1', '100001', '1e15', ...fractions, ...types], (value) => [
    [TAKE, text(wanted, '7', value)],
    [`PUT ${path}`, text({ permits: 7 }, '7', value)],
  ]);
  refuseEach('invalid-body', 'take', ['0', '-1', '8', '100000', '1e15', ...fractions, ...types], (value) => [
    [TAKE, text(wanted, ':1,', `:${value},`)],
  ]);
  refuseEach('invalid-body', 'leaseMs', ['0', '-1', '9', '86400001', 'null'], (value) => [
    [TAKE, text(wanted, '10000', value)],
    [`POST ${path}/renew`, text({ ...holder, leaseMs: 10_000 }, '10000', value)],
  ]);
  refuseEach('invalid-body', 'waitMs', ['-1', '30001', 'null', '{"toString":1}'], (value) => [
    [TAKE, text(wanted, ':1}', `:${value}}`)],
  ]);
  refuse('invalid-body', [
    ['without their number', TAKE, { take: 1 }],
    ['of no holder', `POST ${path}/release`, { holder: 'x.y.1' }],
    ['taken away from no holder', `POST ${path}/force-release`, { holder: 'x.y.1' }],
    ['taken away from nobody', `POST ${path}/force-release`, {}],
  ]);
  refuse('invalid-id', [
    ['of the name ..', 'POST /v1/semaphores/../acquire', wanted],
    ['of the name ., to look', 'GET /v1/semaphores/%2e'],
    ['of a long name', `PUT ${path}${'x'.repeat(1_024)}`, { permits: 1 }],
  ]);
  refuse('lease-lost', [
    ['that nobody holds', `POST ${path}/renew`, holder],
    ['given back by nobody', `POST ${path}/release`, holder],
  ]);
});

describe('the list of locks', () => {
  const queries = ['limit=0', 'limit=-1', 'limit=201', 'limit=1e1', 'limit=NaN', 'limit=', 'limit=5&limit=6'];
  queries.push('cursor=', 'cursor=a&cursor=b', 'match=*', `cursor=${'x'.repeat(401)}`);
  refuseEach('invalid-query', 'the query', queries, (query) => [[`GET /v1/locks?${query}`]]);
  refuse('invalid-query', [
    ['semaphores listed by a pattern', 'GET /v1/semaphores?match=*'],
    ['rate limits listed by a pattern', 'GET /v1/rate-limiters?match=*'],
  ]);

  const cursors = ['- -1', '- 1 MATCH *'].map((cursor) => Buffer.from(cursor).toString('base64url'));
  refuseEach('invalid-cursor', 'the cursor', ['x', '%00', 'Kg', ...cursors], (cursor) => [
    [`GET /v1/locks?cursor=${cursor}`],
  ]);
  refuse('invalid-cursor', [
    ['semaphores listed from nowhere', 'GET /v1/semaphores?cursor=x'],
    ['rate limits listed from nowhere', 'GET /v1/rate-limiters?cursor=x'],
  ]);
});

test('an operator takes a lock away once', async () => {
  const isReleased = async (): Promise<unknown> => (await send('POST /v1/locks/held/force-release')).json;
  expect([await isReleased(), await isReleased()]).toEqual([{ isReleased: true }, { isReleased: false }]);
  await reopen();
});

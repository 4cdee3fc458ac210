/** A malformed request (address, query, headers, bytes) gets a problem, and changes nothing. */
import { connect } from 'node:net';

import { describe, expect, test } from '@jest/globals';

import { CATALOGUE } from '../../src/problems/catalogue.js';
import type { ProblemSlug } from '../../src/problems/catalogue.js';
import {
  ann,
  api,
  isAnythingChanged,
  LISTING,
  offer,
  order,
  PURCHASE,
  refuse,
  refuseEach,
} from '../fixture/refusals.js';

/** Sends bytes that no client would, and gives the bytes that come back. */
function exchange(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(api.url);
    let answer = '';
    connect(Number(port), hostname)
      .on('data', (chunk) => (answer += chunk.toString()))
      .on('close', () => resolve(answer))
      .on('error', reject)
      .end(bytes);
  });
}

describe('an address', () => {
  const hostile = ['.', '..', '%2e%2E', '%00', 'a%00b', 'a%0d%0ab', '%7Bfrank%7D', '%7D', '{frank}', '%20'];
  hostile.push('%2F', '..%2F..%2Fetc', '%25', '%E2%98%83', '*', '$x', 'a,b');
  hostile.push('x'.repeat(129), 'x'.repeat(5_000), '%41'.repeat(129));

  refuseEach('invalid-id', 'the id', hostile, (id) => [
    [`GET /v1/market/players/${id}`],
    [`PUT /v1/market/players/${id}`, ann],
    [`GET /v1/market/players/${id}/items`],
    [`PUT /v1/market/players/${id}/items/x`],
    [`PUT /v1/market/players/frank/items/${id}`],
    [`GET /v1/market/listings/${id}`],
    [`DELETE /v1/market/listings/${id}?sellerId=frank`],
    [`POST /v1/market/listings/${id}/purchases`, order],
    [`GET /v1/market/sales/${id}`],
    [`GET /v1/tasks/${id}`],
  ]);

  const undecodable = ['%', '%zz', '%ff', '%C3%28', '%ED%A0%80', '%u0041'];
  refuseEach('malformed-url', 'the id', undecodable, (id) => [
    [`GET /v1/tasks/${id}`],
    [`PUT /v1/market/players/${id}`, ann],
  ]);
});

describe('a query', () => {
  refuse('invalid-query', [
    ['a limit of 0', 'GET /v1/market/listings?limit=0'],
    ['a limit of 201', 'GET /v1/market/listings?limit=201'],
    ['a limit that is no number', 'GET /v1/market/listings?limit=x'],
    ['a limit of NaN', 'GET /v1/market/players/frank/items?limit=NaN'],
    ['a limit of 1e1', 'GET /v1/market/listings?limit=1e1'],
    ['a limit of 0x10', 'GET /v1/market/players/frank/items?limit=0x10'],
    ['a limit after a space', 'GET /v1/market/listings?limit=%2010'],
    ['an empty limit', 'GET /v1/market/listings?limit='],
    ['a limit of +5', 'GET /v1/market/listings?limit=%2B5'],
    ['two limits', 'GET /v1/market/listings?limit=1&limit=2'],
    ['an unknown order', 'GET /v1/market/listings?sort=funds'],
    ['an unknown parameter', 'GET /v1/market/listings?admin=1'],
    ['__proto__', 'GET /v1/market/listings?__proto__=1'],
    ['a cursor of nothing', 'GET /v1/market/listings?cursor='],
    ['a cursor of 5,000 characters', `GET /v1/market/listings?cursor=${'a'.repeat(5_000)}`],
    ['no seller', 'DELETE /v1/market/listings/offer'],
    ['a hostile seller', 'DELETE /v1/market/listings/offer?sellerId=%7Dx'],
    ['two sellers', 'DELETE /v1/market/listings/offer?sellerId=bill&sellerId=frank'],
  ]);
  refuse('invalid-cursor', [['a cursor that is none', 'GET /v1/market/listings?cursor=abc']]);
});

describe('headers', () => {
  const keys = ['', ' ', '.', '..', '".."', 'a b', '{x}', '"', '"a', 'a"', 'a,b', '☃', 'x'.repeat(129)];
  refuseEach('invalid-idempotency-key', 'the Idempotency-Key', [...keys, ['a', 'b']], (key) => {
    const given = typeof key === 'string' ? Buffer.from(key).toString('latin1') : key;
    const headers = { 'idempotency-key': given };
    return [
      [PURCHASE, order, headers],
      [LISTING, offer, headers],
    ];
  });
});

describe('a request', () => {
  refuse('unknown-route', [
    ['to nowhere', 'GET /v2/market'],
    ['to a version without a name', 'GET /v'],
    ['to an empty id', 'GET /v1/tasks/'],
    ['out of the folder of the page', 'GET /docs/../../package.json'],
    ['to a part of the page that is missing', 'GET /docs/nothing.js'],
  ]);
  refuse('method-not-allowed', [
    ['with a method that the address lacks', 'PATCH /v1/market/players/frank', ann],
    ['with a body to where none goes', 'POST /v1/market/players/frank', ann],
    ['to delete all listings', 'DELETE /v1/market/listings'],
    ['with an uncommon method', 'PROPFIND /v1/market/listings'],
  ]);

  test.each<[string, ProblemSlug, string]>([
    ['without a host', 'malformed-request', 'GET /health/live HTTP/1.1\r\n\r\n'],
    ['without a host, to nowhere', 'malformed-request', 'GET /nowhere HTTP/1.1\r\n\r\n'],
    [
      'that expects what nobody gives',
      'expectation-failed',
      'POST /v1/market/listings HTTP/1.1\r\nHost: localhost\r\nExpect: banana\r\nContent-Length: 0\r\n\r\n',
    ],
    [
      'for a tunnel',
      'method-not-allowed',
      'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n',
    ],
    ['that is no HTTP', 'malformed-request', 'hello\r\n\r\n'],
    [
      'with two lengths',
      'malformed-request',
      'POST /v1/market/listings HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'with a line break in a header',
      'malformed-request',
      'GET /health/live HTTP/1.1\r\nHost: localhost\r\nX-A: a\nb\r\n\r\n',
    ],
    [
      'with a head of 20,000 bytes',
      'headers-too-large',
      `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    ],
  ])('%s', async (_, slug, bytes) => {
    const [head = '', body = ''] = (await exchange(bytes)).split('\r\n\r\n');
    const { status, title } = CATALOGUE[slug];
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(head).toContain('content-type: application/problem+json');
    expect(JSON.parse(body)).toMatchObject({
      type: `https://mortise.dev/problems/${slug}`,
      title,
      status,
      instance: expect.any(String),
    });
    expect(await isAnythingChanged()).toBe(false);
  });
});

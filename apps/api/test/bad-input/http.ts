/** A malformed request (address, query, headers, bytes) gets a problem, and changes nothing. */
import { connect } from 'node:net';

import { describe, expect, test } from '@jest/globals';

import { CATALOGUE } from '../../src/problems/catalogue.js';
import type { ProblemSlug } from '../../src/problems/catalogue.js';
import type { Sent } from '../fixture/api.js';
import { ann, listing, offer, order, player, purchase, refused, row } from '../fixture/refusals.js';
import type { Shop } from '../fixture/refusals.js';

export function refuseInHttp(shop: Shop): void {
  /** Sends bytes that no client would, and gives the bytes that come back. */
  function exchange(bytes: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = new URL(shop.url());
      let answer = '';
      connect(Number(port), hostname)
        .on('data', (chunk) => (answer += chunk.toString()))
        .on('close', () => resolve(answer))
        .on('error', reject)
        .end(bytes);
    });
  }

  describe('an id in the address', () => {
    const hostile = [
      '.',
      '..',
      '%2e%2E',
      '%00',
      'a%00b',
      'a%0d%0ab',
      '%7Bfrank%7D',
      '%7D',
      '{frank}',
      '%20',
      '%2F',
      '..%2F..%2Fetc',
      '%25',
      '%E2%98%83',
      '*',
      '$x',
      'a,b',
      'x'.repeat(129),
      'x'.repeat(5_000),
      '%41'.repeat(129),
    ];

    test.each(hostile.map((id) => [id.slice(0, 40), id]))('%s', async (_, id) => {
      const routes: Sent[] = [
        row(`GET /v1/market/players/${id}`),
        row(`PUT /v1/market/players/${id}`, ann),
        row(`GET /v1/market/players/${id}/items`),
        row(`PUT /v1/market/players/${id}/items/x`),
        row(`PUT /v1/market/players/frank/items/${id}`),
        row(`GET /v1/market/listings/${id}`),
        row(`DELETE /v1/market/listings/${id}?sellerId=frank`),
        row(`POST /v1/market/listings/${id}/purchases`, order),
        row(`GET /v1/market/sales/${id}`),
        row(`GET /v1/tasks/${id}`),
        row(`GET /v1/queues/${id}`),
      ];
      expect(await shop.others('invalid-id', ...routes)).toEqual([]);
    });

    test.each(['%', '%zz', '%ff', '%C3%28', '%ED%A0%80', '%u0041'])('%s cannot be decoded', async (id) => {
      expect(
        await shop.others('malformed-url', row(`GET /v1/tasks/${id}`), {
          ...player,
          path: `/v1/market/players/${id}`,
          body: ann,
        }),
      ).toEqual([]);
    });
  });

  describe('a query', () => {
    test.each<[string, ProblemSlug, Sent]>([
      ['with a limit of 0', 'invalid-query', row('GET /v1/market/listings?limit=0')],
      ['with a limit of 201', 'invalid-query', row('GET /v1/market/listings?limit=201')],
      ['with a limit that is no number', 'invalid-query', row('GET /v1/market/listings?limit=x')],
      ['with a limit of NaN', 'invalid-query', row('GET /v1/market/players/frank/items?limit=NaN')],
      ['with a limit of 1e1', 'invalid-query', row('GET /v1/market/listings?limit=1e1')],
      ['with a limit of 0x10', 'invalid-query', row('GET /v1/market/players/frank/items?limit=0x10')],
      ['with a limit after a space', 'invalid-query', row('GET /v1/market/listings?limit=%2010')],
      ['with an empty limit', 'invalid-query', row('GET /v1/market/listings?limit=')],
      ['with a limit of +5', 'invalid-query', row('GET /v1/market/listings?limit=%2B5')],
      ['with two limits', 'invalid-query', row('GET /v1/market/listings?limit=1&limit=2')],
      ['with an unknown order', 'invalid-query', row('GET /v1/market/listings?sort=funds')],
      ['with an unknown parameter', 'invalid-query', row('GET /v1/market/listings?admin=1')],
      ['with __proto__', 'invalid-query', row('GET /v1/market/listings?__proto__=1')],
      ['with a cursor of nothing', 'invalid-query', row('GET /v1/market/listings?cursor=')],
      ['with a cursor that is none', 'invalid-cursor', row('GET /v1/market/listings?cursor=abc')],
      [
        'with a cursor of 5,000 characters',
        'invalid-query',
        row(`GET /v1/market/listings?cursor=${'a'.repeat(5_000)}`),
      ],
      ['without a seller', 'invalid-query', row('DELETE /v1/market/listings/offer')],
      ['with a hostile seller', 'invalid-query', row('DELETE /v1/market/listings/offer?sellerId=%7Dx')],
      [
        'with two sellers',
        'invalid-query',
        row('DELETE /v1/market/listings/offer?sellerId=bill&sellerId=frank'),
      ],
    ])('%s', async (_, slug, sent) => {
      expect(await shop.others(slug, sent)).toEqual([]);
    });
  });

  describe('an Idempotency-Key', () => {
    test.each(['', ' ', '.', '..', '".."', 'a b', '{x}', '"', '"a', 'a"', 'a,b', '☃', 'x'.repeat(129)])(
      '%j',
      async (key) => {
        const headers = { 'idempotency-key': Buffer.from(key).toString('latin1') };
        expect(
          await shop.others(
            'invalid-idempotency-key',
            { ...purchase, headers, body: order },
            { ...listing, headers, body: offer },
          ),
        ).toEqual([]);
      },
    );

    test('twice', async () => {
      const headers = { 'idempotency-key': ['a', 'b'] };
      expect(await shop.others('invalid-idempotency-key', { ...purchase, headers, body: order })).toEqual([]);
    });
  });

  describe('a request', () => {
    test.each<[string, ProblemSlug, Sent]>([
      ['to nowhere', 'unknown-route', row('GET /v2/market')],
      ['to a version without a name', 'unknown-route', row('GET /v')],
      ['to an empty id', 'unknown-route', row('GET /v1/tasks/')],
      ['out of the folder of the page', 'unknown-route', row('GET /docs/../../package.json')],
      ['to a part of the page that is missing', 'unknown-route', row('GET /docs/nothing.js')],
      [
        'with a method that the address lacks',
        'method-not-allowed',
        row('PATCH /v1/market/players/frank', ann),
      ],
      ['with a body to where none goes', 'method-not-allowed', row('POST /v1/market/players/frank', ann)],
      ['to delete all listings', 'method-not-allowed', row('DELETE /v1/market/listings')],
      ['with an uncommon method', 'method-not-allowed', row('PROPFIND /v1/market/listings')],
    ])('%s', async (_, slug, sent) => {
      const answer = await shop.send(sent);
      expect(await shop.judge(answer)).toEqual(refused(slug));
      expect(answer.headers.allow === undefined).toBe(slug === 'unknown-route');
    });

    test.each<[string, ProblemSlug, string]>([
      ['without a host', 'malformed-request', 'GET /health/live HTTP/1.1\r\n\r\n'],
      ['without a host, to nowhere', 'malformed-request', 'GET /nowhere HTTP/1.1\r\n\r\n'],
      [
        'that expects what nobody gives',
        'expectation-failed',
        'POST /v1/market/listings HTTP/1.1\r\nHost: x\r\nExpect: banana\r\nContent-Length: 0\r\n\r\n',
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
        'POST /v1/market/listings HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      ],
      [
        'with a line break in a header',
        'malformed-request',
        'GET /health/live HTTP/1.1\r\nHost: x\r\nX-A: a\nb\r\n\r\n',
      ],
      [
        'with a head of 20,000 bytes',
        'headers-too-large',
        `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
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
      expect(await shop.isAnythingChanged()).toBe(false);
    });
  });
}

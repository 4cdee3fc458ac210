/** A wrong path, query or body gets a problem of a stable type, and changes nothing. */
import { describe, expect, test } from '@jest/globals';

import type { ProblemSlug } from '../../src/problems/catalogue.js';
import type { Sent } from '../fixture/api.js';
import { ann, listing, offer, order, player, purchase, refused, text, row } from '../fixture/refusals.js';
import type { Shop } from '../fixture/refusals.js';

export function refuseInMarket(shop: Shop): void {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  const manyKeys = (count: number): string =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [n.toString(36), 0])));

  /** The same by lock, if it is a trade. */
  function byLock(sent: Sent): Sent {
    if (sent.method === 'DELETE') return { ...sent, path: `${sent.path}&strategy=lock` };
    if (sent.method !== 'POST') return sent;
    return { ...sent, body: { ...(sent.body as object), strategy: 'lock' } };
  }

  describe('the market refuses', () => {
    test.each<[string, ProblemSlug, Sent]>([
      ['an unknown buyer', 'unknown-player', { ...purchase, body: { ...order, buyerId: 'nobody' } }],
      ['an unknown seller', 'unknown-player', { ...listing, body: { ...offer, sellerId: 'nobody' } }],
      ['an item for an unknown player', 'unknown-player', row('PUT /v1/market/players/nobody/items/x')],
      ['to read an unknown player', 'unknown-player', row('GET /v1/market/players/nobody')],
      [
        'to list the items of an unknown player',
        'unknown-player',
        row('GET /v1/market/players/nobody/items'),
      ],
      ['an unknown item', 'unknown-item', { ...listing, body: { ...offer, itemId: 'nothing' } }],
      [
        'an unknown listing',
        'unknown-listing',
        { ...purchase, path: '/v1/market/listings/x/purchases', body: order },
      ],
      ['to read an unknown listing', 'unknown-listing', row('GET /v1/market/listings/x')],
      [
        'to withdraw an unknown listing',
        'unknown-listing',
        row('DELETE /v1/market/listings/x?sellerId=bill'),
      ],
      ['to read an unknown sale', 'unknown-sale', row('GET /v1/market/sales/x')],
      ['to read an unknown task', 'unknown-task', row('GET /v1/tasks/x')],
      ['to read an unknown queue', 'unknown-queue', row('GET /v1/queues/x')],
      ['a wrong price', 'price-changed', { ...purchase, body: { ...order, expectedPrice: 96 } }],
      ['too little money', 'insufficient-funds', { ...purchase, body: { ...order, buyerId: 'poor' } }],
      ['the own listing', 'own-listing', { ...purchase, body: { ...order, buyerId: 'frank' } }],
      [
        'a seller who would be too rich',
        'funds-overflow',
        { ...purchase, path: '/v1/market/listings/crown/purchases', body: { ...order, expectedPrice: 1 } },
      ],
      [
        'a listing that is sold',
        'already-sold',
        { ...purchase, path: '/v1/market/listings/ring/purchases', body: { ...order, expectedPrice: 1 } },
      ],
      ['to withdraw what is sold', 'already-sold', row('DELETE /v1/market/listings/ring?sellerId=frank')],
      ["to withdraw another's listing", 'not-seller', row('DELETE /v1/market/listings/offer?sellerId=bill')],
      ["to sell another's item", 'not-owner', { ...listing, body: { ...offer, sellerId: 'bill' } }],
      ['to sell an item twice', 'item-listed', { ...listing, body: { ...offer, itemId: 'sword' } }],
      ["to give another's item", 'item-taken', row('PUT /v1/market/players/bill/items/shield')],
      ['to give an item that is listed', 'item-taken', row('PUT /v1/market/players/bill/items/sword')],
      [
        'a key for another purchase',
        'request-reused',
        { ...purchase, headers: { 'idempotency-key': 'bought' }, body: order },
      ],
      [
        'a key for another offer',
        'request-reused',
        { ...listing, headers: { 'idempotency-key': 'offer' }, body: offer },
      ],
    ])('%s', async (_, slug, sent) => {
      expect(await shop.others(slug, sent, byLock(sent))).toEqual([]);
    });
  });

  describe('a body', () => {
    const deepObject = '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000);
    const large = Buffer.alloc(70_000, ' ');

    test.each<[string, ProblemSlug, Sent]>([
      ['that is missing', 'malformed-json', player],
      ['that is empty', 'malformed-json', { ...player, body: '' }],
      ['that is cut off', 'malformed-json', { ...player, body: '{"name":"A' }],
      ['that is no JSON', 'malformed-json', { ...listing, body: 'sellerId=frank' }],
      ['with NaN', 'malformed-json', { ...listing, body: text(offer, '5', 'NaN') }],
      ['with Infinity', 'malformed-json', { ...listing, body: text(offer, '5', 'Infinity') }],
      ['with a comment', 'malformed-json', { ...listing, body: text(offer, '5', '5/**/') }],
      ['that is not UTF-8', 'malformed-json', { ...player, body: Buffer.from('{"name":"\xff"}', 'latin1') }],
      ['with a byte of NUL', 'malformed-json', { ...player, body: text(ann, 'Ann', 'A\u0000') }],
      ['that is null', 'invalid-body', { ...player, body: 'null' }],
      ['that is a list', 'invalid-body', { ...player, body: JSON.stringify([ann]) }],
      ['that is a text', 'invalid-body', { ...player, body: '"ann"' }],
      ['that is a number', 'invalid-body', { ...listing, body: '5' }],
      ['without members', 'invalid-body', { ...purchase, body: '{}' }],
      ['with an unknown member', 'invalid-body', { ...player, body: { ...ann, isAdmin: true } }],
      ['with an id of its own', 'invalid-body', { ...listing, body: { ...offer, id: 'mine' } }],
      [
        'with the same unknown member in a purchase',
        'invalid-body',
        { ...purchase, body: { ...order, price: 1 } },
      ],
      [
        'with __proto__',
        'invalid-body',
        { ...player, body: text(ann, '{', '{"__proto__":{"isAdmin":true},') },
      ],
      [
        'with __proto__ in disguise',
        'invalid-body',
        { ...player, body: text(ann, '{', '{"__pr\\u006fto__":1,') },
      ],
      [
        'with constructor.prototype',
        'invalid-body',
        { ...player, body: text(ann, '{', '{"constructor":{"prototype":{"x":1}},') },
      ],
      [
        'with __proto__ for a price',
        'invalid-body',
        { ...listing, body: text(offer, '5', '{"__proto__":5}') },
      ],
      ['of depth 30,000 (lists)', 'invalid-body', { ...player, body: nested(30_000) }],
      ['of depth 10,000 (objects)', 'invalid-body', { ...player, body: deepObject }],
      ['with depth 65 inside', 'invalid-body', { ...player, body: text(ann, '"Ann"', nested(65)) }],
      [
        'with 7,000 levels for a price',
        'invalid-body',
        { ...listing, body: text(offer, '5', nested(7_000)) },
      ],
      ['with 10,000 keys', 'body-too-large', { ...player, body: manyKeys(10_000) }],
      ['with as many keys as fit', 'invalid-body', { ...player, body: manyKeys(8_000) }],
      ['of 70,000 bytes', 'body-too-large', { ...player, body: large }],
      [
        'of 70,000 bytes in chunks, without a length',
        'body-too-large',
        { ...player, body: [large.subarray(0, 40_000), large.subarray(40_000)] },
      ],
      ['of 65,537 bytes', 'body-too-large', { ...player, body: JSON.stringify(ann).padEnd(65_537) }],
      [
        'with a length that is too long',
        'body-too-large',
        { ...player, headers: { 'content-length': '9999999' }, body: '{}' },
      ],
      [
        'as text/plain',
        'unsupported-media-type',
        { ...player, headers: { 'content-type': 'text/plain' }, body: JSON.stringify(ann) },
      ],
      [
        'as a form',
        'unsupported-media-type',
        { ...player, headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'name=x' },
      ],
      [
        'as multipart',
        'unsupported-media-type',
        { ...player, headers: { 'content-type': 'multipart/form-data; boundary=x' }, body: '--x--' },
      ],
      [
        'as XML',
        'unsupported-media-type',
        { ...listing, headers: { 'content-type': 'application/xml' }, body: '<a/>' },
      ],
      [
        'as nothing that exists',
        'unsupported-media-type',
        { ...listing, headers: { 'content-type': 'nonsense' }, body: '{}' },
      ],
      [
        'without a type',
        'unsupported-media-type',
        { ...listing, headers: { 'content-type': '' }, body: '{}' },
      ],
    ])('%s', async (_, slug, sent) => {
      expect(await shop.others(slug, sent)).toEqual([]);
    });

    test('of 65,536 bytes and of depth 64 is read', async () => {
      const full = JSON.stringify({ ...ann, isAdmin: true }).padEnd(65_536);
      expect(await shop.others('invalid-body', { ...player, body: full })).toEqual([]);
      const answer = await shop.send({ ...player, body: text(ann, '"Ann"', nested(63)) });
      expect(await shop.judge(answer)).toEqual(refused('invalid-body'));
      expect(answer.json.errors).toEqual([
        { pointer: '/name', message: expect.stringContaining('expected string') },
      ]);
    });
  });

  describe('a member', () => {
    const prices = [
      '0',
      '-1',
      '0.5',
      '-0.0',
      '1e999',
      '-1e999',
      '1e-7',
      '1000000000001',
      '9007199254740993',
      '1e15',
    ];
    const types = ['null', 'true', '"5"', '[5]', '{}', '{"valueOf":5}'];

    test.each([...prices, ...types])('price: %s', async (value) => {
      expect(
        await shop.others(
          'invalid-body',
          { ...listing, body: text(offer, '5', value) },
          { ...purchase, body: text(order, '97', value) },
        ),
      ).toEqual([]);
    });

    test.each(['-1', '0.5', '1e999', '1000000000001', ...types])('funds: %s', async (value) => {
      expect(await shop.others('invalid-body', { ...player, body: text(ann, ':1}', `:${value}}`) })).toEqual(
        [],
      );
    });

    test.each(['null', '1', '""', '"Lock"', '"lock "', '["lock"]', '{"lock":1}'])(
      'strategy: %s',
      async (value) => {
        const body = text(order, '}', `,"strategy":${value}}`);
        expect(await shop.others('invalid-body', { ...purchase, body })).toEqual([]);
        const path = `/v1/market/listings/offer?sellerId=frank&strategy=${encodeURIComponent(value)}`;
        expect(await shop.others('invalid-query', { method: 'DELETE', path })).toEqual([]);
      },
    );

    const names = [
      '""',
      '"a\\nb"',
      '"a\\r\\nBcc: x@example.com"',
      '"\\u0000"',
      '"\\ud800"',
      '"a\\udc00b"',
      '"\\u2028"',
      '"a\\u2029b"',
      ...['061c', '200e', '200f', '202a', '202e', '2066', '2069'].map((code) => `"a\\u${code}b"`),
      '5',
      'null',
      '[]',
      '{}',
    ];

    test.each([...names, `"${'x'.repeat(101)}"`])('name: %s', async (value) => {
      expect(await shop.others('invalid-body', { ...player, body: text(ann, '"Ann"', value) })).toEqual([]);
    });

    const addresses = [
      '',
      'ann',
      'ann@example.com\r\nBcc: evil@example.com',
      'ann@example.com\r\nRCPT TO:<evil@example.com>',
      'ann@example.com\n',
      'ann@example.com, evil@example.com',
      'ann@example.com,evil@example.com',
      'ann@example.com;evil@example.com',
      'all: ann@example.com, evil@example.com;',
      'Ann <ann@example.com>',
      '"a b"@example.com',
      'ann@[127.0.0.1]',
      'ann@localhost',
      'ann\u0000@example.com',
      `${'a'.repeat(250)}@example.com`,
      'a@'.repeat(20_000),
    ];

    test.each(addresses.map((value) => [value.slice(0, 60), value]))('email: %j', async (_, email) => {
      expect(await shop.others('invalid-body', { ...player, body: { ...ann, email } })).toEqual([]);
    });

    test.each([
      ['email: a list', ['ann@example.com']],
      ['email: an object', { address: 'ann@example.com' }],
    ])('%s', async (_, email) => {
      expect(await shop.others('invalid-body', { ...player, body: { ...ann, email } })).toEqual([]);
    });

    const ids = [
      '',
      ' ',
      'a b',
      '{frank}',
      '}x',
      '%00',
      'a\u0000',
      'a\r\nb',
      'frank/..',
      '.',
      '..',
      '☃',
      '\\ud800',
      'x'.repeat(129),
    ];

    test.each(ids)('an id: %j', async (id) => {
      const raw = JSON.stringify(id).replace('\\\\u', '\\u');
      for (const [sent, body, find] of [
        [listing, offer, '"frank"'],
        [listing, offer, '"shield"'],
        [purchase, order, '"bill"'],
      ] as const) {
        expect(await shop.others('invalid-body', { ...sent, body: text(body, find, raw) })).toEqual([]);
      }
    });
  });

  test('two buyers at once: one sale, one refusal', async () => {
    const [first, second] = await Promise.all([
      shop.send({ ...purchase, body: order }),
      shop.send({ ...purchase, body: { ...order, buyerId: 'rich' } }),
    ]);
    expect([first.status, second.status].toSorted((a, b) => a - b)).toEqual([201, 409]);
    const lost = first.status === 409 ? first : second;
    expect(lost.json.type).toBe('https://mortise.dev/problems/already-sold');
  });
}

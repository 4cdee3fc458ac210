/** A wrong path, query or body gets a problem of a stable type, and changes nothing. */
import { describe, expect, test } from '@jest/globals';

import type { ProblemSlug } from '../../src/problems/catalogue.js';
import type { Row } from '../fixture/api.js';
import {
  ann,
  LISTING,
  offer,
  order,
  others,
  PLAYER,
  PURCHASE,
  refuse,
  refused,
  refuseEach,
  reopen,
  send,
  text,
  verdictOf,
} from '../fixture/refusals.js';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const manyKeys = (count: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [n.toString(36), 0])));

describe('the market refuses', () => {
  const CROWN = 'POST /v1/market/listings/crown/purchases';
  const RING = 'POST /v1/market/listings/ring/purchases';

  /** The same by lock, if it is a trade. */
  function byLock([target, body, headers]: Row): Row {
    if (target.startsWith('DELETE')) return [`${target}&strategy=lock`];
    if (!target.startsWith('POST')) return [target, body, headers];
    return [target, { ...(body as object), strategy: 'lock' }, headers];
  }

  test.each<[what: string, slug: ProblemSlug, ...row: Row]>([
    ['an unknown buyer', 'unknown-player', PURCHASE, { ...order, buyerId: 'nobody' }],
    ['an unknown seller', 'unknown-player', LISTING, { ...offer, sellerId: 'nobody' }],
    ['an item for an unknown player', 'unknown-player', 'PUT /v1/market/players/nobody/items/x'],
    ['to read an unknown player', 'unknown-player', 'GET /v1/market/players/nobody'],
    ['to list the items of an unknown player', 'unknown-player', 'GET /v1/market/players/nobody/items'],
    ['an unknown item', 'unknown-item', LISTING, { ...offer, itemId: 'nothing' }],
    ['an unknown listing', 'unknown-listing', 'POST /v1/market/listings/x/purchases', order],
    ['to read an unknown listing', 'unknown-listing', 'GET /v1/market/listings/x'],
    ['to withdraw an unknown listing', 'unknown-listing', 'DELETE /v1/market/listings/x?sellerId=bill'],
    ['to read an unknown sale', 'unknown-sale', 'GET /v1/market/sales/x'],
    ['to read an unknown task', 'unknown-task', 'GET /v1/tasks/x'],
    ['to read an unknown queue', 'unknown-queue', 'GET /v1/queues/x'],
    ['a wrong price', 'price-changed', PURCHASE, { ...order, expectedPrice: 96 }],
    ['too little money', 'insufficient-funds', PURCHASE, { ...order, buyerId: 'poor' }],
    ['the own listing', 'own-listing', PURCHASE, { ...order, buyerId: 'frank' }],
    ['a seller who would be too rich', 'funds-overflow', CROWN, { ...order, expectedPrice: 1 }],
    ['a listing that is sold', 'already-sold', RING, { ...order, expectedPrice: 1 }],
    ['to withdraw what is sold', 'already-sold', 'DELETE /v1/market/listings/ring?sellerId=frank'],
    ["to withdraw another's listing", 'not-seller', 'DELETE /v1/market/listings/offer?sellerId=bill'],
    ["to sell another's item", 'not-owner', LISTING, { ...offer, sellerId: 'bill' }],
    ['to sell an item twice', 'item-listed', LISTING, { ...offer, itemId: 'sword' }],
    ["to give another's item", 'item-taken', 'PUT /v1/market/players/bill/items/shield'],
    ['to give an item that is listed', 'item-taken', 'PUT /v1/market/players/bill/items/sword'],
    ['a key for another purchase', 'request-reused', PURCHASE, order, { 'idempotency-key': 'bought' }],
    ['a key for another offer', 'request-reused', LISTING, offer, { 'idempotency-key': 'offer' }],
  ])('%s', async (_, slug, ...row) => {
    expect(await others(slug, [row, byLock(row)])).toEqual([]);
  });
});

describe('a body', () => {
  const deepObject = '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000);
  const large = Buffer.alloc(70_000, ' ');

  refuse('malformed-json', [
    ['that is missing', PLAYER],
    ['that is empty', PLAYER, ''],
    ['that is cut off', PLAYER, '{"name":"A'],
    ['that is no JSON', LISTING, 'sellerId=frank'],
    ['with NaN', LISTING, text(offer, '5', 'NaN')],
    ['with Infinity', LISTING, text(offer, '5', 'Infinity')],
    ['with a comment', LISTING, text(offer, '5', '5/**/')],
    ['that is not UTF-8', PLAYER, Buffer.from('{"name":"\xff"}', 'latin1')],
    ['with a byte of NUL', PLAYER, text(ann, 'Ann', 'A\u0000')],
  ]);
  refuse('invalid-body', [
    ['that is null', PLAYER, 'null'],
    ['that is a list', PLAYER, JSON.stringify([ann])],
    ['that is a text', PLAYER, '"ann"'],
    ['that is a number', LISTING, '5'],
    ['without members', PURCHASE, '{}'],
    ['with an unknown member', PLAYER, { ...ann, isAdmin: true }],
    ['with an id of its own', LISTING, { ...offer, id: 'mine' }],
    ['with the same unknown member in a purchase', PURCHASE, { ...order, price: 1 }],
    ['with __proto__', PLAYER, text(ann, '{', '{"__proto__":{"isAdmin":true},')],
    ['with __proto__ in disguise', PLAYER, text(ann, '{', '{"__pr\\u006fto__":1,')],
    ['with constructor.prototype', PLAYER, text(ann, '{', '{"constructor":{"prototype":{"x":1}},')],
    ['with __proto__ for a price', LISTING, text(offer, '5', '{"__proto__":5}')],
    ['of depth 30,000 (lists)', PLAYER, nested(30_000)],
    ['of depth 10,000 (objects)', PLAYER, deepObject],
    ['with depth 65 inside', PLAYER, text(ann, '"Ann"', nested(65))],
    ['with 7,000 levels for a price', LISTING, text(offer, '5', nested(7_000))],
    ['with as many keys as fit', PLAYER, manyKeys(8_000)],
    ['of 65,536 bytes', PLAYER, JSON.stringify({ ...ann, isAdmin: true }).padEnd(65_536)],
  ]);
  refuse('body-too-large', [
    ['with 10,000 keys', PLAYER, manyKeys(10_000)],
    ['of 70,000 bytes', PLAYER, large],
    [
      'of 70,000 bytes in chunks, without a length',
      PLAYER,
      [large.subarray(0, 40_000), large.subarray(40_000)],
    ],
    ['of 65,537 bytes', PLAYER, JSON.stringify(ann).padEnd(65_537)],
    ['with a length that is too long', PLAYER, '{}', { 'content-length': '9999999' }],
  ]);
  refuse('unsupported-media-type', [
    ['as text/plain', PLAYER, JSON.stringify(ann), { 'content-type': 'text/plain' }],
    ['as a form', PLAYER, 'name=x', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['as multipart', PLAYER, '--x--', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['as XML', LISTING, '<a/>', { 'content-type': 'application/xml' }],
    ['as nothing that exists', LISTING, '{}', { 'content-type': 'nonsense' }],
    ['without a type', LISTING, '{}', { 'content-type': '' }],
  ]);

  test('of depth 64 is read', async () => {
    const answer = await send(PLAYER, text(ann, '"Ann"', nested(63)));
    expect(verdictOf(answer)).toEqual(refused('invalid-body'));
    const message = expect.stringContaining('expected string');
    expect(answer.json.errors).toEqual([{ pointer: '/name', message }]);
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
  refuseEach('invalid-body', 'price', [...prices, ...types], (value) => [
    [LISTING, text(offer, '5', value)],
    [PURCHASE, text(order, '97', value)],
  ]);
  refuseEach('invalid-body', 'funds', ['-1', '0.5', '1e999', '1000000000001', ...types], (value) => [
    [PLAYER, text(ann, ':1}', `:${value}}`)],
  ]);

  const strategies = ['null', '1', '""', '"Lock"', '"lock "', '["lock"]', '{"lock":1}'];
  refuseEach('invalid-body', 'strategy', strategies, (value) => [
    [PURCHASE, text(order, '}', `,"strategy":${value}}`)],
  ]);
  refuseEach('invalid-query', 'strategy', strategies, (value) => [
    [`DELETE /v1/market/listings/offer?sellerId=frank&strategy=${encodeURIComponent(value)}`],
  ]);

  const names = ['""', '"a\\nb"', '"a\\r\\nBcc: x@example.com"', '"\\u0000"', '"\\ud800"', '"a\\udc00b"'];
  names.push('"\\u2028"', '"a\\u2029b"', '5', 'null', '[]', '{}', `"${'x'.repeat(101)}"`);
  for (const code of ['061c', '200e', '200f', '202a', '202e', '2066', '2069']) names.push(`"a\\u${code}b"`);
  refuseEach('invalid-body', 'name', names, (value) => [[PLAYER, text(ann, '"Ann"', value)]]);

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
    ['ann@example.com'],
    { address: 'ann@example.com' },
  ];
  refuseEach('invalid-body', 'email', addresses, (email) => [[PLAYER, { ...ann, email }]]);

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
  ];
  refuseEach('invalid-body', 'an id', [...ids, 'x'.repeat(129)], (id) => {
    const raw = JSON.stringify(id).replace('\\\\u', '\\u');
    return [
      [LISTING, text(offer, '"frank"', raw)],
      [LISTING, text(offer, '"shield"', raw)],
      [PURCHASE, text(order, '"bill"', raw)],
    ];
  });
});

test('two buyers at once: one sale, one refusal', async () => {
  const [first, second] = await Promise.all([
    send(PURCHASE, order),
    send(PURCHASE, { ...order, buyerId: 'rich' }),
  ]);
  expect([first.status, second.status].toSorted((a, b) => a - b)).toEqual([201, 409]);
  const lost = first.status === 409 ? first : second;
  expect(lost.json.type).toBe('https://mortise.dev/problems/already-sold');
  await reopen();
});

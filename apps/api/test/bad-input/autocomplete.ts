/** A wrong request for contacts and address books gets a problem of a stable type, and changes nothing. */
import { describe, expect, test } from '@jest/globals';

import type { Row } from '../fixture/api.js';
import {
  HOSTILE_IDS,
  isAnythingChanged,
  others,
  refuse,
  refuseEach,
  send,
  text,
} from '../fixture/refusals.js';

const BOOK = '/v1/address-books/elves';
const PUT = `PUT ${BOOK}/names/ann?by=frank`;
const BATCH = `POST ${BOOK}/name-batches?by=frank`;
const BOOST = `POST ${BOOK}/names/ann/boost?by=frank`;
const name = { display: 'Ann', aliases: ['An'], score: 1, payload: 1 };
const batch = { names: [{ name: 'ann' }] };

const coded = (value: string): string => encodeURIComponent(value).replaceAll('.', '%2e');

describe('a name of a book', () => {
  refuse('body-too-large', [
    ['a name', PUT, { ...name, extra: 'x'.repeat(65_536) }],
    ['a batch', BATCH, { ...batch, extra: 'x'.repeat(1_048_576) }],
    ['a boost', BOOST, { amount: 1, extra: 'x'.repeat(65_536) }],
  ]);

  const noNumbers = [
    'null',
    '"1"',
    '1e999',
    '-1e999',
    '1000000000001',
    '-1000000000001',
    '[0]',
    '{}',
    'true',
  ];
  refuseEach('invalid-body', 'a score or an amount of', noNumbers, (number) => [
    [PUT, text({ score: '?' }, '"?"', number)],
    [BATCH, text({ names: [{ name: 'ann', score: '?' }] }, '"?"', number)],
    [BOOST, text({ amount: '?' }, '"?"', number)],
  ]);
  refuseEach('malformed-json', 'a score of', ['NaN', 'Infinity', '-Infinity', '0x10', '01'], (number) => [
    [PUT, text({ score: '?' }, '"?"', number)],
  ]);

  const displays = ['""', '5', 'null', '["a"]', `"${'é'.repeat(128)}x"`, '"  \u3000"', '"\u0301\u200d"'];
  displays.push('"a\\u0000"', '"a\\nb"', '"a\\u2029b"', '"a\\u202eb"', '"\\ud83d"', '"a\\ude00b"');
  refuseEach('invalid-body', 'a display form or an alias', displays, (given) => [
    [PUT, text({ display: '?' }, '"?"', given)],
    [PUT, text({ aliases: ['?'] }, '"?"', given)],
    [BATCH, text({ names: [{ name: 'ann', display: '?' }] }, '"?"', given)],
    [BATCH, text({ names: [{ name: 'ok' }, { name: 'ann', aliases: ['?'] }] }, '"?"', given)],
  ]);

  test('too much of anything', async () => {
    const wrong: Row[] = [
      [PUT, { aliases: Array.from({ length: 17 }, (_, n) => `a${n}`) }],
      [PUT, { payload: 'x'.repeat(2_047) }],
      [PUT, { payload: { text: 'é'.repeat(1_024) } }],
      [BATCH, { names: Array.from({ length: 1_001 }, (_, n) => ({ name: `n-${n}` })) }],
      [BATCH, { names: [] }],
      [BATCH, { names: [{ name: 'ann' }, { name: 'ann' }] }],
      [BATCH, { names: [{ name: 'ann', extra: 1 }] }],
      [BATCH, { names: [{}] }],
    ];
    expect(await others('invalid-body', wrong)).toEqual([]);
  });

  refuseEach('invalid-body', 'the name', HOSTILE_IDS, (hostile) => [[BATCH, { names: [{ name: hostile }] }]]);
  refuseEach('invalid-query', 'the requester', HOSTILE_IDS, (by) => [
    [`GET ${BOOK}?by=${coded(by)}`],
    [`GET ${BOOK}/completions?by=${coded(by)}`],
    [`GET ${BOOK}/names/ann?by=${coded(by)}`],
    [PUT.replace('by=frank', `by=${coded(by)}`), name],
    [BATCH.replace('by=frank', `by=${coded(by)}`), batch],
    [BOOST.replace('by=frank', `by=${coded(by)}`), { amount: 1 }],
  ]);
});

describe('a contact', () => {
  const touched = [[], {}, [''], ['\0'], ['.'], [7], Array.from({ length: 1_001 }, () => 'bill')];
  refuseEach('invalid-body', 'of those touched', [...touched, null], (contacts) => [
    ['POST /v1/contacts/ann', { contacts }],
  ]);

  const contacts = ['\0', 'a\nb', 'a\u202eb', '..', '.', 'é'.repeat(513), '\u2028'];
  refuseEach('invalid-id', 'the contact', contacts, (contact) => [
    [`PUT /v1/contacts/ann/${coded(contact)}`],
    [`DELETE /v1/contacts/ann/${coded(contact)}`],
  ]);
  refuseEach('malformed-url', 'the contact', ['%ED%A0%80', '%FF', '%C0%80', '%'], (contact) => [
    [`PUT /v1/contacts/ann/${contact}`],
    [`DELETE /v1/contacts/ann/${contact}`],
  ]);
});

const queries = [
  'GET /v1/contacts/ann?limit=0',
  'GET /v1/contacts/ann?limit=101',
  'GET /v1/contacts/ann?limit=1000000000',
  'GET /v1/contacts/ann?limit=-1',
  'GET /v1/contacts/ann?limit=1e1',
  'GET /v1/contacts/ann?limit=NaN',
  'GET /v1/contacts/ann?limit=1&limit=2',
  'GET /v1/contacts/ann?prefix=a&prefix=b',
  'GET /v1/contacts/ann?cursor=x',
  'GET /v1/address-books/elves',
  'GET /v1/address-books/elves?by=',
  'GET /v1/address-books/elves?by=frank&by=bill',
  'GET /v1/address-books/elves?by=frank&as=admin',
  'GET /v1/address-books/elves/names/ann',
  'GET /v1/address-books/elves/completions',
  'GET /v1/address-books/elves/completions?by=frank&limit=0',
  'GET /v1/address-books/elves/completions?by=frank&limit=101',
  'GET /v1/address-books/elves/completions?by=frank&limit=1000000000',
  'GET /v1/address-books/elves/completions?by=frank&limit=99999999999999999999',
  'GET /v1/address-books/elves/completions?by=frank&limit=1.5',
  'GET /v1/address-books/elves/completions?by=frank&order=length',
  'GET /v1/address-books/elves/completions?by=frank&fuzzy=maybe',
  'GET /v1/address-books/elves/completions?by=frank&cursor=',
  `GET /v1/address-books/elves/completions?by=frank&cursor=${'x'.repeat(12_289)}`,
  'GET /v1/address-books/elves/completions?by=frank&prefix=a&prefix=b',
  'GET /v1/address-books/elves/completions?by=frank&after=x',
  'DELETE /v1/address-books/elves/names/ann',
];
refuseEach('invalid-query', 'the query of', queries, (target) => [[target]]);

test('an address of more than the head of a request may have', async () => {
  for (const path of ['/v1/contacts/ann', `${BOOK}/completions`]) {
    const { status, json } = await send(`GET ${path}?by=frank&prefix=${'x'.repeat(20_000)}`);
    expect([status, json.status]).toEqual([431, 431]);
  }
  expect(await isAnythingChanged()).toBe(false);
});

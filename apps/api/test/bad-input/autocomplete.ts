/** A wrong request for contacts and address books gets a problem of a stable type, and changes nothing. */
import { describe, expect, test } from '@jest/globals';

import type { Sent } from '../fixture/api.js';
import { HOSTILE, refused, text, row } from '../fixture/refusals.js';
import type { Shop } from '../fixture/refusals.js';

export function refuseInAutocomplete(shop: Shop): void {
  const ROUTES: Record<string, Sent> = {
    put: row('PUT /v1/address-books/elves/names/ann?by=frank', {
      display: 'Ann',
      aliases: ['An'],
      score: 1,
      payload: 1,
    }),
    batch: {
      method: 'POST',
      path: '/v1/address-books/elves/name-batches?by=frank',
      body: { names: [{ name: 'ann' }] },
    },
    boost: row('POST /v1/address-books/elves/names/ann/boost?by=frank', { amount: 1 }),
  };

  test.each(Object.entries(ROUTES))('the body of %s that is too large', async (_, { body, ...sent }) => {
    const extra = 'x'.repeat(sent.path.includes('batch') ? 1_048_576 : 65_536);
    const large = JSON.stringify({ ...(body as object), extra });
    expect(await shop.others('body-too-large', { ...sent, body: large })).toEqual([]);
  });

  const NO_NUMBERS = [
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

  test.each(NO_NUMBERS)('a score or an amount of %s', async (number) => {
    const wrong: [Sent, string][] = [
      [ROUTES['put']!, text({ score: '?' }, '"?"', number)],
      [ROUTES['batch']!, text({ names: [{ name: 'ann', score: '?' }] }, '"?"', number)],
      [ROUTES['boost']!, text({ amount: '?' }, '"?"', number)],
    ];
    for (const [sent, body] of wrong) {
      expect([body, await shop.ask({ ...sent, body })]).toEqual([body, refused('invalid-body')]);
    }
  });

  test.each(['NaN', 'Infinity', '-Infinity', '0x10', '01'])(
    'a score of %s, which is no JSON',
    async (number) => {
      const body = text({ score: '?' }, '"?"', number);
      expect(await shop.others('malformed-json', { ...ROUTES['put']!, body })).toEqual([]);
    },
  );

  test.each([
    ['empty', '""'],
    ['with NUL', '"a\\u0000"'],
    ['of two lines', '"a\\nb"'],
    ['of two paragraphs', '"a\\u2029b"'],
    ['that turns the direction of text', '"a\\u202eb"'],
    ['with the first half of a pair', '"\\ud83d"'],
    ['with the second half of a pair', '"a\\ude00b"'],
    ['of 257 bytes', `"${'é'.repeat(128)}x"`],
    ['of nothing but spaces', '"  \u3000"'],
    ['of nothing but marks', '"\u0301\u200d"'],
    ['that is a number', '5'],
    ['that is null', 'null'],
    ['that is a list', '["a"]'],
  ])('a display form or an alias %s', async (_, given) => {
    const wrong: [Sent, string][] = [
      [ROUTES['put']!, text({ display: '?' }, '"?"', given)],
      [ROUTES['put']!, text({ aliases: ['?'] }, '"?"', given)],
      [ROUTES['batch']!, text({ names: [{ name: 'ann', display: '?' }] }, '"?"', given)],
      [ROUTES['batch']!, text({ names: [{ name: 'ok' }, { name: 'ann', aliases: ['?'] }] }, '"?"', given)],
    ];
    for (const [sent, body] of wrong)
      expect(await shop.others('invalid-body', { ...sent, body })).toEqual([]);
  });

  test('too much of anything', async () => {
    const names = Array.from({ length: 1_001 }, (_, n) => ({ name: `n-${n}` }));
    const wrong: [Sent, object][] = [
      [ROUTES['put']!, { aliases: Array.from({ length: 17 }, (_, n) => `a${n}`) }],
      [ROUTES['put']!, { payload: 'x'.repeat(2_047) }],
      [ROUTES['put']!, { payload: { text: 'é'.repeat(1_024) } }],
      [ROUTES['batch']!, { names }],
      [ROUTES['batch']!, { names: [] }],
      [ROUTES['batch']!, { names: [{ name: 'ann' }, { name: 'ann' }] }],
      [ROUTES['batch']!, { names: [{ name: 'ann', extra: 1 }] }],
      [ROUTES['batch']!, { names: [{}] }],
    ];
    for (const [sent, body] of wrong)
      expect(await shop.others('invalid-body', { ...sent, body })).toEqual([]);
  });

  describe.each(HOSTILE)('the name %j', (name) => {
    const coded = encodeURIComponent(name).replaceAll('.', '%2e');

    test('in a body', async () => {
      const sent = { ...ROUTES['batch']!, body: { names: [{ name }] } };
      expect(await shop.others('invalid-body', sent)).toEqual([]);
    });

    test('in the query `by`', async () => {
      for (const path of ['elves', 'elves/completions', 'elves/names/ann']) {
        const sent = row(`GET /v1/address-books/${path}?by=${coded}`);
        expect(await shop.others('invalid-query', sent)).toEqual([]);
      }
      for (const sent of Object.values(ROUTES)) {
        const path = sent.path.replace('by=frank', `by=${coded}`);
        expect(await shop.others('invalid-query', { ...sent, path })).toEqual([]);
      }
    });
  });

  test.each(['\0', 'a\nb', 'a\u202eb', '..', '.', 'é'.repeat(513), '\u2028'])(
    'the contact %j',
    async (contact) => {
      const path = `/v1/contacts/ann/${encodeURIComponent(contact).replaceAll('.', '%2e')}`;
      for (const method of ['PUT', 'DELETE'])
        expect(await shop.others('invalid-id', { method, path })).toEqual([]);
    },
  );

  test.each(['%ED%A0%80', '%FF', '%C0%80', '%'])('the contact %s, which is not UTF-8', async (coded) => {
    for (const method of ['PUT', 'DELETE']) {
      const sent = { method, path: `/v1/contacts/ann/${coded}` };
      expect(await shop.others('malformed-url', sent)).toEqual([]);
    }
  });

  test.each([
    '/v1/contacts/ann?limit=0',
    '/v1/contacts/ann?limit=101',
    '/v1/contacts/ann?limit=1000000000',
    '/v1/contacts/ann?limit=-1',
    '/v1/contacts/ann?limit=1e1',
    '/v1/contacts/ann?limit=NaN',
    '/v1/contacts/ann?limit=1&limit=2',
    '/v1/contacts/ann?prefix=a&prefix=b',
    '/v1/contacts/ann?cursor=x',
    '/v1/address-books/elves',
    '/v1/address-books/elves?by=',
    '/v1/address-books/elves?by=frank&by=bill',
    '/v1/address-books/elves?by=frank&as=admin',
    '/v1/address-books/elves/names/ann',
    '/v1/address-books/elves/completions',
    '/v1/address-books/elves/completions?by=frank&limit=0',
    '/v1/address-books/elves/completions?by=frank&limit=101',
    '/v1/address-books/elves/completions?by=frank&limit=1000000000',
    '/v1/address-books/elves/completions?by=frank&limit=99999999999999999999',
    '/v1/address-books/elves/completions?by=frank&limit=1.5',
    '/v1/address-books/elves/completions?by=frank&order=length',
    '/v1/address-books/elves/completions?by=frank&fuzzy=maybe',
    '/v1/address-books/elves/completions?by=frank&cursor=',
    `/v1/address-books/elves/completions?by=frank&cursor=${'x'.repeat(12_289)}`,
    '/v1/address-books/elves/completions?by=frank&prefix=a&prefix=b',
    '/v1/address-books/elves/completions?by=frank&after=x',
  ])('the query of %s', async (path) => {
    expect(await shop.others('invalid-query', { path })).toEqual([]);
  });

  test('DELETE without `by`', async () => {
    const sent = row('DELETE /v1/address-books/elves/names/ann');
    expect(await shop.others('invalid-query', sent)).toEqual([]);
  });

  test('an address of more than the head of a request may have', async () => {
    for (const path of ['/v1/contacts/ann', '/v1/address-books/elves/completions']) {
      const sent = { path: `${path}?by=frank&prefix=${'x'.repeat(20_000)}` };
      expect(await shop.ask(sent)).toMatchObject({ status: [431, 431], isAnythingChanged: false });
    }
  });
}

/** Recent contacts over HTTP. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freshPrefix } from '@mortise/test-kit';

import type { Answer, Api } from './fixture/api.js';
import { startApi } from './fixture/api.js';

let api: Api;
beforeAll(async () => {
  api = await startApi({ MORTISE_PREFIX: freshPrefix() });
});
afterAll(() => api.app.close());

const ask = (method: string, user: string, contact: string): Promise<Answer> =>
  api.send({ method, path: `/v1/contacts/${user}/${encodeURIComponent(contact)}` });
async function touch(user: string, ...contacts: string[]): Promise<void> {
  for (const contact of contacts)
    expect([contact, (await ask('PUT', user, contact)).status]).toEqual([contact, 204]);
}
async function contactsOf(user: string, query: Record<string, string> = {}): Promise<string[]> {
  const text = new URLSearchParams(query).toString();
  const { status, json } = await api.send({ path: `/v1/contacts/${user}${text === '' ? '' : `?${text}`}` });
  expect(status).toBe(200);
  return json.items.map(({ contact }: { contact: string }) => contact);
}

test('the last touched come first, and what is taken out is gone', async () => {
  await touch('anna', 'Jean', 'Łukasz', 'José', 'Jill', 'Jean');
  expect(await contactsOf('anna')).toEqual(['Jean', 'Jill', 'José', 'Łukasz']);
  expect(await contactsOf('anna', { limit: '2' })).toEqual(['Jean', 'Jill']);
  expect((await ask('DELETE', 'anna', 'Jill')).status).toBe(204);
  expect((await ask('DELETE', 'anna', 'Jill')).status).toBe(204);
  expect(await contactsOf('anna')).toEqual(['Jean', 'José', 'Łukasz']);
  expect(await contactsOf('nobody')).toEqual([]);
});

test('a contact is completed whatever its case, accents and width', async () => {
  await touch('bill', 'ΟΔΟΣ', 'Straße', '존경', 'José', 'ＪＯＡＮ', '김민준', 'Женя', '😀 smiles');
  const found: [string, string[]][] = [
    ['jo', ['ＪＯＡＮ', 'José']],
    ['JOSE', ['José']],
    ['strass', ['Straße']],
    ['조', ['존경']],
    ['жен', ['Женя']],
    ['οδος', ['ΟΔΟΣ']],
    ['😀', ['😀 smiles']],
    ['x', []],
  ];
  for (const [prefix, contacts] of found) {
    expect([prefix, await contactsOf('bill', { prefix })]).toEqual([prefix, contacts]);
  }
});

test('a typed prefix may be any text: characters that no name can have are ignored', async () => {
  await touch('carl', 'Jill', 'Joan');
  const all = ['Joan', 'Jill'];
  for (const prefix of ['', '   ', '\u0301\u0301', '\0', '\u3000\t\n', '\u202e']) {
    expect([prefix, await contactsOf('carl', { prefix })]).toEqual([prefix, all]);
  }
  expect(await contactsOf('carl', { prefix: ' \0JO\u0301' })).toEqual(['Joan']);
  expect(await contactsOf('carl', { prefix: 'x'.repeat(10_000) })).toEqual([]);
  expect(await contactsOf('carl', { prefix: `jo${'\u0301'.repeat(1_600)}` })).toEqual(['Joan']);
  // Halves of surrogate pairs are no UTF-8: what stands in their place is found in no name.
  for (const half of ['%ED%A0%80', '%ED%B0%80', 'J%ED%A0%BD']) {
    const { status, json } = await api.send({ path: `/v1/contacts/carl?prefix=${half}` });
    expect([half, status, json.items]).toEqual([half, 200, []]);
  }
});

test('a contact is any text of up to 1,024 bytes, compared byte by byte', async () => {
  const odd = ['a/b', '100%', 'a b', '{x}', '"', "<b>'", 'Jack', 'jack', 'é'.repeat(512), '?#&=', '\\'];
  await touch('dora', ...odd);
  expect(await contactsOf('dora')).toEqual(odd.toReversed());
});

test('a contact with an id is found by what stands behind it', async () => {
  await touch('fred', 'lukasz-7|Łukasz Nowak', '|bar', 'bar|', 'a|b|c');
  expect(await contactsOf('fred', { prefix: 'luk' })).toEqual(['lukasz-7|Łukasz Nowak']);
  expect(await contactsOf('fred', { prefix: 'lukasz-' })).toEqual([]);
  expect(await contactsOf('fred', { prefix: 'bar' })).toEqual(['bar|', '|bar']);
  expect(await contactsOf('fred', { prefix: 'b|' })).toEqual(['a|b|c']);
  expect((await ask('DELETE', 'fred', 'lukasz-7|Łukasz Nowak')).status).toBe(204);
  expect(await contactsOf('fred', { prefix: 'luk' })).toEqual([]);
});

test('100 of them are kept', async () => {
  for (let from = 0; from < 120; from += 40) {
    const some = Array.from({ length: 40 }, (_, n) => `c-${from + n}`);
    await Promise.all(some.map((contact) => ask('PUT', 'emma', contact)));
  }
  expect((await contactsOf('emma')).length).toBe(100);
  expect((await contactsOf('emma', { limit: '100', prefix: 'C-1' })).length).toBe(20);
});

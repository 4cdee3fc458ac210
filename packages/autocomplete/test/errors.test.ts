import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { errorCodes, freshPrefix, connect } from '@mortise/test-kit';
import { AddressBook, RecentContacts } from '@mortise/autocomplete';

test('the reference lists the codes that exist, and one that is passed on', () => {
  const { declared, listed } = errorCodes(join(import.meta.dirname, '..'), {
    document: '../../docs/autocomplete/reference/errors.md',
  });
  expect(declared).toHaveLength(5);
  expect(listed).toEqual([...declared, 'ERR_INVALID_ARG'].toSorted());
});

const redis = connect();
const prefix = freshPrefix();
const recent = new RecentContacts(redis, { prefix });
const book = new AddressBook(redis, 'guild', { prefix });
const wrong = (value: unknown): never => value as never;

test.each<[string, () => unknown]>([
  ['a contact that is no string', () => recent.touch('anna', wrong(7))],
  ['a contact with half a character', () => recent.touch('anna', 'a\ud83d')],
  ['a contact that is too long', () => recent.touch('anna', 'x'.repeat(1_025))],
  ['a user without a name', () => recent.touch('', 'jack')],
  ['touchMany of a text', () => recent.touchMany('anna', wrong('jack'))],
  ['touchMany with a contact that is no string', () => recent.touchMany('anna', ['jack', wrong(7)])],
  ['touchMany of more than 1,000', () => recent.touchMany('anna', Array.from({ length: 1_001 }, String))],
  ['a text that is none', () => recent.complete('anna', wrong(null))],
  ['a limit beyond its range', () => recent.complete('anna', '', { limit: 0 })],
  ['a capacity beyond its range', () => new RecentContacts(redis, { capacity: 0 })],
  ['displayOf that is no function', () => new RecentContacts(redis, { displayOf: wrong('name') })],
  ['telemetry that is no object', () => new RecentContacts(redis, { telemetry: wrong('all') })],
  ['a client that is none', () => new RecentContacts(wrong({}))],
  ['keysOf that is no function', () => new AddressBook(redis, 'guild', { keysOf: wrong('name') })],
  ['a score that is no number', () => book.add({ key: 'a', score: wrong('1') })],
  ['a score that is not finite', () => book.add({ key: 'a', score: Number.NaN })],
  ['aliases that are no array', () => book.add({ key: 'a', aliases: wrong('b') })],
  ['too many aliases', () => book.add({ key: 'a', aliases: Array.from({ length: 17 }, (_, n) => `n${n}`) })],
  ['fuzzy that is no boolean', () => book.complete('a', { fuzzy: wrong(1) })],
  ['fuzzy in the order of bytes', () => book.complete('a', { fuzzy: true, order: 'alphabetical' })],
  ["an order that there isn't", () => book.complete('a', { order: wrong('newest') })],
  ['an unknown option of contacts', () => new RecentContacts(redis, wrong({ idleMs: 1_000 }))],
  ['an unknown option of a book', () => new AddressBook(redis, 'guild', wrong({ maxNames: 1 }))],
  ['an unknown option of complete', () => recent.complete('anna', '', wrong({ fuzzy: true }))],
  ['an unknown option of a page', () => book.page('a', wrong({ place: '' }))],
  ['the former name of cursor', () => book.page('a', wrong({ after: 'b' }))],
  ['an entry that is no object', () => book.add(wrong(undefined))],
  ['an unknown field of an entry', () => book.add(wrong({ key: 'a', bogus: 1 }))],
  [
    'an unknown field of an entry among many',
    () => book.addMany([{ key: 'a' }, wrong({ key: 'b', name: 'b' })]),
  ],
  ['an unknown option of boost', () => book.boost('a', 1, wrong({ by: 2 }))],
  ['an unknown option of addMany', () => book.addMany([], wrong({ batch: 2 }))],
  ['onProgress that is no function', () => book.addMany([], { onProgress: wrong(true) })],
  ['a signal that is none', () => book.addMany([], { signal: wrong({}) })],
])('%s is refused with a code', async (_, misuse) => {
  await expect((async () => misuse())()).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
});

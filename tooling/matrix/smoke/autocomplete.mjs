import assert from 'node:assert/strict';
import * as autocomplete from '@mortise/autocomplete';
import { bookMatchers, MemoryRedis } from '@mortise/autocomplete/testing';
import { Verbs } from './verbs.mjs';

const { AddressBook, normalize, prefixMatchOf, RecentContacts } = autocomplete;

export async function smoke({ connect, prefix, mayBuildKeys }) {
  const verbs = mayBuildKeys ? new Verbs(autocomplete) : new Verbs({ RecentContacts });
  const redis = await connect();
  await contacts(redis, prefix);
  const book = new AddressBook(redis, 'guild:7', { prefix });
  if (mayBuildKeys) await names(book);
  // docs/decisions/0013: its scripts name the blocks that they find.
  else
    await assert.rejects(
      book.add({ key: 'a', display: 'Joan Smith' }),
      /at least one of the keys|ACL failure|NOPERM/,
    );
  await inMemory();
  return verbs;
}

async function contacts(redis, prefix) {
  const recent = new RecentContacts(redis, { prefix, capacity: 3 });
  await recent.touchMany('anna', ['Jean', 'Łukasz', 'José']);
  await recent.touch('anna', 'Jill');
  assert.deepEqual(await recent.list('anna'), ['Jill', 'José', 'Łukasz']);
  assert.deepEqual(await recent.complete('anna', 'luk'), ['Łukasz']);
  assert.equal(await recent.remove('anna', 'Jill'), true);
  assert.equal(recent.displayOf('José'), 'José');
  assert.ok(prefixMatchOf('José', 'jos'));
  assert.equal(normalize('JOSÉ'), normalize('josé'));
}

const keys = (found) => found.map(({ key }) => key);

async function names(book) {
  assert.equal(await book.add({ key: 'a', display: 'Joan Smith', score: 5, payload: { level: 3 } }), true);
  const others = [
    { key: 'b', display: 'John Smart', score: 9 },
    { key: 'c', display: 'Σοφία Παππάς', score: 1 },
  ];
  assert.equal((await book.addMany(others)).added, 2);
  assert.deepEqual(keys(await book.complete('jo sm')), ['b', 'a']);
  assert.deepEqual(keys(await book.complete('sofia')), []);
  assert.deepEqual(keys(await book.complete('σοφ')), ['c']);
  assert.deepEqual(keys(await book.complete('jonh', { fuzzy: true })), ['b']);
  assert.equal(await book.boost('a', 10, { id: 'x' }), 15);
  assert.equal((await book.get('a')).payload.level, 3);
  const page = await book.page('jo', { limit: 1 });
  assert.deepEqual(keys(page.suggestions), ['a']);
  assert.deepEqual(keys((await book.page('jo', { limit: 1, cursor: page.cursor })).suggestions), ['b']);
  assert.equal(await book.remove('c'), true);
  assert.equal(await book.size(), 2);
}

const equals = (left, right) => String(left) === String(right);

/** The entry for tests. */
async function inMemory() {
  const own = new MemoryRedis();
  const book = new autocomplete.AddressBook(own, 'guild');
  await book.add({ key: 'a', display: 'Ann' });
  assert.equal((await bookMatchers.toComplete.call({ equals }, book, 'an', ['a'])).pass, true);
  await own.close();
}

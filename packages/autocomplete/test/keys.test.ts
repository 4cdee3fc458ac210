import { expect, test } from '@jest/globals';
import { AddressBook, RecentContacts } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';

const redis = connect();

test.each([
  ['list', 'recent', {}],
  ['sorted set with a half-life', 'ranked', { halfLifeMs: 5_000 }],
])(
  'each user with contacts has one %s, which is bounded and expires when idle',
  async (type, part, options) => {
    const prefix = freshPrefix();
    const recent = new RecentContacts(redis, { prefix, capacity: 2, keepMs: 60_000, ...options });
    await Promise.all(['a', 'b', 'c'].map((contact) => recent.touch('}x', contact)));
    await recent.touch('gone', 'a');
    await recent.remove('gone', 'a');
    await recent.remove('nobody', 'a');
    await recent.complete('reader', 'a');
    await recent.list('reader');

    const keys = await redis.keys(`${prefix}:*`);
    expect(keys).toEqual([`${prefix}:autocomplete:{%7Dx}:${part}:1`]);
    expect(await (type === 'list' ? redis.llen(keys[0]!) : redis.zcard(keys[0]!))).toBeLessThanOrEqual(2);
    expect(await recent.list('}x')).toHaveLength(2);
    const left = await redis.pttl(keys[0]!);
    expect(left).toBeGreaterThan(30_000);
    expect(left).toBeLessThanOrEqual(60_000);
  },
);

test('a list lives 90 days without a change by default, and reading does not prolong it', async () => {
  const prefix = freshPrefix();
  const recent = new RecentContacts(redis, { prefix });
  await recent.touch('anna', 'jack');
  const [key] = await redis.keys(`${prefix}:*`);
  expect(await redis.pttl(key!)).toBeGreaterThan(90 * 86_400_000 - 60_000);
  await redis.pexpire(key!, 5_000);
  await recent.complete('anna', 'j');
  await recent.list('anna');
  expect(await redis.pttl(key!)).toBeLessThanOrEqual(5_000);
});

test('an entry is the contact alone where it is its own normalized form', async () => {
  const prefix = freshPrefix();
  const recent = new RecentContacts(redis, { prefix });
  for (const contact of ['jack', 'José', 'a\0b']) await recent.touch('anna', contact);
  const [key] = await redis.keys(`${prefix}:*`);
  expect(await redis.lrange(key!, 0, -1)).toEqual(['a b\0a\0b', 'jose\0José', 'jack']);
});

test('a list of an earlier release is read, and gets the form of this one when it is touched', async () => {
  const prefix = freshPrefix();
  const recent = new RecentContacts(redis, { prefix, capacity: 20 });
  const key = `${prefix}:autocomplete:{anna}:recent:1`;
  const names = Array.from({ length: 20 }, (_, index) => `Name ${index}`);
  await redis.rpush(key, ...names.map((name) => `${name.toLowerCase()}\0${name}`));
  expect(await recent.list('anna')).toEqual(names);
  expect(await recent.complete('anna', 'NAME 1', { limit: 3 })).toEqual(['Name 1', 'Name 10', 'Name 11']);
  await recent.touch('anna', 'Name 7');
  expect(await redis.llen(key)).toBe(1);
  const touched = ['Name 7', ...names.filter((name) => name !== 'Name 7')];
  expect(await recent.list('anna')).toEqual(touched);
  expect(await recent.complete('anna', '', { limit: 30 })).toEqual(touched);
  expect(await recent.remove('anna', 'Name 19')).toBe(true);
  expect(await recent.list('anna')).toEqual(touched.slice(0, -1));
});

test('100 handles of 12 bytes in a list take at most 1.75 KB', async () => {
  const prefix = freshPrefix();
  const recent = new RecentContacts(redis, { prefix });
  const contacts = Array.from({ length: 100 }, (_, index) => `handle-${String(index).padStart(5, '0')}`);
  await Promise.all(contacts.map((contact) => recent.touch('anna', contact)));
  const [key] = await redis.keys(`${prefix}:*`);
  // The fullest list: the next touch folds all elements into one text.
  for (let count = 0; (await redis.llen(key!)) < 15 && count < 16; count += 1)
    await recent.touch('anna', contacts[count]!);
  expect(await redis.llen(key!)).toBe(15);
  // The key counts; here it begins with more than `mortise`.
  const ofPrefix = prefix.length - 'mortise'.length;
  expect(Number(await redis.call('MEMORY', 'USAGE', key!)) - ofPrefix).toBeLessThanOrEqual(1_750);
});

test('a book has the keys of the table, all of one hash tag, and none when it is empty', async () => {
  const prefix = freshPrefix();
  const book = new AddressBook(redis, '}x', { prefix });
  const entries = Array.from({ length: 800 }, (_, index) => ({
    key: String(index),
    display: `Jo ${index}`,
    score: index,
    aliases: ['x'],
  }));
  await book.addMany(entries);
  await book.boost('7', 1);
  await book.boost('7', 1, { id: 'x' });
  await book.complete('j');
  await book.complete('jx', { fuzzy: true });
  await book.page('', { order: 'alphabetical' });
  await book.get('7');
  const keys = await redis.keys(`${prefix}:*`);
  const KEY =
    /^:autocomplete:\{%7Dx\}:(meta:1|cards:1|directory:1|marks:1(:new)?|b:1:\d+|t:1:.*|request:1:x)$/;
  expect(keys.filter((key) => !KEY.test(key.slice(prefix.length)))).toEqual([]);
  const kinds = new Set(keys.map((key) => key.slice(prefix.length).split(':')[3]));
  expect(kinds).toEqual(new Set(['b', 'cards', 'directory', 'marks', 'meta', 'request', 't']));
  const sizes = await Promise.all(keys.filter((key) => /:(b|t):/.test(key)).map((key) => redis.zcard(key)));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(128);
  await Promise.all(entries.map(({ key }) => book.remove(key)));
  const request = `${prefix}:autocomplete:{%7Dx}:request:1:x`;
  expect(await redis.keys(`${prefix}:*`)).toEqual([request]);
  const left = await redis.pttl(request);
  expect(left).toBeGreaterThan(3_540_000);
  expect(left).toBeLessThanOrEqual(3_600_000);
});

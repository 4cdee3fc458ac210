import { expect, test } from '@jest/globals';
import { RecentContacts } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';

const redis = connect();

test('what stays is one list per user with contacts, which expires when idle', async () => {
  const prefix = freshPrefix();
  const recent = new RecentContacts(redis, { prefix, capacity: 2, idleMs: 60_000 });
  await Promise.all(['a', 'b', 'c'].map((contact) => recent.touch('}x', contact)));
  await recent.touch('gone', 'a');
  await recent.remove('gone', 'a');
  await recent.remove('nobody', 'a');
  await recent.complete('reader', 'a');
  await recent.list('reader');

  const keys = await redis.keys(`${prefix}:*`);
  expect(keys).toEqual([`${prefix}:autocomplete:{%7Dx}:recent:1`]);
  expect(await redis.llen(keys[0]!)).toBe(2);
  const left = await redis.pttl(keys[0]!);
  expect(left).toBeGreaterThan(30_000);
  expect(left).toBeLessThanOrEqual(60_000);
});

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

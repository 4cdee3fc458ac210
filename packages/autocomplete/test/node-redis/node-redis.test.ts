import { describe, expect, test } from '@jest/globals';
import { freshPrefix } from '@mortise/test-kit';
import { connectNodeRedis, NODE_REDIS_MAJORS } from '@mortise/test-kit/node-redis';
import { AddressBook, RecentContacts } from '../../src/index.js';
import { fromNodeRedis } from '../../src/node-redis/index.js';

describe.each(NODE_REDIS_MAJORS)('node-redis %s', (major) => {
  test('an address book and recent contacts', async () => {
    const prefix = freshPrefix();
    const redis = fromNodeRedis(await connectNodeRedis(major));
    const book = new AddressBook(redis, 'guild', { prefix });
    await book.addMany([
      { key: 'jo', display: 'Jo Smith', score: 1.5 },
      { key: 'joe', display: 'José Smith', score: 3 },
    ]);
    const found = await book.complete('jo sm');
    expect(found.map(({ key, score }) => [key, score])).toEqual([
      ['joe', 3],
      ['jo', 1.5],
    ]);
    expect(await book.size()).toBe(2);
    const recent = new RecentContacts(redis, { prefix });
    await Promise.all(['ann', 'ben'].map((contact) => recent.touch('me', contact)));
    expect(await recent.list('me')).toEqual(['ben', 'ann']);
  });
});

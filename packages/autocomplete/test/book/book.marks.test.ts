/** Marks of a book may be lost: evicted, or deleted by hand. Searches look at more then, and find the same. */
import { expect, test } from '@jest/globals';
import { AddressBook } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';

const redis = connect();

/** Names in an order that has nothing to do with their number, so that blocks split everywhere. */
const nameOf = (index: number): string =>
  ((index * 7_919) % 100_003)
    .toString(26)
    .padStart(5, '0')
    .replace(/\d/g, (digit) => 'qrstuvwxyz'[Number(digit)]!);

test.each(['marks:1:new', 'marks:1'])(
  '%s is lost: books grow on, and are searched as before',
  async (which) => {
    const prefix = freshPrefix();
    const book = new AddressBook(redis, 'guild', { prefix });
    const key = `${prefix}:autocomplete:{guild}:${which}`;
    let lost = 0;
    for (let from = 0; from < 8_000; from += 20) {
      await book.addMany(
        Array.from({ length: 20 }, (_, at) => ({ key: nameOf(from + at), score: from + at })),
      );
      if (lost < 2) lost += await redis.del(key);
    }
    expect(lost).toBe(2);
    expect(await book.size()).toBe(8_000);
    const top = await book.complete('', { limit: 3 });
    expect(top.map(({ score }) => score)).toEqual([7_999, 7_998, 7_997]);
    for (const index of [7, 4_000, 7_999]) {
      const [a, b, ...rest] = nameOf(index);
      const found = await book.complete([b, a, ...rest].join(''), { fuzzy: true, limit: 50 });
      expect(found.map(({ key: name }) => name)).toContain(nameOf(index));
    }
  },
);

import { expect, test } from '@jest/globals';
import { disposable } from '../src/index.js';

test('the generator ends at the end of an await using block', async () => {
  const ended: string[] = [];
  async function* count(): AsyncGenerator<number, void, void> {
    try {
      for (let number = 1; ; number += 1) yield number;
    } finally {
      ended.push('closed');
    }
  }
  {
    await using numbers = disposable(count());
    expect(await numbers.next()).toEqual({ value: 1, done: false });
    expect((await numbers.next()).value).toBe(2);
  }
  expect(ended).toEqual(['closed']);
});

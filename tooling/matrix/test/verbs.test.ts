import { expect, test } from '@jest/globals';
import { Verbs } from '../smoke/verbs.mjs';

class Base {
  inherited(): number {
    return 1;
  }
}

class Lock extends Base {
  #count = 0;

  static of(): Lock {
    return new Lock();
  }

  get count(): number {
    return this.#count;
  }

  take(): number {
    this.#count += 1;
    return this.inherited();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

class RefusedError extends Error {
  explain(): string {
    return this.message;
  }
}

test('each method, static method and accessor that nobody called is missing, and those of errors are not asked for', async () => {
  const verbs = new Verbs({ Lock, RefusedError });
  const all = ['Lock.count', 'Lock.take', 'Lock.[asyncDispose]', 'Lock~.inherited', 'Lock.of'];
  expect([verbs.count, verbs.missing()]).toEqual([5, all]);
  const lock = Lock.of();
  expect(lock.take()).toBe(1);
  expect(verbs.missing()).toEqual(['Lock.count', 'Lock.[asyncDispose]']);
  expect(lock.count).toBe(1);
  await lock[Symbol.asyncDispose]();
  expect(verbs.missing()).toEqual([]);
});

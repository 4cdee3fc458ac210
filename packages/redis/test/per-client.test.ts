import { expect, test } from '@jest/globals';
import { connect } from '@mortise/test-kit';
import type { RedisClient } from '../src/index.js';
import { perClient } from '../src/index.js';

test('there is one object for each client, created at the first call', () => {
  const created: RedisClient[] = [];
  const of = perClient((client) => created.push(client) && { client });
  const [one, other] = [connect(), connect()];
  expect(created).toEqual([]);
  expect(of(one)).toBe(of(one));
  expect(of(other)).not.toBe(of(one));
  expect(created).toEqual([one, other]);
});

test('anything that is no client is refused', () => {
  const of = perClient(() => ({}));
  for (const value of [undefined, null, {}, 'redis://127.0.0.1']) {
    expect(() => of(value as never)).toThrow(TypeError);
  }
});

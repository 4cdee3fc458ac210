import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { keySlot } from '../src/index.js';
import { connect } from './fixture/clients.js';

describe('keySlot', () => {
  test('gives the values of the Cluster specification', () => {
    expect(keySlot('123456789')).toBe(0x31c3);
    expect(keySlot('')).toBe(0);
    expect(keySlot('{user1000}.following')).toBe(keySlot('{user1000}.followers'));
    expect(keySlot('foo{{bar}}zap')).toBe(keySlot('{bar'));
    expect(keySlot('foo{bar}{zap}')).toBe(keySlot('bar'));
  });

  test('equals CLUSTER KEYSLOT for any key, also where ioredis differs', async () => {
    const redis = connect();
    const keys = [
      'q:{}x}:tasks', '{}', '{}{a}', '}{', '{', '}', '{a', 'a}b{c}', '{{}', '{}}', '{😀}', '\ud800{\udc00}',
      ...fc.sample(fc.string({ unit: 'binary', maxLength: 30 }), { numRuns: 300, seed: 11 }),
      ...fc.sample(fc.string({ unit: fc.constantFrom('{', '}', 'a', 'é'), maxLength: 10 }), { numRuns: 300, seed: 12 }),
    ]; // prettier-ignore
    const slots = await Promise.all(keys.map((key) => redis.cluster('KEYSLOT', key)));
    expect(keys.map(keySlot)).toEqual(slots);
  });
});

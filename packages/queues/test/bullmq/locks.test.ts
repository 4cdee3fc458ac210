import { describe, expect, it } from '@jest/globals';
import { dropLock, lockOf, newLock, setLock } from '../../src/bullmq/locks.js';

const QUEUE = 'bull:locks';

describe('locks', () => {
  it('are found until they are dropped, whatever the order', () => {
    const locks = ['a', 'b', 'c', 'd'].map((id, lease) => newLock(id, `t-${id}`, lease));
    for (const lock of locks) setLock(QUEUE, lock);
    for (const id of ['b', 'd', 'a']) {
      const lock = lockOf(QUEUE, id)!;
      expect(lock).toMatchObject({ id, token: `t-${id}` });
      dropLock(QUEUE, lock);
      expect(lockOf(QUEUE, id)).toBeUndefined();
    }
    expect(lockOf(QUEUE, 'c')).toBe(locks[2]);
    dropLock(QUEUE, locks[2]!);
    expect(lockOf(QUEUE, 'c')).toBeUndefined();
  });

  it('of a later attempt hide that of an earlier one, whose drop leaves them', () => {
    const [earlier, other, later] = [newLock('a', 't-1', 1), newLock('b', 't-2', 2), newLock('a', 't-3', 3)];
    for (const lock of [earlier, other, later]) setLock(QUEUE, lock);
    expect(lockOf(QUEUE, 'a')).toBe(later);
    dropLock(QUEUE, earlier);
    dropLock(QUEUE, earlier);
    expect([lockOf(QUEUE, 'a'), lockOf(QUEUE, 'b')]).toEqual([later, other]);
    dropLock(QUEUE, later);
    dropLock(QUEUE, other);
    expect(lockOf(QUEUE, 'a')).toBeUndefined();
  });

  it('of one queue are not those of another', () => {
    const lock = newLock('a', 't', 1);
    setLock(QUEUE, lock);
    expect(lockOf('bull:other', 'a')).toBeUndefined();
    dropLock(QUEUE, lock);
  });
});

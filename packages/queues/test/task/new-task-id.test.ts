import { expect, test } from '@jest/globals';
import { validate, version } from 'uuid';
import { newTaskId } from '../../src/task/new-task-id.js';
import { encodeTaskId } from '../../src/task/task-id.js';

test('new ids are UUIDv7 that differ and ascend', () => {
  const ids = Array.from({ length: 20_000 }, () => newTaskId());
  const isGood = ({ id, storedId }: (typeof ids)[number]): boolean =>
    validate(id) && version(id) === 7 && encodeTaskId(id).equals(storedId);
  expect(ids.every(isGood)).toBe(true);
  const text = ids.map(({ id }) => id);
  expect(new Set(text).size).toBe(text.length);
  expect(text.toSorted()).toEqual(text);
});

test('the instant in an id is that of its making', () => {
  const before = Date.now();
  const { storedId } = newTaskId();
  expect(storedId.readUIntBE(0, 6)).toBeGreaterThanOrEqual(before);
  expect(storedId.readUIntBE(0, 6)).toBeLessThanOrEqual(Date.now());
});

test('the random part differs from id to id', () => {
  const tails = Array.from({ length: 1_000 }, () => newTaskId().id.slice(-10));
  expect(new Set(tails).size).toBe(1_000);
});

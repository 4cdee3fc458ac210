import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { v4, v7, validate, version } from 'uuid';
import { codePoint } from '../fixture/code-points.js';
import { newTaskId } from '../../src/task/new-task-id.js';
import { decodeTaskId, encodeTaskId } from '../../src/task/task-id.js';

describe('task ids', () => {
  test('a UUID takes 16 bytes', () => {
    for (const id of [v4(), v7(), '00000000-0000-0000-0000-000000000000']) {
      expect(encodeTaskId(id)).toHaveLength(16);
      expect(decodeTaskId(encodeTaskId(id))).toBe(id);
    }
  });

  test.each([
    ['an upper-case UUID', v4().toUpperCase()],
    ['what is almost a UUID', `${v4()}0`],
    ['a UUID with a newline', `${v4()}\n`],
    ['15 bytes', 'a'.repeat(15)],
    ['15 bytes behind NUL', `\0${'a'.repeat(14)}`],
    ['16 bytes', 'a'.repeat(16)],
    ['14 bytes', 'é'.repeat(7)],
    ['emoji', '🙂'],
    ['NUL', '\0'],
    ['U+00FF', 'ÿÿ'],
    ['1,024 bytes', 'x'.repeat(1_024)],
  ])('%s comes back as it was', (_, id) => {
    const stored = encodeTaskId(id);
    expect(decodeTaskId(stored)).toBe(id);
    expect(stored).not.toHaveLength(16);
  });

  test('distinct ids are stored as distinct bytes', () => {
    const text = fc.string({ unit: codePoint, minLength: 1, maxLength: 20 });
    const looksLikeUuid = fc.uuid().chain((id) => fc.constantFrom(id, id.toUpperCase(), id.slice(0, 15)));
    const bytes = fc
      .uint8Array({ minLength: 14, maxLength: 16 })
      .map((array) => Buffer.from(array).toString('latin1'));
    const id = fc.oneof(text, looksLikeUuid, bytes);
    fc.assert(
      fc.property(id, id, (one, other) => {
        // One expect is slower than all of this.
        expect([decodeTaskId(encodeTaskId(one)), encodeTaskId(one).equals(encodeTaskId(other))]).toEqual([
          one,
          one === other,
        ]);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    ['an empty id', '', RangeError],
    ['1,025 bytes', 'x'.repeat(1_025), RangeError],
    ['513 characters of two bytes', 'é'.repeat(513), RangeError],
    ['a lone surrogate', 'a\ud800', TypeError],
    ['a number', 42, TypeError],
    ['null', null, TypeError],
    ['an object', {}, TypeError],
  ])('%s is refused', (_, id, error) => {
    expect(() => encodeTaskId(id as string)).toThrow(error);
  });
});

describe('new ids', () => {
  test('are UUIDv7 that differ and ascend', () => {
    const ids = Array.from({ length: 20_000 }, () => newTaskId());
    const isGood = ({ id, storedId }: (typeof ids)[number]): boolean =>
      validate(id) && version(id) === 7 && encodeTaskId(id).equals(storedId);
    expect(ids.every(isGood)).toBe(true);
    const text = ids.map(({ id }) => id);
    expect(new Set(text).size).toBe(text.length);
    expect(text.toSorted()).toEqual(text);
  });

  test('have the instant of their making', () => {
    const before = Date.now();
    const { storedId } = newTaskId();
    expect(storedId.readUIntBE(0, 6)).toBeGreaterThanOrEqual(before);
    expect(storedId.readUIntBE(0, 6)).toBeLessThanOrEqual(Date.now());
  });

  test('the random part differs from id to id', () => {
    const tails = Array.from({ length: 1_000 }, () => newTaskId().id.slice(-10));
    expect(new Set(tails).size).toBe(1_000);
  });
});

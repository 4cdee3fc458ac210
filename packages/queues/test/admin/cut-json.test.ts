import { describe, expect, test } from '@jest/globals';
import { cutJson } from '@mortise/queues/admin';

describe('a value', () => {
  test.each(['\uFFFD', '😀', '\u00e9'])('keeps each whole %s, wherever it is cut', (character) => {
    const value = character.repeat(9);
    const json = JSON.stringify(value);
    for (let maxBytes = 1; maxBytes < Buffer.byteLength(json); maxBytes += 1) {
      const { text } = cutJson(value, maxBytes);
      expect(json.startsWith(text!)).toBe(true);
      expect(maxBytes - Buffer.byteLength(text!)).toBeLessThan(Buffer.byteLength(character));
    }
  });

  test.each([0, -1, 1.5, Number.NaN])('is not cut at %s bytes', (maxBytes) => {
    expect(() => cutJson('x', maxBytes)).toThrow('maxBytes must be a whole number');
  });

  test('that is not longer stays as it is', () => {
    const value = { text: '€' };
    expect(cutJson(value, 14)).toEqual({ value });
    expect(cutJson(value)).toEqual({ value });
    expect(cutJson(value, 13)).toEqual({ text: '{"text":"€"', bytes: 14 });
    expect(cutJson(undefined, 1)).toEqual({ value: undefined });
  });
});

import { describe, expect, it } from '@jest/globals';
import { resultJson } from '../../src/bullmq/run.js';

describe('resultJson', () => {
  it('is empty for no result and for one that JSON leaves out', () => {
    expect([resultJson(undefined), resultJson(() => 1)]).toEqual(['', '']);
    expect([resultJson(null), resultJson({ a: [1] })]).toEqual(['null', '{"a":[1]}']);
  });

  it('refuses a value that is no JSON, or is too large', () => {
    expect(() => resultJson(1n)).toThrow(TypeError);
    expect(() => resultJson('é'.repeat(33 * 1024 * 1024))).toThrow(RangeError);
    expect(resultJson('e'.repeat(33 * 1024 * 1024))).toHaveLength(33 * 1024 * 1024 + 2);
  });
});

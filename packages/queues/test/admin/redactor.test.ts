import { describe, expect, test } from '@jest/globals';
import { Redactor } from '@mortise/queues/admin';

const redactor = new Redactor(['apiKey', 'Pass_word']);

describe('a redactor', () => {
  test('hides members at any depth, without case, _ and -', () => {
    const value = {
      API_KEY: 1,
      list: [{ 'api-key': [2], apiKeys: 3 }],
      deep: { PASSWORD: { a: 4 } },
      none: null,
    };
    expect(redactor.redact(value)).toEqual({
      API_KEY: '[redacted]',
      list: [{ 'api-key': '[redacted]', apiKeys: 3 }],
      deep: { PASSWORD: '[redacted]' },
      none: null,
    });
    expect(value.API_KEY).toBe(1);
  });

  test('hides what is deeper than 64 levels', () => {
    const nested = (levels: number): unknown => (levels === 0 ? 'deep' : { a: nested(levels - 1) });
    expect(redactor.redact(nested(60))).toEqual(nested(60));
    expect(JSON.stringify(redactor.redact(nested(10_000)))).not.toContain('deep');
  });

  test.each([
    ['apiKey', true],
    ['user.api_key.0', true],
    ['user.apiKeys', false],
    ['', false],
  ])('says whether the path %j leads into a hidden member: %s', (field, expected) => {
    expect(redactor.hides(field)).toBe(expected);
  });

  test.each([
    ['{"apiKey":"k"}', true],
    ['[{"api-key":1}]', true],
    ['{"id":1}', false],
    ['apiKey', false],
    ['{no JSON', false],
  ])('says whether a search for %s is one for a hidden member: %s', (equals, expected) => {
    expect(redactor.hides('user', equals)).toBe(expected);
  });

  test('takes names only', () => {
    expect(() => new Redactor([''])).toThrow(RangeError);
    expect(() => new Redactor('apiKey' as never)).toThrow(TypeError);
  });
});

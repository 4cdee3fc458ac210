import { describe, expect, test } from '@jest/globals';

import { MAX_DEPTH, parseJsonBody } from '../src/http/json-body.js';

const parse = (text: string): unknown => parseJsonBody(Buffer.from(text));
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const object = (depth: number): string => `${'{"a":'.repeat(depth)}0${'}'.repeat(depth)}`;

describe('parseJsonBody', () => {
  test.each(['null', '0', '"☃😀"', '[]', '{}', '{"a":[{"b":null}],"proto":1}', ' {"a":1} '])(
    'reads %j',
    (text) => {
      expect(parse(text)).toEqual(JSON.parse(text));
    },
  );

  test.each([
    '{"__proto__":1}',
    '{"a":{"__proto__":{}}}',
    '[{"__pr\\u006fto__":1}]',
    '{"constructor":{"prototype":{}}}',
    '{"a":[{"constructor":1}]}',
    '{"prototype":1}',
    '"\\ud800"',
    '["a\\udc00"]',
    '{"\\ud800":1}',
    '{"a":["\\udfff\\ud800"]}',
  ])('refuses %j', (text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ slug: 'invalid-body' }));
  });

  test('bears depth 64 and refuses 65 and 30,000, of lists and objects', () => {
    expect(parse(nested(MAX_DEPTH))).toBeInstanceOf(Array);
    expect(parse(object(MAX_DEPTH))).toBeInstanceOf(Object);
    for (const text of [nested(65), nested(30_000), object(65), object(30_000)]) {
      expect(() => parse(text)).toThrow('the body is nested more than 64 levels');
    }
  });

  test.each(['', ' ', '{', 'NaN', "{'a':1}", '[1,]', '{"a":1}x', '\u0000', '"\u0000"'])(
    '%j is no JSON',
    (text) => {
      expect(() => parse(text)).toThrow(
        expect.objectContaining({ slug: 'malformed-json', detail: undefined }),
      );
    },
  );

  test.each(['22ff22', '22eda08022', '22c022'])('the bytes %s are not UTF-8', (bytes) => {
    expect(() => parseJsonBody(Buffer.from(bytes, 'hex'))).toThrow(
      expect.objectContaining({ slug: 'malformed-json' }),
    );
  });

  // A walk that is not linear takes seconds. CPU time, and the least of a few: others may keep the machine busy.
  test('of 64 KiB takes a few ms of CPU time, however it is nested', () => {
    const worst = [nested(32_768), `[${'{},'.repeat(21_000)}0]`, `{${'"a":1,'.repeat(10_000)}"b":1}`];
    for (const text of worst) {
      const runs = Array.from({ length: 5 }, () => {
        const before = process.cpuUsage();
        try {
          parse(text);
        } catch {
          // Refused or not: the time counts.
        }
        const { user, system } = process.cpuUsage(before);
        return (user + system) / 1_000;
      });
      expect(Math.min(...runs)).toBeLessThan(200);
    }
  });
});

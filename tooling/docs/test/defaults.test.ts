/** A reference takes the default of an option from its comment: the code must have the same one. */
import { expect, test } from '@jest/globals';
import { defaults, defaultsOf } from '../src/reference/defaults.js';

test('the default in the comment of an option is that of the code', () => {
  const found = defaults();
  expect(found.length).toBeGreaterThan(100);
  const different = found.filter(({ promised, values }) => !values.includes(promised));
  expect(different).toEqual([]);
});

test('numbers, sizes, products and words are read', () => {
  const text = `
    const DAY_MS = 1_000;
    const DEFAULTS = { keepMs: 3 * DAY_MS, bytes: 2_097_152, fair: true, order: 'score', other: {} } as const;
    interface Options {
      /** Kept. Default 3 s. */ keepMs?: number;
      /** Default 2 MiB. */ bytes?: number;
      /** Default \`true\`. */ fair?: boolean;
      /** Default: \`score\`. */ order?: string;
      /** Default: none. */ other?: object;
    }`;
  expect(defaultsOf('a', text)).toEqual([
    { option: 'a: keepMs', promised: 3_000, values: [3_000] },
    { option: 'a: bytes', promised: 2_097_152, values: [2_097_152] },
    { option: 'a: fair', promised: true, values: [true] },
    { option: 'a: order', promised: 'score', values: ['score'] },
  ]);
});

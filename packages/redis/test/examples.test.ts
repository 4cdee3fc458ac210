import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { formatWithOptions } from 'node:util';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { TEST_REDIS } from './clients.js';

const root = join(import.meta.dirname, '..');
const examples = readdirSync(join(root, 'examples'));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

afterEach(() => {
  jest.restoreAllMocks();
});

describe('examples', () => {
  test.each(examples)('%s prints what it says', async (file) => {
    process.env['REDIS_URL'] = TEST_REDIS;
    const printed: string[] = [];
    jest.spyOn(console, 'log').mockImplementation((...values: unknown[]) => {
      printed.push(...formatWithOptions({ colors: false }, ...values).split('\n'));
    });
    await import(`../examples/${file}`);
    const [, output = ''] = read(`examples/${file}`).split('\n// Output:\n');
    expect(printed.map((line) => `// ${line}`)).toEqual(output.trimEnd().split('\n'));
  });

  test('the first example of the README is one of them', () => {
    const [, first] = /```ts\n(.*?)```/s.exec(read('README.md')) ?? [];
    expect(examples.map((file) => read(`examples/${file}`))).toContain(first);
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatWithOptions } from 'node:util';
import { describe, expect, jest, test } from '@jest/globals';

const root = join(import.meta.dirname, '..');
const examples = readdirSync(join(root, 'examples')).filter((file) => file.endsWith('.ts'));

function sourceOf(file: string): string {
  return readFileSync(join(root, 'examples', file), 'utf8');
}

describe('examples', () => {
  test.each(examples)('%s prints what it says', async (file) => {
    process.env['REDIS_URL'] = process.env['MORTISE_TEST_REDIS'];
    const printed: string[] = [];
    const log = jest.spyOn(console, 'log').mockImplementation((...values: unknown[]) => {
      printed.push(...formatWithOptions({ colors: false }, ...values).split('\n'));
    });
    try {
      await import(`../examples/${file.replace(/\.ts$/, '.js')}`);
    } finally {
      log.mockRestore();
    }
    const [, output = ''] = sourceOf(file).split('// Output:\n');
    expect(printed.map((line) => `// ${line}`.trimEnd())).toEqual(output.trimEnd().split('\n'));
  });

  test('the first example of the README is a whole example', () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const [, first] = /```ts\n(.*?)```/s.exec(readme) ?? [];
    expect(examples.map(sourceOf)).toContain(first);
  });
});

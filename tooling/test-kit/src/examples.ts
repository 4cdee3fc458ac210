import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { runExample } from './run-example.js';

/** The tests of a package's examples: each prints its `// Output:` block, and the README begins with one of them. */
export function describeExamples(root: string): void {
  const directory = join(root, 'examples');
  const examples = readdirSync(directory).filter((file) => file.endsWith('.ts'));
  const sourceOf = (file: string): string => readFileSync(join(directory, file), 'utf8');

  describe('examples', () => {
    test.each(examples)('%s prints what it says', async (file) => {
      const printed = await runExample(join(directory, file));
      const [, output = ''] = sourceOf(file).split('// Output:\n');
      expect(printed.map((line) => `// ${line}`.trimEnd())).toEqual(output.trimEnd().split('\n'));
    });

    test('the first example of the README is a whole example', () => {
      const readme = readFileSync(join(root, 'README.md'), 'utf8');
      const [, first] = /```ts\n(.*?)```/s.exec(readme) ?? [];
      expect(examples.map(sourceOf)).toContain(first);
    });
  });
}

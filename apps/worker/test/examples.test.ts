import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { runExample } from '@mortise/test-kit';

test('week-of-logs.ts prints what it says', async () => {
  const file = fileURLToPath(new URL('../examples/week-of-logs.ts', import.meta.url));
  const [, output = ''] = readFileSync(file, 'utf8').split('// Output:\n');
  const printed = await runExample(file);
  expect(printed.map((line) => `// ${line}`)).toEqual(output.trimEnd().split('\n'));
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runExample } from '@mortise/test-kit';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { KEY, Service } from './fixture/service.js';

const service = new Service();
beforeAll(() => service.start([]), 120_000);
afterAll(() => service.stop());

test('chat.ts prints what it says', async () => {
  const file = fileURLToPath(new URL('../examples/chat.ts', import.meta.url));
  process.env['API_URL'] = service.url;
  process.env['API_KEY'] = KEY;
  const [, output = ''] = readFileSync(file, 'utf8').split('// Output:\n');
  const printed = await runExample(file);
  expect(printed.map((line) => `// ${line}`)).toEqual(output.trimEnd().split('\n'));
});

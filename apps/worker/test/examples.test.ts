import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { runExample } from '@mortise/test-kit';

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

function outputOf(example: string): string[] {
  const [, output = ''] = readFileSync(fileOf(`../examples/${example}`), 'utf8').split('// Output:\n');
  return output.trimEnd().split('\n');
}

test('week-of-logs.ts prints what it says', async () => {
  const printed = await runExample(fileOf('../examples/week-of-logs.ts'));
  expect(printed.map((line) => `// ${line}`)).toEqual(outputOf('week-of-logs.ts'));
});

test('sale.ts, with an API and a worker of its own, prints what it says', async () => {
  const child = spawn(process.execPath, [fileOf('../dist/examples/sale.js')], {
    env: {
      REDIS_URL: process.env['MORTISE_TEST_REDIS'],
      REDIS_COMMAND_TIMEOUT_MS: '15000',
      REQUEST_DEADLINE_MS: '15000',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  const lines = printed.trimEnd().split('\n');
  expect([code, ...lines.map((line) => `// ${line}`)]).toEqual([0, ...outputOf('sale.ts')]);
});

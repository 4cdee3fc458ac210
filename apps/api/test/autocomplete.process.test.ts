/** The example of guilds as it is run, with the program itself. It is the build. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { afterAll, expect, test } from '@jest/globals';

import { LONG_TIMEOUTS } from './fixture/api.js';
import { REDIS_URL } from './fixture/redis.js';

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
let child: ChildProcess | undefined;
afterAll(() => {
  child?.kill('SIGKILL');
});

test('the example completes, picks and refuses as it says', async () => {
  child = spawn(process.execPath, [fileOf('../dist/examples/guild-mentions.js')], {
    env: { ...process.env, REDIS_URL, ...LONG_TIMEOUTS },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed, [code]] = await Promise.all([text(child.stdout!), once(child, 'exit')]);
  const [, output = ''] = readFileSync(fileOf('../examples/guild-mentions.ts'), 'utf8').split('// Output:\n');
  expect(
    printed
      .trimEnd()
      .split('\n')
      .map((line) => `// ${line}`),
  ).toEqual(output.trimEnd().split('\n'));
  expect(code).toBe(0);
}, 200_000);

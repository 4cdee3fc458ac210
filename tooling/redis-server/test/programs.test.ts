import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from '@jest/globals';
import { run } from '@mortise/server-process';

it('a program that is still open for writing runs when it is closed', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'mortise-test-'));
  const path = join(directory, 'program');
  const file = openSync(path, 'w');
  writeSync(file, '#!/bin/sh\necho done\n');
  chmodSync(path, 0o755);
  const running = run(path, [], { env: { PATH: '/usr/bin:/bin' } });
  setTimeout(() => closeSync(file), 50);
  expect(await running).toBe('done\n');
  rmSync(directory, { recursive: true });
});

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { APPS, read } from '../../src/repository.js';

/** In tenths: what `systemd-analyze security` may count against a unit. */
const MAX_EXPOSURE = 15;
const folder = mkdtempSync(join(tmpdir(), 'units-'));
afterAll(() => rmSync(folder, { recursive: true }));

function analyze(app: string, ...args: string[]): { status: number | null; output: string } {
  const unit = join(folder, `mortise-${app}.service`);
  // It wants the program to be there.
  writeFileSync(
    unit,
    read(`deploy/systemd/mortise-${app}.service`).replace('/usr/bin/node', process.execPath),
  );
  const { status, stdout, stderr } = spawnSync('systemd-analyze', [...args, unit], { encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

test.each(APPS)('systemd accepts the unit of the %s', (app) => {
  expect(analyze(app, 'verify')).toEqual({ status: 0, output: '' });
});

test.each(APPS)('systemd finds little that the unit of the %s leaves open', (app) => {
  const { status, output } = analyze(
    app,
    'security',
    '--no-pager',
    '--offline=true',
    `--threshold=${MAX_EXPOSURE}`,
  );
  expect({ status, end: output.trimEnd().split('\n').at(-1) }).toEqual({
    status: 0,
    end: expect.stringContaining('OK'),
  });
});

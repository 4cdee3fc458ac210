/**
 * The packed `KeyvStore` under the suite of Keyv 5, and under Keyv 6. npm installs them into folders: the suite has dozens of
 * dependencies, and Keyv 6 says that it needs Node 22.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Project, tool } from '../src/project.js';

const { version: ioredis } = JSON.parse(readFileSync(tool('ioredis/package.json'), 'utf8')) as {
  readonly version: string;
};
const { NODE_OPTIONS: _, JEST_WORKER_ID: __, NODE_ENV: ___, ...inherited } = process.env;
const env = { ...inherited, REDIS_URL: process.env['MORTISE_TEST_REDIS']! };

let project: Project;
beforeAll(() => {
  project = new Project();
});
afterAll(() => project[Symbol.dispose]());

/** A folder with the programs, the packages and others by name. */
function folderWith(name: string, packages: readonly string[]): string {
  const folder = join(project.path, name);
  project.write(`${name}/package.json`, { name, private: true });
  cpSync(join(project.path, 'keyv'), folder, { recursive: true });
  const packed = readdirSync(project.packed)
    .filter((file) => /^mortise-(cache|redis)-/.test(file))
    .map((file) => join(project.packed, file));
  const options = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', '--loglevel=error'];
  const all = [...packages, `ioredis@${ioredis}`, ...packed];
  execFileSync('npm', ['install', ...options, ...all], { cwd: folder, env, stdio: 'pipe' });
  return folder;
}

function run(folder: string, args: readonly string[]): { code: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...env, PREFIX: `test-${randomUUID()}`, NO_COLOR: '1' },
  });
  return { code: status, output: stdout + stderr };
}

test('the suite of Keyv 5 passes', () => {
  const folder = folderWith('five', ['keyv@5.6.0', '@keyv/test-suite@2.1.2', 'vitest@4']);
  const { code, output } = run(folder, ['node_modules/vitest/vitest.mjs', 'run', '--pool=forks']);
  expect(output).toMatch(/Tests +3\d passed \(3\d\)/);
  expect(code).toBe(0);
});

test('the calls of Keyv 6 work', () => {
  const folder = folderWith('six', ['keyv@6.1.0']);
  const { code, output } = run(folder, ['six.mjs']);
  expect(output.trim().split('\n')).toEqual([
    'null',
    '0',
    '',
    'text',
    '{ a: [ 1 ] }',
    '<Buffer 00 ff>',
    '[ true, true ]',
    '[ 2, undefined ] true [ true, false ]',
    'true false of bob',
    '4 undefined',
    'undefined',
  ]);
  expect(code).toBe(0);
});

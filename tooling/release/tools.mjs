/** The tools of a release. They are installed when one is made: some hundred packages that no other work needs. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../start/pnpm.mjs';

const MANIFEST = JSON.stringify({
  private: true,
  // Newer majors of changesets and verdaccio ask for Node 22.
  dependencies: {
    '@arethetypeswrong/cli': '0.18.5',
    '@changesets/cli': '2.31.1',
    publint: '0.3.25',
    verdaccio: '6.5.0',
  },
  // Verdaccio asks for it by a tag, which not every mirror of npm has.
  overrides: { 'node-fetch': '2.7.0' },
});
const directory = join(root, '.cache/release-tools');

export function installTools() {
  const manifest = join(directory, 'package.json');
  const isInstalled =
    existsSync(join(directory, 'node_modules')) && readFileSync(manifest, 'utf8') === MANIFEST;
  if (isInstalled) return;
  mkdirSync(directory, { recursive: true });
  writeFileSync(manifest, MANIFEST);
  run(['npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']], {
    cwd: directory,
  });
}

/** The command that runs a tool, for `spawn`. */
export function tool(name, ...args) {
  return [join(directory, 'node_modules/.bin', name), args];
}

/** @returns {string} what it printed */
export function run([command, args], options = {}) {
  return execFileSync(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options, encoding: 'utf8' });
}

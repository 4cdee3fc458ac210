/** Builds and packs the packages of a checkout, and looks into what was packed. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { packagesOf } from './packages.mjs';
import { run, tool } from './tools.mjs';

/** @returns the packages, each with the path of its tarball */
export function pack(root, destination) {
  mkdirSync(destination, { recursive: true });
  const pnpm = (...args) =>
    run([process.execPath, [join(root, 'tooling/start/pnpm.mjs'), ...args]], { cwd: root });
  pnpm('install', '--frozen-lockfile', '--prefer-offline');
  pnpm('exec', 'turbo', 'run', 'build', '--filter=./packages/*');
  return packagesOf(root).map((item) => {
    pnpm(`--filter=${item.name}`, 'pack', '--pack-destination', destination);
    const file = `${item.name.replace('@', '').replace('/', '-')}-${item.version}.tgz`;
    return { ...item, tarball: join(destination, file) };
  });
}

/** Throws with the tool's own report when Node, bundlers or TypeScript would not find their way. */
export function check({ name, tarball }) {
  for (const command of [tool('publint', tarball, '--strict'), tool('attw', tarball)]) {
    try {
      run(command);
    } catch (error) {
      throw new Error(`${name}: ${command.flat().join(' ')}\n${error.stdout}${error.stderr}`, {
        cause: error,
      });
    }
  }
}

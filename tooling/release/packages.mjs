/** The packages that are published, each after those that it needs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDERS = ['redis', 'locks', 'queues', 'messaging', 'autocomplete', 'cache', 'console', 'client'];

/** @param {string} root of a checkout */
export function packagesOf(root) {
  return FOLDERS.map((folder) => {
    const directory = join(root, 'packages', folder);
    const { name, version } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
    return { name, version, directory };
  });
}

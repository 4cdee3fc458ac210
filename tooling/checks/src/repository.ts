import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

export const PACKAGES = [
  'redis',
  'locks',
  'queues',
  'messaging',
  'autocomplete',
  'cache',
  'console',
  'client',
] as const;

const { repository } = JSON.parse(read('packages/redis/package.json')) as { repository: { url: string } };
/** The address of a file of the repository begins so. */
export const ADDRESS = `${repository.url.replace(/^git\+|\.git$/g, '')}/blob/main`;

/** Every file of the repository that git tracks or would track, relative to the root. */
export function files(...patterns: string[]): string[] {
  return execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', '--', ...patterns],
    { cwd: root, encoding: 'utf8' },
  )
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(root, file)));
}

export function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

export const APPS = ['api', 'worker'] as const;
export type App = (typeof APPS)[number];

export function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

import { readFileSync } from 'node:fs';

/** Version of an installed package. */
export function versionOf(name: string): string {
  for (
    let folder = new URL('.', import.meta.resolve(name));
    folder.pathname !== '/';
    folder = new URL('..', folder)
  ) {
    const manifest = manifestIn(folder);
    if (manifest?.name === name && manifest.version) return manifest.version.replace(/^v/, '');
  }
  throw new Error(`the package.json of ${name} was not found`);
}

function manifestIn(folder: URL): { name?: string; version?: string } | undefined {
  try {
    return JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as { name?: string };
  } catch {
    return undefined;
  }
}

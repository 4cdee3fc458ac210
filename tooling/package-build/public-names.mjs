/**
 * An entry for NestJS and a command-line program use the classes of the other entries. A copy of their own would break
 * injection by class and `instanceof`. So a bundle takes what another entry exports from the file of that entry. Other
 * entries (`/quorum`, `/sqlite`) copy what they share with the main one: they would load all of it otherwise.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/**
 * The exports of an entry, by module. An index consists of named re-exports.
 *
 * @param {string} index
 * @returns {Map<string, string[]>} names by file
 */
function exportedBy(index) {
  const lines = readFileSync(index, 'utf8').matchAll(/^export \{([^}]*)\} from '(\.[^']*)';$/gm);
  /** @type {Map<string, string[]>} */
  const names = new Map();
  for (const [, list = '', target = ''] of lines) {
    const file = resolve(dirname(index), target);
    const listed = list.split(',').map((name) => name.trim());
    names.set(file, [...(names.get(file) ?? []), ...listed.filter((name) => name !== '')]);
  }
  return names;
}

/**
 * @param {string} compiled the folder with the compiled modules
 * @param {readonly string[]} entries the modules of the other entries; the first that exports a name gives it
 * @param {(entry: string) => string} pathOf how the bundle imports an entry
 * @returns {import('esbuild').Plugin}
 */
export function publicNames(compiled, entries, pathOf) {
  /** @type {Map<string, Map<string, string>>} for each file the names and what they are imported from */
  const files = new Map();
  for (const entry of entries) {
    for (const [file, names] of exportedBy(join(compiled, `${entry}.js`))) {
      const sources = files.get(file) ?? new Map();
      files.set(file, sources);
      for (const name of names) if (!sources.has(name)) sources.set(name, pathOf(entry));
    }
  }
  return {
    name: 'public names',
    setup(build) {
      build.onResolve({ filter: /^\./ }, ({ path, resolveDir, namespace, pluginData }) => {
        if (namespace === 'public') return pluginData === 'own' ? undefined : { path, external: true };
        const file = resolve(resolveDir, path);
        return files.has(file) ? { path: file, namespace: 'public', sideEffects: false } : undefined;
      });
      build.onResolve({ filter: /^own:/ }, ({ path }) => ({
        path: path.slice('own:'.length),
        sideEffects: false,
      }));
      build.onLoad({ filter: /.*/, namespace: 'public' }, ({ path }) => ({
        // A name of its own takes precedence over `export *`.
        contents: [
          `export * from ${JSON.stringify(`own:${path}`)};`,
          ...Array.from(
            files.get(path) ?? [],
            ([name, from]) => `export { ${name} } from ${JSON.stringify(from)};`,
          ),
        ].join('\n'),
        resolveDir: dirname(path),
      }));
    },
  };
}

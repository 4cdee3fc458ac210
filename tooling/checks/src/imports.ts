import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { files, read, root } from './repository.js';

/** The folders of sources, such as `packages/cache/src`. */
export const SOURCES = [...new Set(files('packages/*/package.json', 'apps/*/package.json'))]
  .filter((file) => file.split('/').length === 3)
  .map((file) => `${dirname(file)}/src`);

const STATIC = /^(?:import (?:[^;'"]* from )?|export [^;'"=()]* from )'([^'\n]+)'/gm;

/** The modules that a file imports, of types too. */
function importsOf(file: string): string[] {
  return Array.from(
    read(file).matchAll(new RegExp(`${STATIC.source}|\\bimport\\('([^'\\n]+)'\\)`, 'gm')),
    ([, target, lazy]) => target ?? lazy!,
  );
}

/** The file that a relative import means. */
function fileOf(importing: string, target: string): string | undefined {
  if (!target.startsWith('.')) return undefined;
  const path = join(dirname(importing), target);
  return [path, path.replace(/\.js$/, '.ts'), path.replace(/\.mjs$/, '.mts')].find((file) =>
    existsSync(join(root, file)),
  );
}

/** For each place: the places that it imports. */
type Graph = Map<string, Map<string, string>>;

/**
 * The circles between the files and folders of a folder, for each folder below `source`. A folder imports what its files
 * import, except from itself. A circle is shown with an import for each of its steps.
 */
export function circlesIn(source: string): string[] {
  const graphs = new Map<string, Graph>();
  for (const file of files(`${source}/*.ts`, `${source}/**/*.ts`)) {
    for (const target of importsOf(file)) {
      const imported = fileOf(file, target);
      if (imported === undefined || imported === file) continue;
      const [from, to] = [file.split('/'), imported.split('/')];
      const shared = from.findIndex((part, index) => part !== to[index]);
      const folder = from.slice(0, shared).join('/');
      const [importing, used] = [from[shared]!, to[shared]!];
      const graph = graphs.get(folder) ?? new Map<string, Map<string, string>>();
      graphs.set(folder, graph);
      const steps = graph.get(importing) ?? new Map<string, string>();
      graph.set(importing, steps);
      if (!steps.has(used)) steps.set(used, `${file} → ${imported}`);
    }
  }
  return [...graphs].flatMap(([folder, graph]) => circlesOf(graph).map((circle) => `${folder}: ${circle}`));
}

/** One shortest circle for each place that is in one, each circle once. */
function circlesOf(graph: Graph): string[] {
  const found = new Map<string, string>();
  for (const start of graph.keys()) {
    const paths: string[][] = [[start]];
    const seen = new Set<string>();
    for (let path = paths.shift(); path; path = paths.shift()) {
      const next = [...(graph.get(path.at(-1)!)?.keys() ?? [])];
      if (next.includes(start)) {
        const circle = [...path, start];
        const steps = path.map((place, index) => graph.get(place)!.get(circle[index + 1]!)!);
        found.set(path.toSorted().join(), `${circle.join(' → ')} (${steps.join(', ')})`);
        break;
      }
      for (const place of next.filter((each) => !seen.has(each))) {
        seen.add(place);
        paths.push([...path, place]);
      }
    }
  }
  return [...found.values()];
}

/** For each entry of a package: the folders of its source that are loaded with it, and the foreign modules. */
export function loadedByEntry(name: string): Record<string, string> {
  const directory = `packages/${name}`;
  const { exports } = JSON.parse(read(`${directory}/package.json`)) as {
    readonly exports: Readonly<Record<string, string | { readonly '@mortise/source': string }>>;
  };
  return Object.fromEntries(
    Object.entries(exports).flatMap(([entry, target]) => {
      if (typeof target === 'string') return [];
      const { sources, foreign } = loadedWith(join(directory, target['@mortise/source']));
      const folders = sources.map((file) => dirname(file).slice(`${directory}/src/`.length).split('/')[0]!);
      const listed = [folders.filter(Boolean), foreign].map((each) => [...new Set(each)].toSorted());
      return [[entry, listed.map((each) => each.join(' ') || '-').join(' | ')]];
    }),
  );
}

function loadedWith(entry: string): { sources: readonly string[]; foreign: readonly string[] } {
  const sources = [entry];
  const foreign: string[] = [];
  for (const file of sources) {
    const text = read(file).replaceAll(/^(?:import|export) type\b[^;]*;/gm, '');
    for (const [, target] of text.matchAll(STATIC)) {
      const source = fileOf(file, target!);
      if (source === undefined) {
        if (!target!.startsWith('node:')) foreign.push(target!);
      } else if (!sources.includes(source)) sources.push(source);
    }
  }
  return { sources, foreign };
}

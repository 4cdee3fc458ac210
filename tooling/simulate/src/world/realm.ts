/**
 * Loads the built packages anew for each virtual process: modules keep state, such as timers that all locks of a process share.
 * Each file is compiled once and run for each process, with the names of the door. A mutation changes its text before.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { buildSync } from 'esbuild';
import type { Door } from './door.js';

/** Changes the text of a file as it is loaded. */
export interface Change {
  /** A package, such as `locks`. */
  readonly package: string;
  readonly find: string;
  readonly replacement: string;
}

const PACKAGES = fileURLToPath(new URL('../../../../packages', import.meta.url));
/** They are built as ES modules only. */
const APPS = join(PACKAGES, '../apps');
const NAMES = [
  'setTimeout',
  'setInterval',
  'clearTimeout',
  'clearInterval',
  'setImmediate',
  'clearImmediate',
  'Date',
  'performance',
  'Math',
  'AbortSignal',
  'FinalizationRegistry',
  'console',
  'crypto',
  'globalThis',
] as const;

type Body = (...args: unknown[]) => void;
interface Module {
  exports: unknown;
}

/** The compiled files of one text of the packages. */
export class Sources {
  readonly #bodies = new Map<string, Body>();
  readonly #changes: readonly Change[];
  readonly #applied = new Set<Change>();

  constructor(changes: readonly Change[] = []) {
    this.#changes = changes;
  }

  /** Changes whose text was found in no file that a process has loaded. */
  get unused(): Change[] {
    return this.#changes.filter((change) => !this.#applied.has(change));
  }

  body(path: string): Body {
    let body = this.#bodies.get(path);
    if (!body) {
      const wrapped = `(function (require, module, exports, ${NAMES.join(', ')}) {${this.#text(path)}\n})`;
      body = new Script(wrapped, { filename: path }).runInThisContext() as Body;
      this.#bodies.set(path, body);
    }
    return body;
  }

  #text(path: string): string {
    let text = path.startsWith(APPS) ? bundled(path) : readFileSync(path, 'utf8');
    for (const change of this.#changes) {
      // A script is a string on one line.
      const [find, replacement] = [change.find, change.replacement].map((part) =>
        part.replaceAll('\n', String.raw`\n`),
      ) as [string, string];
      if (!path.startsWith(join(PACKAGES, change.package, 'dist')) || !text.includes(find)) continue;
      text = text.replaceAll(find, () => replacement);
      this.#applied.add(change);
    }
    return text;
  }
}

/** The modules of one process. */
export class Realm {
  readonly #sources: Sources;
  readonly #door: Door;
  readonly #modules = new Map<string, Module>();
  readonly #globals: readonly unknown[];

  constructor(sources: Sources, door: Door) {
    this.#sources = sources;
    this.#door = door;
    this.#globals = NAMES.map((name) => door.globals[name]);
  }

  /** @param name Such as `@mortise/locks` or `@mortise/redis/testing`. */
  load<Exports>(name: string): Exports {
    return this.#run(pathOf(name)) as Exports;
  }

  #run(path: string): unknown {
    const known = this.#modules.get(path);
    if (known) return known.exports;
    const module: Module = { exports: {} };
    this.#modules.set(path, module);
    const require = (name: string): unknown => this.#require(name, path);
    this.#sources.body(path)(require, module, module.exports, ...this.#globals);
    return module.exports;
  }

  #require(name: string, from: string): unknown {
    if (name.startsWith('@mortise/')) return this.#run(pathOf(name));
    if (name.startsWith('.')) return this.#run(join(dirname(from), name));
    return this.#door.modules.get(name) ?? (createRequire(from)(name) as unknown);
  }
}

/** As CommonJS, without the packages, of which each process has its own. */
function bundled(path: string): string {
  const { outputFiles } = buildSync({
    entryPoints: [path],
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'node',
    external: ['@mortise/*'],
  });
  return outputFiles[0]!.text;
}

function pathOf(name: string): string {
  const [, folder = '', ...entry] = name.split('/');
  if (folder === 'api') return join(APPS, folder, 'dist', ...entry, 'index.js');
  const base = join(PACKAGES, folder, 'dist/cjs', ...entry);
  const index = join(base, 'index.js');
  return existsSync(index) ? index : `${base}.js`;
}

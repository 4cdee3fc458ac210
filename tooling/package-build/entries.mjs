/** The published parts of a package: its entries and programs, and the fields of package.json that follow from them. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The entry in the folder `src` itself is the main one: `.` of `exports`. */
const MAIN = '.';

/**
 * The modules to bundle, as paths without extension below `src`: `index`, `nestjs/index`.
 *
 * @param {{ readonly exports: Readonly<Record<string, unknown>> }} manifest
 * @returns {Map<string, string>} by name of the entry: `.`, `./nestjs`
 */
export function entriesOf(manifest) {
  return new Map(
    Object.entries(manifest.exports).flatMap(([name, target]) => {
      const source = /** @type {{ '@mortise/source'?: string }} */ (target)['@mortise/source'];
      return source === undefined ? [] : [[name, moduleOf(source)]];
    }),
  );
}

/**
 * Modules that run in a thread of their own. Each lies beside the entry that starts it, in both forms.
 *
 * @param {string} directory of the package
 * @returns {string[]} paths without extension below `src`
 */
export function threadsOf(directory) {
  return readdirSync(join(directory, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('-main.ts'))
    .map((file) => file.replaceAll('\\', '/').slice(0, -'.ts'.length));
}

/**
 * Command-line programs: ES modules only.
 *
 * @param {{ bin?: Record<string, string> }} manifest
 * @returns {string[]} paths without extension below `src` and below `dist`
 */
export function programsOf(manifest) {
  return Object.values(manifest.bin ?? {}).map((file) =>
    file.replace(/^\.\/dist\//, '').replace(/\.js$/, ''),
  );
}

/** @param {string} source `./src/nestjs/index.ts` */
function moduleOf(source) {
  return source.replace(/^\.\/src\//, '').replace(/\.ts$/, '');
}

/**
 * The fields that find each entry: for Node, bundlers and TypeScript of any age.
 *
 * `module-sync` stands first: Node loads the ES module for `require()` too, so a process that mixes both has one instance
 * of each class. Tools that don't know the condition (jest, older bundlers, TypeScript) take `import` or `require`.
 *
 * @param {ReadonlyMap<string, string>} entries
 * @param {{ withSources: boolean }} options
 */
export function exportsOf(entries, { withSources }) {
  const targets = [...entries].map(([name, module]) => {
    const form = (/** @type {string} */ folder) => ({
      types: `./dist/${folder}/${module}.d.ts`,
      default: `./dist/${folder}/${module}.js`,
    });
    const source = withSources ? { '@mortise/source': `./src/${module}.ts` } : {};
    const [esm, cjs] = [form('esm'), form('cjs')];
    return [name, { ...source, 'module-sync': esm.default, import: esm, require: cjs }];
  });
  return { ...Object.fromEntries(targets), './package.json': './package.json' };
}

/**
 * For TypeScript with `moduleResolution: node10`, which doesn't read `exports`.
 *
 * @param {ReadonlyMap<string, string>} entries
 */
export function typesVersionsOf(entries) {
  const others = [...entries].filter(([name]) => name !== MAIN);
  return {
    '*': Object.fromEntries(others.map(([name, module]) => [name.slice(2), [`./dist/cjs/${module}.d.ts`]])),
  };
}

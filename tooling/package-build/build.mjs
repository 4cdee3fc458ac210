/**
 * Builds the published files of the package in the current directory from what the compiler wrote into dist/tsc: one ES
 * module and one CommonJS module for each entry, with declarations beside each, and a file for what the main entry shares with one that has
 * nearly all of its parts. docs/decisions/0018-two-module-forms.md says why.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build as bundle, transform } from 'esbuild';
import { classNames } from './class-names.mjs';
import { copyDeclarations } from './declarations.mjs';
import { entriesOf, programsOf, threadsOf } from './entries.mjs';
import { publicNames } from './public-names.mjs';

const COMPILED = join(process.cwd(), 'dist/tsc');
const [ESM, CJS] = [join(process.cwd(), 'dist/esm'), join(process.cwd(), 'dist/cjs')];
/** These entries use the classes of other entries. */
const USERS = new Set(['./nestjs', './nestjs/bullmq', './log-aggregation', './keyv', './react', './testing']);

/** Entries that have nearly all parts of the main one. */
const SHARERS = new Set(['./bullmq']);
const SHARED_FILE = 'engine';

/** Gives a CommonJS module its `import.meta.url`. */
const OWN_URL = fileURLToPath(new URL('import-meta-url.mjs', import.meta.url));

/** @type {import('esbuild').BuildOptions} */
const COMMON = {
  bundle: true,
  packages: 'external',
  platform: 'node',
  target: 'node20.19',
  legalComments: 'none',
  logLevel: 'warning',
};

/**
 * Doc comments are in the declarations. esbuild would keep those of fields.
 *
 * @type {import('esbuild').Plugin}
 */
const withoutDocumentation = {
  name: 'without documentation',
  setup(build) {
    build.onLoad({ filter: /\.js$/, namespace: 'file' }, ({ path }) =>
      path.startsWith(COMPILED)
        ? { contents: readFileSync(path, 'utf8').replaceAll(/^ *\/\*\*[^]*?\*\/\n/gm, '') }
        : undefined,
    );
  },
};

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const entries = entriesOf(manifest);
const threads = threadsOf(process.cwd());
const programs = programsOf(manifest);
const shared = [...entries].flatMap(([name, module]) =>
  USERS.has(name) || name === './otel' ? [] : [module],
);

// Turbo keeps all of dist for other checkouts. Files of an earlier build would stay among them.
for (const name of readdirSync('dist')) {
  if (name !== 'tsc') rmSync(join('dist', name), { recursive: true });
}
mkdirSync(CJS);
// Node reads the form of a .js file from the package.json above it.
writeFileSync(join(CJS, 'package.json'), '{ "type": "commonjs" }\n');
copyDeclarations(COMPILED, [...entries.values()], [ESM, CJS]);
const sharing = [...entries].filter(([name]) => SHARERS.has(name)).map(([, module]) => module);
if (sharing.length > 0) sharing.push(/** @type {string} */ (entries.get('.')));
await Promise.all([
  ...(sharing.length > 0 ? [withSharedFile(sharing)] : []),
  ...[...entries].flatMap(([name, module]) => {
    if (sharing.includes(module)) return [];
    const usesOthers = USERS.has(name);
    return [esModule(module, { usesOthers }), commonJs(module, { usesOthers })];
  }),
  ...threads.flatMap((module) => [esModule(module), commonJs(module, { isThread: true })]),
  ...programs.map((module) => esModule(module, { folder: join(process.cwd(), 'dist'), usesOthers: true })),
]);

/**
 * @param {string} module
 * @param {{ folder?: string, usesOthers?: boolean }} options
 */
function esModule(module, { folder = ESM, usesOthers = false } = {}) {
  const outfile = join(folder, `${module}.js`);
  return bundle({
    ...COMMON,
    entryPoints: [join(COMPILED, `${module}.js`)],
    format: 'esm',
    outfile,
    plugins: pluginsOf(outfile, ESM, usesOthers),
  });
}

/**
 * @param {string} module
 * @param {{ usesOthers?: boolean, isThread?: boolean }} options
 */
async function commonJs(module, { usesOthers = false, isThread = false } = {}) {
  const outfile = join(CJS, `${module}.js`);
  /** @type {import('esbuild').BuildOptions & { outfile: string }} */
  const options = {
    ...COMMON,
    entryPoints: [join(COMPILED, `${module}.js`)],
    format: 'cjs',
    outfile,
    plugins: pluginsOf(outfile, CJS, usesOthers),
    // A thread imports a module of the user, of any form. Other dynamic imports become `require`, which jest can load.
    supported: { 'dynamic-import': isThread },
    define: { 'import.meta.url': 'importMetaUrl' },
  };
  await bundle(options);
  // Most modules don't ask where they are.
  if (readFileSync(outfile, 'utf8').includes('importMetaUrl'))
    await bundle({ ...options, inject: [OWN_URL] });
}

/**
 * Bundles entries together, with what they share in a file of its own. esbuild splits ES modules alone, so each file of the CommonJS form
 * is translated from one.
 *
 * @param {readonly string[]} modules
 */
async function withSharedFile(modules) {
  await bundle({
    ...COMMON,
    entryPoints: modules.map((module) => ({ in: join(COMPILED, `${module}.js`), out: module })),
    format: 'esm',
    splitting: true,
    chunkNames: SHARED_FILE,
    outdir: ESM,
    plugins: [withoutDocumentation, classNames],
  });
  await Promise.all(
    [...modules, SHARED_FILE].map(async (module) => {
      const code = readFileSync(join(ESM, `${module}.js`), 'utf8');
      if (code.includes('import.meta')) throw new Error(`${module}.js asks where it is`);
      const translated = await transform(code, {
        format: 'cjs',
        platform: 'node',
        target: 'node20.19',
        supported: { 'dynamic-import': false },
        banner: '"use strict";',
      });
      mkdirSync(dirname(join(CJS, module)), { recursive: true });
      writeFileSync(join(CJS, `${module}.js`), translated.code);
    }),
  );
}

/**
 * @param {string} outfile
 * @param {string} form
 * @param {boolean} usesOthers
 * @returns {import('esbuild').Plugin[]}
 */
function pluginsOf(outfile, form, usesOthers) {
  if (!usesOthers) return [withoutDocumentation, classNames];
  const pathOf = (/** @type {string} */ entry) => {
    const path = relative(dirname(outfile), join(form, `${entry}.js`)).replaceAll('\\', '/');
    return path.startsWith('.') ? path : `./${path}`;
  };
  return [publicNames(COMPILED, shared, pathOf), withoutDocumentation, classNames];
}

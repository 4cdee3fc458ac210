/** Type-checks the fragments of documents as modules against the sources of the packages, by one run of the compiler. */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Fragment } from './blocks.js';
import { root } from './pages.js';

const folder = join(root, 'tooling/docs');

export interface Placed extends Pick<Fragment, 'line' | 'language' | 'source'> {
  /** Of the document, relative to the repository. */
  readonly file: string;
}

/** A user need not set these. */
const UNSET = {
  noUnusedLocals: false,
  noUnusedParameters: false,
  noImplicitReturns: false,
  exactOptionalPropertyTypes: false,
  noUncheckedIndexedAccess: false,
  noPropertyAccessFromIndexSignature: false,
};

const NODE = {
  declarations: 'src/fragments/reader.d.ts',
  options: {
    experimentalDecorators: true,
    // The package that users install has the types of this one, and more.
    paths: { redis: [join(folder, 'node_modules/@redis/client/dist/index.d.ts')] },
  },
};

const react = (name: string): string => join(root, 'packages/client/node_modules/@types', name);
const BROWSER = {
  declarations: 'src/browser/reader.d.ts',
  options: {
    lib: ['es2023', 'esnext.disposable', 'dom', 'dom.iterable'],
    types: [],
    jsx: 'react-jsx',
    paths: {
      react: [join(react('react'), 'index.d.ts')],
      'react/jsx-runtime': [join(react('react'), 'jsx-runtime.d.ts')],
      'react-dom/client': [join(react('react-dom'), 'client.d.ts')],
    },
  },
};
/** JavaScript has no types that could be strict. */
const PLAIN = { allowJs: true, checkJs: true, strict: false };

/** The errors, each with the place in its document. @param modules Where the imports find dependencies. */
export async function errorsIn(modules: string, fragments: readonly Placed[]): Promise<string[]> {
  const ofLanguage = (wanted: Fragment['language']): Placed[] =>
    fragments.filter(({ language }) => language === wanted);
  const errors = await Promise.all([
    compiled(join(modules, 'node'), NODE, {}, ofLanguage('ts')),
    compiled(join(modules, 'browser'), BROWSER, {}, ofLanguage('tsx')),
    compiled(join(modules, 'plain'), BROWSER, PLAIN, ofLanguage('js')),
  ]);
  return errors.flat();
}

async function compiled(
  modules: string,
  { declarations, options }: typeof NODE | typeof BROWSER,
  more: object,
  fragments: readonly Placed[],
): Promise<string[]> {
  const files = fragments.map(({ file, line, language, source }) => {
    const path = join(modules, `${file}.${line}.${language}`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, source);
    return path;
  });
  const project = join(modules, 'tsconfig.json');
  const compilerOptions = {
    noEmit: true,
    composite: false,
    incremental: false,
    moduleDetection: 'force',
    ...UNSET,
    ...options,
    ...more,
  };
  const listed = [join(folder, declarations), ...files];
  writeFileSync(
    project,
    JSON.stringify({ extends: '@mortise/tsconfig/base.json', compilerOptions, files: listed }),
  );
  const tsc = join(folder, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '-p', project, '--pretty', 'false'];
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, { cwd: modules }, (_, stdout) => resolve(stdout));
  });
  return (
    output
      .split('\n')
      // The sources compile under options that a user need not set; their errors here say nothing.
      .filter((line) => /^[^.\s]/.test(line))
      .map((line) => line.replace(/^(.*)\.\d+\.\w+\((\d+),(\d+)\)/, '$1:$2'))
  );
}

/**
 * Each block of TypeScript in a README, or a page of docs either quotes a file of examples, which the tests of its
 * package run, or type-checks as a module against the sources of the packages.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SourceTextModule } from 'node:vm';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { blocksOf } from '../src/blocks.js';
import { documents } from '../src/documents.js';
import { root } from '../src/pages.js';

const folder = join(root, 'tooling/docs');
/** Where the imports of the fragments find the dependencies of this package. */
const modules = join(folder, '.cache/fragments');

const pages = documents().map((document) => ({ ...document, ...blocksOf(document.text) }));
const quotes = pages.flatMap(({ file, quotes: ofFile }) => ofFile.map((quote) => ({ page: file, ...quote })));

/** A call and its imports may stand on several pages. */
const MAX_LINES_SHOWN_TWICE = 5;

function parses(isJson: boolean, code: string): boolean {
  try {
    if (isJson) JSON.parse(code);
    else void new SourceTextModule(code);
    return true;
  } catch {
    return false;
  }
}

beforeAll(() => rmSync(modules, { recursive: true, force: true }));
afterAll(() => rmSync(modules, { recursive: true, force: true }));

test('each quoted file is an example, and the page has it as it is', () => {
  expect(quotes.length).toBeGreaterThan(5);
  const different = quotes
    .filter(
      ({ file, text }) =>
        !/\/(examples|programs)\//.test(file) || text !== readFileSync(join(root, file), 'utf8'),
    )
    .map(({ page, line, file }) => `${page}:${line} differs from ${file}`);
  expect(different).toEqual([]);
});

test('no program stands in two documents', () => {
  // A reader comes from a README to a guide, and reads nothing twice.
  const programs = pages.flatMap(({ file, text }) =>
    [...text.matchAll(/^```(?:ts|js)\n([\s\S]*?)^```$/gm)]
      .map(([, code]) => ({ file, code: code! }))
      .filter(({ code }) => code.split('\n').length > MAX_LINES_SHOWN_TWICE),
  );
  expect(programs.length).toBeGreaterThan(50);
  const twice = programs.filter(({ code }, index) =>
    programs.some((other, before) => before < index && other.code === code),
  );
  expect(twice.map(({ file, code }) => `${file}: ${code.split('\n')[0]}`)).toEqual([]);
});

test('each block of JavaScript or JSON parses', () => {
  const blocks = pages.flatMap(({ file, text }) =>
    [...text.matchAll(/^```(js|json)\n([\s\S]*?)^```$/gm)].map(([, language, code]) => ({
      file,
      isJson: language === 'json',
      code: code!,
    })),
  );
  expect(blocks.length).toBeGreaterThan(10);
  const broken = blocks
    .filter(({ isJson, code }) => !parses(isJson, code))
    .map(({ file, code }) => `${file}: ${code}`);
  expect(broken).toEqual([]);
});

test('each other block compiles with `strict`', async () => {
  const files = pages.flatMap(({ file, fragments }) =>
    fragments.map(({ line, source }) => ({ path: join(modules, `${file}.${line}.ts`), source })),
  );
  for (const { path, source } of files) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, source);
  }
  const compilerOptions = {
    noEmit: true,
    composite: false,
    incremental: false,
    moduleDetection: 'force',
    experimentalDecorators: true,
    // A user need not set these.
    noUnusedLocals: false,
    noUnusedParameters: false,
    noImplicitReturns: false,
    exactOptionalPropertyTypes: false,
    noUncheckedIndexedAccess: false,
    noPropertyAccessFromIndexSignature: false,
    // The package that users install has the types of this one, and more.
    paths: { redis: [join(folder, 'node_modules/@redis/client/dist/index.d.ts')] },
  };
  const project = join(modules, 'tsconfig.json');
  writeFileSync(
    project,
    JSON.stringify({
      extends: '@mortise/tsconfig/base.json',
      compilerOptions,
      files: [join(folder, 'src/fragments/reader.d.ts'), ...files.map(({ path }) => path)],
    }),
  );
  const tsc = join(folder, 'node_modules/typescript/bin/tsc');
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [tsc, '-p', project, '--pretty', 'false'], { cwd: modules }, (_, stdout) =>
      resolve(stdout),
    );
  });
  const errors = output
    .split('\n')
    // The sources compile under options that a user need not set; their errors here say nothing.
    .filter((line) => /^[^.\s]/.test(line))
    .map((line) => line.replace(/^(.*)\.\d+\.ts\((\d+),(\d+)\)/, '$1:$2'));
  expect(errors).toEqual([]);
});

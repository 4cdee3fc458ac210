/** The packed packages in projects of other teams: Node, jest and the newest TypeScript, with nothing configured. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { Project, tool } from '../src/project.js';

let project: Project;
beforeAll(() => {
  project = new Project();
});
afterAll(() => project[Symbol.dispose]());

/** In this mode `require` cannot load the ES module. */
const APART = '--no-experimental-require-module';

test('both forms of an entry export the same names', () => {
  const entries = project.entries();
  expect(entries.length).toBeGreaterThan(20);
  const imported = project.node(['names.mjs', ...entries]);
  // NestJS itself is an ES module.
  const loadable = entries.filter((entry) => !entry.includes('/nestjs'));
  const required = project.node([APART, 'names.cjs', ...loadable]);
  expect(required).toEqual({ code: 0, output: expect.any(String) });
  const lines = imported.output.trim().split('\n');
  expect(lines).toHaveLength(entries.length);
  expect(required.output.trim().split('\n')).toEqual(
    lines.filter((line) => !/\/nestjs(?:\/\S+)? /.test(line)),
  );
});

test('Node has one instance for import and require', () => {
  project.write(
    'one.mjs',
    `import { createRequire } from 'node:module';
     for (const entry of process.argv.slice(2)) {
       if ((await import(entry)) !== createRequire(import.meta.url)(entry)) console.log(entry);
     }`,
  );
  const args = ['--disable-warning=ExperimentalWarning', 'one.mjs', ...project.entries()];
  expect(project.node(args)).toEqual({ code: 0, output: '' });
});

test('an error class has its name where a bundler renames it', () => {
  project.write(
    'errors.mjs',
    `let count = 0;
     for (const entry of process.argv.slice(2)) {
       for (const [name, value] of Object.entries(await import(entry))) {
         if (typeof value !== 'function' || !(value.prototype instanceof Error)) continue;
         count += 1;
         const known = Object.hasOwn(value, 'className') ? value.className : new value().name;
         if (known !== name) console.log(entry, name);
       }
     }
     console.log(count > 50);`,
  );
  expect(project.node(['errors.mjs', ...project.entries()])).toEqual({ code: 0, output: 'true\n' });
});

test('an entry for NestJS has the classes of the other entries', () => {
  project.write(
    'nestjs.mjs',
    `import 'reflect-metadata';
     import * as nestjs from '@mortise/queues/nestjs';
     import { readFileSync } from 'node:fs';
     import { fileURLToPath } from 'node:url';
     const text = readFileSync(fileURLToPath(import.meta.resolve('@mortise/queues/nestjs')), 'utf8');
     console.log(typeof nestjs.QueuesModule, /class Worker\\b/.test(text), /Queue.*from "\\.\\.\\/index\\.js"/s.test(text));`,
  );
  expect(project.node(['nestjs.mjs'])).toEqual({ code: 0, output: 'function false true\n' });
});

const ACROSS = [
  'two copies: true',
  'a lock of the other copy is held: true',
  'a release grants the lock to the other copy: true',
  'a latch opens for both: 2',
  'an error of an entry is an instance of the class of the main entry: true',
  'both wait for a result of a task: [2,2]',
  'both read events: 2',
  'Discard of the other copy ends a task: true',
  'a refresher takes rows of the other copy: 42',
  'a feed takes a source of another entry: true',
];

test.each([
  ['forms', [APART]],
  ['versions', []],
])('two copies in one process work on one client: %s', (copies, options) => {
  const env = { PREFIX: `test-${randomUUID()}`, MORTISE_TEST_REDIS: process.env['MORTISE_TEST_REDIS']! };
  const { code, output } = project.node([...options, 'two-copies.mjs', copies], env);
  expect(output.trim().split('\n')).toEqual(ACROSS);
  expect(code).toBe(0);
});

test('jest at its defaults loads CommonJS', () => {
  const env = { ENTRIES: project.entries().join(' ') };
  const { code, output } = project.node(
    [tool('jest/bin/jest.js'), '--ci', '--no-cache', 'jest.test.js'],
    env,
  );
  expect(output).toMatch(/Tests: +\d+ passed, \d+ total/);
  expect(code).toBe(0);
});

test.each([
  ['node16, in CommonJS', { module: 'node16' }, 'commonjs'],
  ['esnext with bundler', { module: 'esnext', moduleResolution: 'bundler' }, 'module'],
])('TypeScript 7 compiles with module %s', (_name, module, type) => {
  project.write('package.json', { name: 'consumer', private: true, type });
  project.write('tsconfig.json', {
    // The declarations of the packages are checked too.
    compilerOptions: { strict: true, target: 'es2022', outDir: 'out', types: ['node'], ...module },
    files: ['use.ts'],
  });
  expect(project.node([tool('typescript-7/bin/tsc'), '-p', '.'])).toEqual({ code: 0, output: '' });
  const options = type === 'commonjs' ? [APART] : [];
  expect(project.node([...options, 'out/use.js'])).toEqual({ code: 0, output: '6 1 true\n' });
});

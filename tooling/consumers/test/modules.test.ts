/** The packed packages with the compilers, bundlers and test runners of other teams, with nothing configured. */
import { createPackageFromTarballData, checkPackage } from '@arethetypeswrong/core';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Project, tool } from '../src/project.js';

let project: Project;
beforeAll(() => {
  project = new Project();
});
afterAll(() => project[Symbol.dispose]());

const USED = '6 1 true\n';
/** `require` takes the CommonJS form. */
const APART = '--no-experimental-require-module';

type Options = Readonly<Record<string, unknown>>;
const CJS: Options = { type: 'commonjs' };
const ESM: Options = { type: 'module' };

const NODE16 = { module: 'node16' };
const NODENEXT = { module: 'nodenext' };
const BUNDLER = { module: 'esnext', moduleResolution: 'bundler' };
const NODE10 = { module: 'commonjs', moduleResolution: 'node10' };
/** The module settings of each compiler: 6 warns of node10, 7 has none. */
const COMPILERS: Readonly<Record<string, readonly (readonly [string, Options, Options])[]>> = {
  'typescript-5.5': [
    ['node16', NODE16, CJS],
    ['node16', NODE16, ESM],
    ['commonjs and node10', NODE10, CJS],
    ['bundler', BUNDLER, ESM],
  ],
  'typescript-5.9': [
    ['node16', NODE16, CJS],
    ['nodenext', NODENEXT, CJS],
    ['nodenext', NODENEXT, ESM],
    ['commonjs and node10', NODE10, CJS],
    ['bundler', BUNDLER, ESM],
  ],
  // 6.0, which ts-jest uses too.
  typescript: [
    ['node16', NODE16, CJS],
    ['nodenext', NODENEXT, CJS],
    ['commonjs and node10', { ...NODE10, ignoreDeprecations: '6.0' }, CJS],
    ['bundler', BUNDLER, ESM],
  ],
  'typescript-7': [
    ['node16', NODE16, CJS],
    ['node16', NODE16, ESM],
    ['nodenext', NODENEXT, CJS],
    ['commonjs and bundler', { module: 'commonjs', moduleResolution: 'bundler' }, CJS],
    ['bundler', BUNDLER, ESM],
  ],
};

describe.each(Object.entries(COMPILERS))('%s', (compiler, settings) => {
  test.each(settings)('module %s, %j, %j', (_name, module, manifest) => {
    project.write('package.json', { name: 'consumer', private: true, ...manifest });
    project.write('tsconfig.json', {
      // The declarations of the packages are checked too.
      compilerOptions: { strict: true, target: 'es2022', outDir: 'out', types: ['node'], ...module },
      files: ['use.ts'],
    });
    const compiled = project.node([tool(`${compiler}/bin/tsc`), '-p', '.']);
    expect(compiled).toEqual({ code: 0, output: '' });
    const options = manifest === CJS ? [APART] : [];
    expect(project.node([...options, 'out/use.js'])).toEqual({ code: 0, output: USED });
  });
});

describe('bundlers', () => {
  test.each(['cjs', 'esm'])('esbuild, %s', (format) => {
    project.write('package.json', { name: 'consumer', private: true });
    const out = format === 'cjs' ? 'bundle.cjs' : 'bundle.mjs';
    const args = ['use.ts', '--bundle', '--platform=node', `--format=${format}`, `--outfile=${out}`];
    // ioredis is CommonJS: an ES module has no `require` for the modules of Node that it wants.
    const externals = ['--external:ioredis', '--external:libsql', '--external:pg'];
    expect(project.node([tool('esbuild/bin/esbuild'), ...args, ...externals, '--log-level=warning'])).toEqual(
      {
        code: 0,
        output: '',
      },
    );
    expect(project.node([out])).toEqual({ code: 0, output: USED });
  });

  test('esbuild: the console says why it has no page', () => {
    project.write(
      'bundled.ts',
      `import { consoleHandler } from '@mortise/console';
       import { Redis } from 'ioredis';
       try {
         consoleHandler(new Redis({ lazyConnect: true }), { authorize: () => 'read' });
       } catch (error) {
         console.log((error as Error).message);
       }`,
    );
    const args = ['bundled.ts', '--bundle', '--platform=node', '--external:ioredis'];
    expect(
      project.node([tool('esbuild/bin/esbuild'), ...args, '--outfile=bundled.cjs', '--log-level=error']),
    ).toEqual({
      code: 0,
      output: '',
    });
    expect(project.node(['bundled.cjs']).output).toContain('leave @mortise/console out of the bundle');
  });

  test.each(['commonjs', 'module'])('webpack, %s', (type) => {
    project.write('package.json', { name: 'consumer', private: true });
    const isModule = type === 'module';
    const names = isModule ? "import { Queue } from '@mortise/queues'; import { Redis } from 'ioredis';" : '';
    const required = isModule
      ? ''
      : "const { Queue } = require('@mortise/queues'); const { Redis } = require('ioredis');";
    const use =
      "const redis = new Redis({ lazyConnect: true }); console.log(new Queue(redis, 'mail').name); redis.disconnect();";
    project.write(`webpacked/use.${isModule ? 'mjs' : 'cjs'}`, names + required + use);
    project.write(
      'pack.mjs',
      `import webpack from ${JSON.stringify(tool('webpack/lib/index.js'))};
       webpack(
         {
           mode: 'production', target: 'node', context: ${JSON.stringify(project.path)},
           entry: './webpacked/use.${isModule ? 'mjs' : 'cjs'}',
           output: { path: ${JSON.stringify(project.path)}, filename: 'webpacked.cjs' },
         },
         (error, stats) => {
           if (error || stats.hasErrors()) console.log(error ?? stats.toString());
           const modules = stats.toJson({ all: false, modules: true, nestedModules: true }).modules;
           const names = modules.flatMap((each) => [each, ...(each.modules ?? [])]).map(({ name }) => String(name));
           console.log(names.some((name) => name.includes('queues/dist/${isModule ? 'esm' : ''}')));
         },
       );`,
    );
    expect(project.node(['pack.mjs'])).toEqual({ code: 0, output: 'true\n' });
    expect(project.node(['webpacked.cjs'])).toEqual({ code: 0, output: 'mail\n' });
  });
});

describe('test runners', () => {
  test('ts-jest with its preset', () => {
    for (const name of ['ts-jest', 'typescript', 'jest', '@jest/globals']) project.link(name);
    project.write('package.json', { name: 'consumer', private: true });
    project.write('tsconfig.json', {
      compilerOptions: {
        strict: true,
        module: 'commonjs',
        moduleResolution: 'node10',
        ignoreDeprecations: '6.0',
        target: 'es2022',
        types: ['node'],
      },
    });
    project.write('jest.config.json', { preset: 'ts-jest', testMatch: ['<rootDir>/ts.test.ts'] });
    const { code, output } = project.node([tool('jest/bin/jest.js'), '--ci', '--no-cache']);
    expect(output).toMatch(/Tests: +1 passed, 1 total/);
    expect(code).toBe(0);
  });

  test('vitest', () => {
    project.link('vitest');
    project.write('package.json', { name: 'consumer', private: true });
    const text = readFileSync(join(project.path, 'ts.test.ts'), 'utf8');
    project.write('vitest/ts.test.ts', text.replace('@jest/globals', 'vitest'));
    // vitest colours its output where CI is set.
    const { code, output } = project.node([tool('vitest/vitest.mjs'), 'run', 'vitest'], { NO_COLOR: '1' });
    expect(output).toMatch(/Tests +1 passed/);
    expect(code).toBe(0);
  });
});

describe('the types', () => {
  test.each(['redis', 'locks', 'queues', 'messaging', 'autocomplete', 'cache', 'console', 'client'])(
    'of @mortise/%s are found in each way (attw)',
    async (name) => {
      const file = readdirSync(project.packed).find((entry) => entry.startsWith(`mortise-${name}-`));
      const data = readFileSync(join(project.packed, file!));
      const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(data)));
      expect(analysis.types).toBeTruthy();
      expect(analysis).toMatchObject({ problems: [] });
    },
  );
});

/**
 * The size of what a team installs and bundles. budget.json has the goal and the limit of each: where a goal isn't reached
 * yet, the limit is a little above the present size. A change that makes it larger says so by raising the limit.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Project } from '../src/project.js';

interface Budget {
  readonly goal: number;
  readonly limit: number;
}

const budget = JSON.parse(readFileSync(new URL('../budget.json', import.meta.url), 'utf8')) as {
  readonly gzip: Readonly<Record<string, Budget>>;
  readonly packed: Readonly<Record<string, Budget>>;
};

let project: Project;
beforeAll(() => {
  project = new Project();
});
afterAll(() => project[Symbol.dispose]());

/** As bundlers and size-limit count: what is loaded at the start, without what `import()` loads at its first use. */
test.each(Object.entries(budget.gzip))('a bundle of %s, in bytes of gzip', async (what, { limit }) => {
  const [entry, name] = what.split(' ');
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export { ${name} } from '${entry}';`, resolveDir: project.path },
    bundle: true,
    minify: true,
    write: false,
    platform: 'node',
    format: 'esm',
    splitting: true,
    outdir: 'bundle',
    metafile: true,
    external: ['ioredis'],
    logLevel: 'silent',
  });
  const initial = new Set<string>();
  const add = (file: string): void => {
    initial.add(file);
    for (const { path, kind } of metafile.outputs[file]!.imports)
      if (kind === 'import-statement' && path in metafile.outputs && !initial.has(path)) add(path);
  };
  add(Object.keys(metafile.outputs).find((file) => metafile.outputs[file]!.entryPoint === '<stdin>')!);
  const contents = outputFiles.filter(({ path }) => [...initial].some((file) => path.endsWith(file)));
  expect(contents.length).toBe(initial.size);
  const bytes = contents.reduce((sum, file) => sum + gzipSync(file.contents, { level: 9 }).length, 0);
  expect(bytes).toBeLessThanOrEqual(limit);
});

test.each(Object.entries(budget.packed))('the packed package %s, in bytes', (name, { limit }) => {
  const file = readdirSync(project.packed).find((entry) => entry.startsWith(`mortise-${name}-`));
  expect(statSync(join(project.packed, file!)).size).toBeLessThanOrEqual(limit);
});

test('a package has its two forms, and nothing that an earlier build left', () => {
  for (const name of Object.keys(budget.packed)) {
    const dist = readdirSync(join(project.path, 'node_modules/@mortise', name, 'dist'));
    const further = { queues: ['cli'], console: ['page'] }[name] ?? [];
    expect([name, dist.toSorted()]).toEqual([name, ['cjs', 'esm', ...further].toSorted()]);
  }
});

describe('start', () => {
  test('an entry is one file, beside @mortise/redis', () => {
    project.write(
      'files.cjs',
      `const before = new Set(Object.keys(require.cache));
       require(process.argv[2]);
       const loaded = Object.keys(require.cache).filter((file) => file.includes('/@mortise/') && !before.has(file));
       console.log(loaded.map((file) => file.split('/@mortise/')[1]).toSorted().join(' '));`,
    );
    const filesOf = (entry: string): string =>
      project.node(['--no-experimental-require-module', 'files.cjs', entry]).output.trim();
    for (const name of ['locks', 'queues', 'messaging', 'autocomplete', 'cache']) {
      // It shares all that the entry for BullMQ's users has too.
      const shared = name === 'queues' ? ['queues/dist/cjs/engine.js'] : [];
      expect(filesOf(`@mortise/${name}`).split(' ').toSorted()).toEqual(
        [...shared, `${name}/dist/cjs/index.js`, 'redis/dist/cjs/index.js'].toSorted(),
      );
    }
    expect(filesOf('@mortise/locks/quorum')).toBe('locks/dist/cjs/quorum/index.js redis/dist/cjs/index.js');
  });
});

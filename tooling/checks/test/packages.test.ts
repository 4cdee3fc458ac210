/** The packages as they would be published: packed, looked into, and installed into an empty project. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { publint } from 'publint';
import { PACKAGES, root } from '../src/repository.js';

let directory: string;
const tarballs = new Map<string, string>();

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'mortise-packages-'));
  // All by one process.
  execFileSync(
    process.execPath,
    [
      join(root, 'tooling/start/pnpm.mjs'),
      '--recursive',
      ...PACKAGES.map((name) => `--filter=@mortise/${name}`),
      'pack',
      '--pack-destination',
      directory,
    ],
    { stdio: 'pipe' },
  );
  for (const name of PACKAGES) {
    const file = readdirSync(directory).find((entry) => entry.startsWith(`mortise-${name}-`));
    tarballs.set(name, join(directory, file!));
  }
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

const REPOSITORY = /^git\+https:\/\/(.+)\.git$/;

interface Manifest {
  readonly name: string;
  readonly author: string;
  readonly bugs: string;
  readonly homepage: string;
  readonly keywords: readonly string[];
  readonly publishConfig: object;
  readonly repository: { readonly url: string; readonly directory: string };
  readonly exports: unknown;
  readonly dependencies?: Record<string, string>;
}

function unpack(name: string): { path: string; manifest: Manifest } {
  const path = mkdtempSync(join(directory, `${name}-`));
  execFileSync('tar', ['-xzf', tarballs.get(name)!, '-C', path, '--strip-components=1']);
  return { path, manifest: JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Manifest };
}

describe.each(PACKAGES)('@mortise/%s', (name) => {
  test('is packed so that bundlers, Node and TypeScript find their way', async () => {
    const { path, manifest } = unpack(name);
    const { messages } = await publint({ pkgDir: path, level: 'warning', pack: false });
    expect(messages).toEqual([]);
    expect(JSON.stringify(manifest.exports)).not.toContain('@mortise/source');
    expect(JSON.stringify(manifest)).not.toMatch(/"(catalog|workspace):/);
    expect(Object.keys(manifest.dependencies ?? {}).filter((dependency) => dependency === 'ioredis')).toEqual(
      [],
    );
  });
});

test.each(PACKAGES)('@mortise/%s tells npm where it comes from, and brings its changelog', (name) => {
  const { path, manifest } = unpack(name);
  const [, address] = REPOSITORY.exec(manifest.repository.url)!;
  expect(manifest).toMatchObject({
    homepage: `https://${address}/tree/main/packages/${name}#readme`,
    bugs: `https://${address}/issues`,
    repository: { directory: `packages/${name}` },
    publishConfig: { access: 'public', provenance: true },
  });
  expect(manifest.author).not.toBe('');
  expect(manifest.keywords.length).toBeGreaterThan(3);
  expect(readdirSync(path)).toEqual(expect.arrayContaining(['CHANGELOG.md', 'LICENSE', 'README.md']));
});

test.each(PACKAGES)('the classes of @mortise/%s keep their names in the bundles', (name) => {
  const { path } = unpack(name);
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.js'),
  );
  expect(files.length).toBeGreaterThan(1);
  expect(
    files.flatMap((file) => readFileSync(join(path, file), 'utf8').match(/= class _\w+/g) ?? []),
  ).toEqual([]);
});

test.each([
  ['pack', 'npm run pnpm -- --filter=<package> pack'],
  ['publish', 'npm run release'],
])('npm %s in a package is refused, with the command that works', (command, instead) => {
  const { status, stderr } = spawnSync('npm', [command, '--dry-run', '--loglevel=error'], {
    cwd: join(root, 'packages/redis'),
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  expect(stderr).toContain(`npm ${command} makes a package that nobody can install`);
  expect(stderr).toContain(`\n  ${instead}\n`);
});

test('all packages install into an empty project and load by import and by require', () => {
  const project = mkdtempSync(join(directory, 'project-'));
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'empty', private: true, type: 'module' }),
  );
  execFileSync(
    'npm',
    [
      'install',
      '--no-audit',
      '--no-fund',
      '--prefer-offline',
      '--loglevel=error',
      '--ignore-scripts',
      'ioredis@6.0.0',
      ...tarballs.values(),
    ],
    { cwd: project, stdio: 'pipe' },
  );
  const names = JSON.stringify(PACKAGES.map((name) => `@mortise/${name}`));
  writeFileSync(
    join(project, 'load.mjs'),
    `import { createRequire } from 'node:module';
     const require = createRequire(import.meta.url);
     for (const name of ${names}) {
       const [esm, cjs] = [await import(name), require(name)];
       for (const [key, value] of [...Object.entries(esm), ...Object.entries(cjs)]) {
         if (typeof value === 'function' && /^[A-Z]/.test(key) && value.name !== key) throw new Error(\`\${key} is \${value.name}\`);
       }
       const imported = Object.keys(esm).filter((key) => key !== 'module.exports');
       const required = Object.keys(cjs).filter((key) => key !== '__esModule');
       if (imported.length === 0 || imported.some((key) => !required.includes(key))) throw new Error(name);
       console.log(name, imported.length > 0);
     }`,
  );
  const output = execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', 'load.mjs'], {
    cwd: project,
    encoding: 'utf8',
  });
  expect(output.trim().split('\n')).toEqual(PACKAGES.map((name) => `@mortise/${name} true`));
});

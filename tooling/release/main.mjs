/**
 * `npm run release [-- --dry-run]`: takes the versions from the change files, packs, checks what was packed, publishes to a
 * registry of its own, installs each package from there into an empty project and runs its examples. Then it publishes to npm,
 * commits and tags. A dry run works on a copy of the last commit and publishes nothing. docs/RELEASING.md tells the whole.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pnpm, root as repository, requireNode } from '../start/pnpm.mjs';
import { keptChangelog } from './changelogs.mjs';
import { check, pack } from './pack.mjs';
import { packagesOf } from './packages.mjs';
import { startRegistry } from './registry.mjs';
import { installTools, run, tool } from './tools.mjs';
import { tryPackage } from './try-package.mjs';

requireNode();
const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } });
const isDryRun = values['dry-run'];
const workplace = mkdtempSync(join(tmpdir(), 'mortise-release-'));
try {
  await release(isDryRun ? copyOfLastCommit() : repository);
} catch (error) {
  console.error(`\n✗ ${error.stderr || error.stdout || error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(workplace, { recursive: true, force: true });
}

async function release(root) {
  if (git(root, 'status', '--porcelain') !== '')
    throw new Error('the working tree has changes: commit them first');
  step('tools');
  installTools();
  step('versions');
  // Without change files the versions stand: a release that broke off is finished so.
  if (changeFiles(root).length > 0) takeVersions(root);
  else console.log('  no change files: what is not published yet is published');
  step('build and pack');
  const items = pack(root, join(workplace, 'tarballs'));
  for (const { name, version } of items) console.log(`  ${name} ${version}`);
  step('publint and attw');
  for (const item of items) check(item);
  step('each package, installed alone, runs its examples');
  await tryAll(items, catalogOf(root));
  if (isDryRun) return console.log('\n✓ this could be published');
  step('publish');
  for (const item of items) publish(item, {});
  git(root, 'add', '--all');
  if (git(root, 'status', '--porcelain') !== '') git(root, 'commit', '-m', `release: ${items[0].version}`);
  git(root, 'tag', `v${items[0].version}`);
  console.log(`\n✓ published. Push the commit and its tag: git push origin HEAD:main v${items[0].version}`);
}

function takeVersions(root) {
  run(tool('changeset', 'version'), { cwd: root });
  const date = new Date().toISOString().slice(0, 10);
  for (const { directory, version } of packagesOf(root)) {
    const file = join(directory, 'CHANGELOG.md');
    writeFileSync(file, keptChangelog(readFileSync(file, 'utf8'), version, date));
  }
}

async function tryAll(items, versions) {
  if (
    pnpm(['exec', 'turbo', 'run', 'build', '--filter=@mortise/redis-server', '--output-logs=errors-only']) !==
    0
  ) {
    throw new Error('the test servers could not be built');
  }
  const { startSingle } = await import('../redis-server/dist/index.js');
  const registry = await startRegistry(join(workplace, 'registry'));
  try {
    for (const item of items) publish(item, { env: registry.env, isTrial: true });
    for (const item of items) {
      const server = await startSingle();
      try {
        const directory = join(workplace, item.name);
        const examples = tryPackage(item, directory, registry.env, versions, server.url);
        console.log(`  ${item.name}: ${examples} examples`);
      } finally {
        await server.stop();
      }
    }
  } finally {
    await registry.stop();
  }
}

/** Provenance can only be signed by a public CI. */
function publish({ name, version, tarball }, { env = process.env, isTrial = false }) {
  if (!isTrial && isPublished(name, version, env)) return console.log(`  ${name} ${version} is there`);
  run(['npm', ['publish', tarball, '--access', 'public', `--provenance=${!isTrial}`]], { env });
  if (!isTrial) console.log(`  ${name} ${version}`);
}

function isPublished(name, version, env) {
  try {
    return run(['npm', ['view', `${name}@${version}`, 'version']], { env }).trim() === version;
  } catch (error) {
    if (`${error.stderr}`.includes('E404')) return false;
    throw error;
  }
}

function copyOfLastCommit() {
  const copy = join(workplace, 'copy');
  run(['git', ['clone', '--quiet', repository, copy]]);
  return copy;
}

function changeFiles(root) {
  return readdirSync(join(root, '.changeset')).filter((file) => file.endsWith('.md') && file !== 'README.md');
}

/** The versions of everything that the repository uses. */
function catalogOf(root) {
  const yaml = readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8');
  const [, catalog] = /^catalog:\n((?: {2}.*\n)+)/m.exec(yaml);
  return Object.fromEntries(
    [...catalog.matchAll(/^ {2}'?([^':]+)'?: (\S+)$/gm)].map(([, name, version]) => [name, version]),
  );
}

function git(root, ...args) {
  return run(['git', args], { cwd: root }).trim();
}

function step(title) {
  console.log(`\n▸ ${title}`);
}

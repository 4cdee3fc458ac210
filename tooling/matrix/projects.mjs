/** Packs the packages as they would be published, and installs them into a project for each version of the clients. */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { pnpm, root } from '../start/pnpm.mjs';
import { PACKAGES, pinned, PROJECTS } from './plan.mjs';

const run = promisify(execFile);
const smoke = fileURLToPath(new URL('smoke', import.meta.url));
const npmInstall = [
  'install',
  '--no-audit',
  '--no-fund',
  '--prefer-offline',
  '--loglevel=error',
  '--ignore-scripts',
];

/** Directories of the projects, by name. */
export async function makeProjects(cache) {
  const packs = join(cache, 'packs');
  rmSync(packs, { recursive: true, force: true });
  mkdirSync(packs, { recursive: true });
  const filters = PACKAGES.map((name) => `--filter=@mortise/${name}`);
  const code = pnpm(['--recursive', '--silent', ...filters, 'pack', '--pack-destination', packs]);
  if (code !== 0) throw new Error(`pnpm pack: exit code ${code}`);
  const tarballs = readdirSync(packs).map((file) => join(packs, file));
  const libsql = JSON.parse(
    readFileSync(join(root, 'tooling/matrix/node_modules/libsql/package.json'), 'utf8'),
  ).version;
  const directories = new Map();
  for (const { name, ioredis, nodeRedis, nestjs } of PROJECTS) {
    const directory = join(cache, 'projects', name.replace(' ', '-'));
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    writeFileSync(
      join(directory, 'package.json'),
      JSON.stringify({ name: 'matrix', private: true, type: 'module' }),
    );
    const peers = [
      ioredis ? `ioredis@${ioredis}` : `@redis/client@${nodeRedis}`,
      `@nestjs/common@${nestjs}`,
      `@nestjs/core@${nestjs}`,
      'rxjs@7',
    ];
    peers.push('reflect-metadata@0.2', `libsql@${libsql}`);
    if (ioredis) peers.push(`@nestjs/bullmq@${nestjs.split('.')[0]}`, `bullmq@${pinned('bullmq')}`);
    await run('npm', [...npmInstall, ...peers, ...tarballs], { cwd: directory });
    cpSync(smoke, join(directory, 'smoke'), { recursive: true });
    directories.set(name, directory);
  }
  return directories;
}

/** Runtimes from npm: the path of each program, or the reason why there is none. */
export async function installRuntimes(cache, runtimes) {
  const installed = new Map();
  for (const { name, package: spec, bin } of runtimes) {
    const directory = join(cache, 'runtimes', spec.replaceAll(/[/@]/g, '-'));
    const program = join(directory, 'node_modules', spec.slice(0, spec.lastIndexOf('@')), bin);
    try {
      if (!existsSync(program)) {
        mkdirSync(directory, { recursive: true });
        writeFileSync(join(directory, 'package.json'), JSON.stringify({ name: 'runtime', private: true }));
        await run('npm', [...npmInstall, '--force', spec], { cwd: directory });
      }
      const { stdout } = await run(program, ['--version']);
      installed.set(name, { program, version: /\d+\.\d+\.\d+/.exec(stdout)[0] });
    } catch (error) {
      installed.set(name, { problem: error.message });
    }
  }
  return installed;
}

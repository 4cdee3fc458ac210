/**
 * Another commit's packages, built, beneath this tree's benchmarks. The benchmarks of both sides are then the same code, so a
 * difference is one of the packages. It is kept in `.cache/against`, since it takes a minute to build.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const PROGRAMS = 'tooling/bench/dist';

/** The full name of a commit. */
export function commitOf(revision: string): string {
  return run('git', ['rev-parse', '--verify', '--end-of-options', `${revision}^{commit}`], root).trim();
}

/** The folder with the benchmarks' programs of this tree and the packages of a commit. Builds them at the first call. */
export function checkoutOf(commit: string, log: (line: string) => void): string {
  const folder = join(root, '.cache/against', commit);
  const ready = join(folder, '.ready');
  if (!existsSync(ready)) {
    log(`building ${commit.slice(0, 8)}, which takes a minute or two`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const archive = join(folder, 'commit.tar');
    run('git', ['archive', '--format=tar', '-o', archive, commit], root);
    run('tar', ['-xf', archive, '-C', folder], root);
    rmSync(archive);
    // Both sides run on the same server.
    const server = join(root, '.cache/redis');
    mkdirSync(join(folder, '.cache'), { recursive: true });
    if (existsSync(server)) symlinkSync(server, join(folder, '.cache/redis'));
    const pnpm = join(folder, 'tooling/start/pnpm.mjs');
    run(process.execPath, [pnpm, 'install', '--frozen-lockfile', '--prefer-offline'], folder);
    run(process.execPath, [pnpm, 'exec', 'turbo', 'run', 'build', '--filter=@mortise/bench'], folder);
    writeFileSync(ready, '');
  }
  rmSync(join(folder, PROGRAMS), { recursive: true, force: true });
  cpSync(join(root, PROGRAMS), join(folder, PROGRAMS), { recursive: true });
  return join(folder, PROGRAMS);
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`);
  return stdout;
}

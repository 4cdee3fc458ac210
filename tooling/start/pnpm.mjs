/** Runs pnpm at the version that package.json pins: the one on PATH when it fits, else through npx. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

const { packageManager, engines } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);
const isWindows = process.platform === 'win32';
const quiet = {
  DO_NOT_TRACK: '1',
  TURBO_TELEMETRY_DISABLED: '1',
  npm_config_update_notifier: 'false',
};

/**
 * @param {string[]} args
 * @param {number} [limitMs] after which it is ended, as a failure
 * @returns the exit code
 */
export function pnpm(args, limitMs) {
  const [command, first] = hasPinned()
    ? ['pnpm', []]
    : ['npx', ['--yes', '--loglevel=error', packageManager]];
  const run = spawnSync(command, [...first, ...args], {
    cwd: root,
    env: { ...process.env, ...quiet },
    shell: isWindows,
    stdio: 'inherit',
    timeout: limitMs,
  });
  if (run.error?.code === 'ETIMEDOUT') console.error(`\n✗ not over after ${limitMs / 60_000} minutes`);
  else if (run.error) throw run.error;
  return run.status ?? 1;
}

function hasPinned() {
  const { stdout } = spawnSync('pnpm', ['--version'], { cwd: root, encoding: 'utf8', shell: isWindows });
  return `pnpm@${stdout?.trim()}` === packageManager;
}

/** Ends the process with one clear line when Node is too old. */
export function requireNode() {
  const wanted = engines.node.replace('>=', '');
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [wantedMajor, wantedMinor] = wanted.split('.').map(Number);
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return;
  console.error(`Mortise needs Node ${wanted} or later; this is ${process.versions.node}.`);
  process.exit(1);
}

/** Prints what is being done, runs pnpm, and ends the process when it fails. */
export function step(title, args) {
  console.log(`\n▸ ${title}`);
  const startedAt = performance.now();
  const code = pnpm(args);
  if (code !== 0) {
    console.error(`\n✗ ${title}: exit code ${code}`);
    process.exit(code);
  }
  console.log(`  done in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exit(pnpm(process.argv.slice(2)));

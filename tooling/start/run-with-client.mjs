/**
 * Runs the suites of packages with another client or server (MORTISE_CLIENT), and prints a line for each package. A failure that isn't in
 * `tooling/test-kit/<client>.json` fails the run; so does an entry there whose test passes or is gone.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pnpm, requireNode, root } from './pnpm.mjs';

/**
 * Ends the process, with 1 after a failure.
 *
 * @param {string} client
 * @param {{ packages: readonly string[], ignored: readonly string[] }} options `ignored`: patterns of paths of tests.
 */
export function runWithClient(client, { packages, ignored }) {
  buildPackages();
  const asked = process.argv.slice(2);
  const wanted = packages.filter((each) => asked.length === 0 || asked.includes(each));
  const { lines, hasFailed } = runSuites(client, { packages: wanted, ignored });
  console.log(`\n${lines.join('\n')}`);
  process.exit(hasFailed ? 1 : 0);
}

/** Ends the process if that fails. */
export function buildPackages() {
  requireNode();
  const built =
    pnpm(['install', '--frozen-lockfile', '--reporter=silent']) ||
    pnpm(['exec', 'turbo', 'run', 'build', '--output-logs=errors-only']);
  if (built !== 0) process.exit(built);
}

/**
 * Returns the lines to print.
 *
 * @param {string} client
 * @param {{ packages: readonly string[], ignored: readonly string[], env?: Record<string, string> }} options
 */
export function runSuites(client, { packages, ignored, env = {} }) {
  const exceptions = JSON.parse(readFileSync(join(root, `tooling/test-kit/${client}.json`), 'utf8'));
  const scratch = mkdtempSync(join(tmpdir(), `mortise-${client}-`));
  const lines = [];
  let hasFailed = false;
  for (const name of packages) {
    console.log(`\n▸ ${name}`);
    const known = Object.values(exceptions[name] ?? {}).flat();
    const report = join(scratch, `${name}.json`);
    const { passed, failed } = run(name, { ignored, report, env: { ...env, MORTISE_CLIENT: client } });
    const unexpected = failed.filter((test) => !known.includes(test));
    const stale = known.filter((test) => !failed.includes(test));
    hasFailed ||= passed === 0 || unexpected.length > 0 || stale.length > 0;
    const excepted = failed.length - unexpected.length;
    lines.push(`${name}: ${passed} passed, ${excepted} excepted, ${unexpected.length} failed`);
    for (const test of unexpected) lines.push(`  ✗ ${test}`);
    for (const test of stale) lines.push(`  ✗ no longer fails, or is gone: ${test}`);
  }
  rmSync(scratch, { recursive: true, force: true });
  return { lines, hasFailed };
}

/**
 * The tests of a package that failed, by name; a file that can't be loaded counts as one.
 *
 * @param {string} name
 * @param {{ ignored: readonly string[], report: string, env: Record<string, string> }} options
 */
function run(name, { ignored, report, env }) {
  spawnSync(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      ...ignored.map((pattern) => `--testPathIgnorePatterns=${pattern}`),
      // node-redis can't cancel the timer of a reconnect, and tests have one of an hour.
      '--forceExit',
      '--reporters=default',
      '--json',
      `--outputFile=${report}`,
    ],
    {
      cwd: join(root, 'packages', name),
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const { numPassedTests, testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const failed = testResults.flatMap(({ name: file, status, assertionResults }) => {
    const tests = assertionResults.filter((test) => test.status === 'failed').map(({ fullName }) => fullName);
    return tests.length === 0 && status === 'failed' ? [file.slice(root.length)] : tests;
  });
  return { passed: numPassedTests, failed };
}

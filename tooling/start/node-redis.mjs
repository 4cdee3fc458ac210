/**
 * `npm run test:node-redis -- [package …]`: the suites of the packages with node-redis under them, and a line for each package. A failure
 * that isn't in `tooling/test-kit/node-redis.json` fails the run; so does an entry there whose test passes or is gone.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pnpm, requireNode, root } from './pnpm.mjs';

const PACKAGES = ['redis', 'locks', 'queues', 'messaging', 'autocomplete', 'cache'];

requireNode();
const built =
  pnpm(['install', '--frozen-lockfile', '--reporter=silent']) ||
  pnpm(['exec', 'turbo', 'run', 'build', '--output-logs=errors-only']);
if (built !== 0) process.exit(built);

const exceptions = JSON.parse(readFileSync(join(root, 'tooling/test-kit/node-redis.json'), 'utf8'));
const scratch = mkdtempSync(join(tmpdir(), 'mortise-node-redis-'));
const asked = process.argv.slice(2);
const lines = [];
let hasFailed = false;
for (const name of PACKAGES.filter((each) => asked.length === 0 || asked.includes(each))) {
  console.log(`\n▸ ${name}`);
  const { passed, unexpected, expected, stale } = run(name);
  hasFailed ||= passed === 0 || unexpected.length > 0 || stale.length > 0;
  lines.push(`${name}: ${passed} passed, ${expected.length} excepted, ${unexpected.length} failed`);
  for (const test of unexpected) lines.push(`  ✗ ${test}`);
  for (const test of stale) lines.push(`  ✗ no longer fails, or is gone: ${test}`);
}
rmSync(scratch, { recursive: true, force: true });
console.log(`\n${lines.join('\n')}`);
process.exit(hasFailed ? 1 : 0);

/** The tests of a package, by name; a file that can't be loaded counts as one. */
function run(name) {
  const report = join(scratch, `${name}.json`);
  const jest = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
  ];
  spawnSync(
    process.execPath,
    [
      ...jest,
      '--testPathIgnorePatterns=/test/node-redis/',
      // node-redis can't cancel the timer of a reconnect, and tests have one of an hour.
      '--forceExit',
      '--reporters=default',
      '--json',
      `--outputFile=${report}`,
    ],
    {
      cwd: join(root, 'packages', name),
      env: { ...process.env, MORTISE_CLIENT: 'node-redis' },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const { numPassedTests, testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const failed = testResults.flatMap(({ name: file, status, assertionResults }) => {
    const tests = assertionResults.filter((test) => test.status === 'failed').map(({ fullName }) => fullName);
    return tests.length === 0 && status === 'failed' ? [file.slice(root.length)] : tests;
  });
  const known = Object.values(exceptions[name] ?? {}).flat();
  return {
    passed: numPassedTests,
    expected: failed.filter((test) => known.includes(test)),
    unexpected: failed.filter((test) => !known.includes(test)),
    stale: known.filter((test) => !failed.includes(test)),
  };
}

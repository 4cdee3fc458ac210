/**
 * `npm run faults -- [--times n] [pattern …]`: the long fault suite, n times in a row; stops at the first failure. Without a
 * pattern, the random tests of the packages follow, with `MORTISE_MODEL_RUNS` runs each.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pnpm, requireNode, root } from './pnpm.mjs';

requireNode();
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { times: { type: 'string', default: '1' } },
});
const times = Number(values.times);
if (!Number.isInteger(times) || times < 1) {
  console.error(`--times must be a whole number from 1, got ${values.times}`);
  process.exit(1);
}
const programs = ['faults', 'postgres-server'].map((name) => `--filter=@mortise/${name}`);
const built =
  pnpm(['install', '--frozen-lockfile', '--reporter=silent']) ||
  pnpm(['exec', 'turbo', 'run', 'build', ...programs, '--output-logs=errors-only']);
if (built !== 0) process.exit(built);

const directory = join(root, 'tooling/faults');
const jest = join(directory, 'node_modules/jest/bin/jest.js');
const node = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
const seconds = [];
let code = 0;
for (let run = 1; run <= times && code === 0; run += 1) {
  if (times > 1) console.log(`\n▸ run ${run} of ${times}`);
  const startedAt = performance.now();
  const args = [...node, jest, '-c', 'long.config.mjs', '--verbose', ...positionals];
  code = spawnSync(process.execPath, args, { cwd: directory, stdio: 'inherit' }).status ?? 1;
  if (code === 0) seconds.push((performance.now() - startedAt) / 1000);
}
const each =
  seconds.length > 0
    ? `, ${Math.min(...seconds).toFixed(0)} to ${Math.max(...seconds).toFixed(0)} s each`
    : '';
console.log(`\nfault suite: ${seconds.length}/${times} green${each}`);
if (code === 0 && positionals.length === 0) code = runModels();
process.exit(code);

/** `npm test` makes few runs of them. */
function runModels() {
  process.env.MORTISE_MODEL_RUNS ??= '60';
  console.log(`\n▸ random tests, ${process.env.MORTISE_MODEL_RUNS} runs each`);
  const packages = ['--filter=./packages/*', '--workspace-concurrency=1'];
  const jestOptions = ['--passWithNoTests', '--reporters=default', '--testTimeout=1800000'];
  return pnpm([...packages, 'run', 'test', 'model', ...jestOptions]);
}

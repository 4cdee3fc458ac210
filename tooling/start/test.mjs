/**
 * `npm test`: install, lint, types, build, tests against real Redis servers, and one line that counts them. `npm run test:slow`, which
 * is this with `--slow`, runs the tests that start whole services, browsers or builds instead; with `--all` both.
 */
import { connect } from 'node:net';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pnpm, requireNode, root, step } from './pnpm.mjs';

const GROUPS = ['packages', 'apps', 'apps/api', 'tooling'];
const MAX_FAILURE_LINES = 40;
const SLOWEST_FILES = 10;
/** CI ends a run after 90 minutes. A run that hangs has to leave time for the report of its failures. */
const LIMIT_MS = 75 * 60_000;

requireNode();
step('install dependencies', ['install', '--frozen-lockfile', '--reporter=append-only']);
const servers = ['@mortise/redis-server', '@mortise/postgres-server'];
step('build the test servers', [
  'exec',
  'turbo',
  'run',
  'build',
  ...servers.map((name) => `--filter=${name}`),
]);
const onProgress = (message) => console.log(`  ${message}`);
if (process.env.REDIS_URL) {
  await requireReachable(new URL(process.env.REDIS_URL));
} else {
  console.log('\n▸ find a Redis server');
  const { findRedisServer } = await import('../redis-server/dist/index.js');
  const { path, version } = await findRedisServer({ onProgress });
  console.log(`  ${path} ${version}`);
}
console.log('\n▸ find a PostgreSQL server');
const { findPostgres } = await import('../postgres-server/dist/index.js');
const postgres = await findPostgres({ onProgress });
console.log(`  ${postgres.version}`);

const TASKS = ['//#lint', 'build', 'test', 'test:packages'];
const SLOW = ['build', 'test:slow'];
const tasks = process.argv.includes('--slow')
  ? SLOW
  : process.argv.includes('--all')
    ? [...TASKS, ...SLOW]
    : TASKS;
console.log(`\n▸ ${process.argv.includes('--slow') ? 'build, slow tests' : 'lint, types, build, tests'}`);
for (const directory of members()) rmSync(join(directory, '.jest'), { recursive: true, force: true });
// Lint checks types too: it has loaded every project for its own rules.
const code = pnpm(['exec', 'turbo', 'run', ...new Set(tasks), '--continue'], LIMIT_MS);
const summaries = members().flatMap(readSummaries);
const total = sumOf(summaries);
reportTimes(summaries);
for (const { directory, failures } of summaries) for (const failure of failures) report(directory, failure);
if (code !== 0) reportLint();
console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
// A run that counts no test has not tested anything, whatever its exit code.
process.exit(code !== 0 || total.failed > 0 || total.passed === 0 ? code || 1 : 0);

/** Prints one clear line, where otherwise hundreds of tests would time out. */
async function requireReachable({ hostname, port }) {
  const socket = connect({ host: hostname, port: Number(port || 6379), timeout: 3_000 });
  const problem = await new Promise((resolve) => {
    socket.once('connect', () => resolve(undefined));
    socket.once('timeout', () => resolve('no answer within 3 s'));
    socket.once('error', (error) => resolve(error.message));
  });
  socket.destroy();
  if (problem === undefined) return;
  console.error(`\n✗ no Redis at REDIS_URL: ${problem}`);
  process.exit(1);
}

function members() {
  return GROUPS.flatMap((group) =>
    readdirSync(join(root, group), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(root, group, entry.name))
      .filter((directory) => existsSync(join(directory, 'package.json'))),
  );
}

/** Each test run writes its summary under .jest; turbo restores the file of a cached run. */
function readSummaries(directory) {
  const reports = join(directory, '.jest');
  if (!existsSync(reports)) return [];
  return readdirSync(reports).map((file) => ({
    directory,
    ...JSON.parse(readFileSync(join(reports, file), 'utf8')),
  }));
}

function sumOf(all) {
  const sum = { passed: 0, failed: 0, skipped: 0 };
  for (const summary of all) for (const key of Object.keys(sum)) sum[key] += summary[key];
  return sum;
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(1).padStart(7)} s`;
}

/** Prints how long the tests of each package took, also when turbo had them in its cache, and which files took longest. */
function reportTimes(all) {
  const named = all.map(({ directory, ...summary }) => ({ name: relative(root, directory), ...summary }));
  console.log('\nTests by package, as measured when they ran last:');
  for (const { name, ms = 0 } of named.toSorted((a, b) => b.ms - a.ms))
    console.log(`${seconds(ms)}  ${name}`);
  console.log('\nThe slowest files:');
  const timed = named.flatMap(({ name, files = [] }) =>
    files.map(({ file, ms }) => ({ file: join(name, file), ms })),
  );
  for (const { file, ms } of timed.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST_FILES))
    console.log(`${seconds(ms)}  ${file}`);
}

/** Prints the end of lint's output: it counts no tests, so nothing above would say why a run failed. */
function reportLint() {
  const log = join(root, '.turbo/turbo-lint.log');
  if (!existsSync(log)) return;
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
  console.log(`\nThe end of lint:\n${lines.slice(-MAX_FAILURE_LINES).join('\n')}`);
}

/** Repeats a failure at the end: the parallel output above is long, and often only its end is kept. */
function report(directory, { file, name, message }) {
  console.log(`\n✗ ${relative(root, join(directory, file))}: ${name}`);
  const lines = message.split('\n').filter((line) => !line.includes('node_modules'));
  console.log(lines.slice(0, MAX_FAILURE_LINES).join('\n'));
}

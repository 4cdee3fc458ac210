/**
 * `npm run bullmq-tests -- [file …]`: runs the tests of a checkout of BullMQ (`BULLMQ_SOURCE`) with `@mortise/queues/bullmq` in place
 * of its classes. `failures.json` lists the tests that fail, with the reason of each. Another failure fails the run; so does an entry
 * whose test passes or is gone, except for those that are marked as unsteady. `UPDATE_DOCS=1` writes the page of the counts.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pnpm, requireNode, root } from '../start/pnpm.mjs';
import { pageOf } from './page.mjs';

const FILES = [
  'worker',
  'queue',
  'job',
  'delay',
  'events',
  'flow',
  'job_scheduler',
  'rate_limiter',
  'getters',
];
const here = import.meta.dirname;
const source = process.env.BULLMQ_SOURCE;

requireNode();
if (!source || !existsSync(join(source, 'tests'))) {
  console.error(
    'BULLMQ_SOURCE must name a checkout of BullMQ: git clone https://github.com/taskforcesh/bullmq',
  );
  process.exit(1);
}
const built =
  pnpm(['install', '--frozen-lockfile', '--reporter=silent']) ||
  pnpm(['exec', 'turbo', 'run', 'build', '--filter=@mortise/bullmq-tests^...', '--output-logs=errors-only']);
if (built !== 0) process.exit(built);

const { startSingle } = await import('@mortise/redis-server');
const listed = JSON.parse(readFileSync(join(here, 'failures.json'), 'utf8'));
const { version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
const asked = process.argv.slice(2);
const files = asked.length > 0 ? asked : FILES;
const scratch = mkdtempSync(join(tmpdir(), 'mortise-bullmq-tests-'));
const server = await startSingle();
const counts = [];
const problems = [];
for (const file of files) {
  const { passed, failed } = await run(file);
  const known = listed.files[file] ?? {};
  counts.push({ file, passed: passed.length, total: passed.length + failed.length });
  for (const test of failed) if (!(test in known)) problems.push(`✗ ${file}: ${test}`);
  for (const [test, reason] of Object.entries(known)) {
    if (listed.unsteady.includes(reason) || failed.includes(test)) continue;
    problems.push(`✗ ${file}: no longer fails, or is gone: ${test}`);
  }
  console.log(`${file}: ${passed.length} of ${passed.length + failed.length} pass`);
}
await server.stop();
rmSync(scratch, { recursive: true, force: true });
if (process.env.UPDATE_DOCS && asked.length === 0) {
  writeFileSync(join(root, 'docs/coming-from/bullmq-tests.md'), pageOf(version, counts, listed));
}
for (const problem of problems) console.log(problem);
process.exit(problems.length > 0 ? 1 : 0);

/** The names of the tests of a file that pass and that fail. A file that can't be loaded counts as one. */
async function run(file) {
  const report = join(scratch, `${file}.json`);
  const vitest = [join(here, 'node_modules/vitest/vitest.mjs'), 'run'];
  const options = ['--config', join(here, 'vitest.config.mjs'), '--reporter=json', `--outputFile=${report}`];
  const child = spawn(process.execPath, [...vitest, ...options], {
    cwd: source,
    env: { ...process.env, BULLMQ_TESTS_FILES: file, BULLMQ_TESTS_REDIS: server.url },
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  await new Promise((resolve) => {
    child.on('exit', resolve);
  });
  if (process.env.BULLMQ_TESTS_OUT) {
    writeFileSync(join(process.env.BULLMQ_TESTS_OUT, `${file}.json`), readFileSync(report));
  }
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const named = (status) => [
    ...new Set(tests.filter((test) => test.status === status).map(({ fullName }) => fullName.trim())),
  ];
  const failed = named('failed');
  if (tests.length === 0) failed.push('the file cannot be loaded');
  return { passed: named('passed'), failed };
}

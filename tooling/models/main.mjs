/**
 * `npm run models [-- name …]`: checks each model with spin, a model checker. spin tries all orders of the steps, with all faults of the
 * model. Then it checks the model again with each of its planted mistakes, and must find every one. The exit code is 1 if an invariant
 * doesn't hold, or a mistake isn't found.
 *
 * The program takes spin from PATH. Otherwise it unpacks Debian's package into `.cache/spin`, without root. spin makes a C program of a
 * model, so a C compiler named `cc` is necessary.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const here = import.meta.dirname;
const cache = join(here, '../../.cache/spin');
const MOST_DEPTH = 1_000_000;
const MOST_MEMORY_MB = 4_000;

const spin = findSpin();
const asked = process.argv.slice(2);
const names = readdirSync(here)
  .filter((file) => file.endsWith('.pml'))
  .map((file) => basename(file, '.pml'))
  .filter((name) => asked.length === 0 || asked.includes(name));
if (names.length === 0) fail(`there is no model ${asked.join(', ')}`);

let problems = 0;
for (const name of names) {
  const text = readFileSync(join(here, `${name}.pml`), 'utf8');
  const mistakes = new Set(text.match(/\bPLANT_\w+/g));
  if (mistakes.size < 2) fail(`${name}.pml must have two planted mistakes`);
  const { states, errors, seconds } = check(name, []);
  say(
    errors === 0,
    `${name}: ${states} states, ${errors === 0 ? 'all invariants hold' : 'violated'} (${seconds} s)`,
  );
  for (const mistake of mistakes) {
    const found = check(name, [`-D${mistake}`]);
    say(
      found.errors > 0,
      `${name}: ${mistake} ${found.errors > 0 ? `is found: ${found.what}` : 'is not found'}`,
    );
  }
}
process.exit(problems === 0 ? 0 : 1);

/** Searches all states of a model, and stops at the first violation. */
function check(name, defines) {
  const work = mkdtempSync(join(tmpdir(), 'mortise-models-'));
  try {
    run(spin, ['-a', ...defines, join(here, `${name}.pml`)], work);
    run('cc', ['-O2', '-w', '-DSAFETY', `-DMEMLIM=${MOST_MEMORY_MB}`, '-o', 'pan', 'pan.c'], work);
    const startedAt = performance.now();
    const output = run(join(work, 'pan'), [`-m${MOST_DEPTH}`], work);
    const errors = Number(/errors: (\d+)/.exec(output)?.[1] ?? Number.NaN);
    const isWhole =
      !/max search depth too small|out of memory|Search not completed/.test(output) || errors > 0;
    if (Number.isNaN(errors) || !isWhole) fail(`${name}: the search is not complete:\n${output}`);
    return {
      errors,
      states: Number(/(\d+) states, stored/.exec(output)?.[1]).toLocaleString('en'),
      what: /^pan:\d+: (.*?)(?: \(at depth.*)?$/m.exec(output)?.[1],
      seconds: ((performance.now() - startedAt) / 1000).toFixed(1),
    };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The path of spin: from PATH, or unpacked. */
function findSpin() {
  const unpacked = join(cache, 'usr/bin/spin');
  for (const program of ['spin', unpacked]) {
    if (/Spin Version/.test(spawnSync(program, ['-V'], { encoding: 'utf8' }).stdout ?? '')) return program;
  }
  mkdirSync(cache, { recursive: true });
  console.log('unpacking the spin package of this system');
  run('apt-get', ['download', '-q', 'spin'], cache);
  const file = readdirSync(cache).find((name) => name.endsWith('.deb'));
  run('dpkg-deb', ['-x', file, '.'], cache);
  if (!existsSync(unpacked)) fail('the package has no spin: install it, or put it on PATH');
  return unpacked;
}

function run(program, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (error || status !== 0) fail(`${program} ${args.join(' ')}: ${error?.message ?? stdout + stderr}`);
  return stdout;
}

function say(isGood, line) {
  console.log(`${isGood ? '✓' : '✗'} ${line}`);
  if (!isGood) problems += 1;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

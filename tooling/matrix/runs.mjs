import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const LIMIT_MS = 300_000;
const MAX_TEXT = 2_000;

/**
 * Runs programs of a project against a target. Returns what failed, as text: nothing means that each program has reported that it passed,
 * and that the process has ended by itself with exit code 0, before the limit.
 */
export async function runPrograms({
  program,
  args,
  project,
  programs,
  target,
  library = 'ioredis',
  limitMs = LIMIT_MS,
}) {
  const main = join(project, 'smoke/main.mjs');
  const child = spawn(program, [...args, main, ...programs], {
    cwd: project,
    env: { ...process.env, MATRIX_TARGET: JSON.stringify({ ...target, library }), NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].on('data', (chunk) => (output[name] += chunk));
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
  const [code, signal] = await once(child, 'close');
  clearTimeout(timer);
  const reports = output.stdout
    .split('\n')
    .flatMap((line) => (line.startsWith('{"name":') ? [JSON.parse(line)] : []));
  const problems = programs.flatMap((name) => {
    const report = reports.find((each) => each.name === name);
    if (report?.isPassed) return [];
    return [`${name}: ${report?.problem ?? 'not reported'}`];
  });
  if (code !== 0) problems.push(`exit code ${code ?? signal}: ${output.stderr.slice(-MAX_TEXT)}`);
  return problems;
}
